// Folds to the largest key. The minimum has keys that run the other way, see lib/reduce_key.
//
//! needs K, key, lowest, larger
alias A = K;
fn identity() -> A { return lowest(); }
fn lift(x: V, j: u32) -> A { return key(x); }
fn combine(a: A, b: A) -> A { return larger(a, b); }
fn append(a: A, b: A) -> A { return larger(a, b); }
