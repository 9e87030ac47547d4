// Folds by addition of term(x), in f32.
//
//! needs term
alias A = f32;
fn identity() -> A { return 0.0; }
fn lift(x: V, j: u32) -> A { return term(x); }
fn combine(a: A, b: A) -> A { return a + b; }
fn append(a: A, b: A) -> A { return a + b; }
