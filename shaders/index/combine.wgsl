// What an update does with the value that is there (a) and a new one (b).
//
//! use lib/math

fn assign(a: V, b: V) -> V { return b; }

fn add(a: V, b: V) -> V { return a + b; }
fn mul(a: V, b: V) -> V { return a * b; }

fn min_int(a: V, b: V) -> V { return min(a, b); }
fn max_int(a: V, b: V) -> V { return max(a, b); }

fn min_f32(a: f32, b: f32) -> f32 { return min_nan(a, b); }
fn max_f32(a: f32, b: f32) -> f32 { return max_nan(a, b); }

// Bools are 0 or 1, alone in a word here.
fn either(a: u32, b: u32) -> u32 { return a | b; }
fn both(a: u32, b: u32) -> u32 { return a & b; }
