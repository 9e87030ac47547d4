// Folds by addition. Integers wrap.
alias A = V;
fn identity() -> A { return A(0); }
fn lift(x: V, j: u32) -> A { return x; }
fn combine(a: A, b: A) -> A { return a + b; }
fn append(a: A, b: A) -> A { return combine(a, b); }
