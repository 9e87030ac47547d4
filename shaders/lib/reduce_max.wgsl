// Folds to the largest key. The minimum has keys that run the other way, see lib/reduce_key.
//
//! needs K, key, lowest
alias A = K;
fn identity() -> A { return lowest(); }
fn lift(x: V, j: u32) -> A { return key(x); }
fn combine(a: A, b: A) -> A { return select(a, b, b > a); }
