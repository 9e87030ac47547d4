// Whether some element is true.
//
//! needs truth
alias A = u32;
fn identity() -> A { return 0u; }
fn lift(x: V, j: u32) -> A { return select(0u, 1u, truth(x)); }
fn combine(a: A, b: A) -> A { return a | b; }
fn append(a: A, b: A) -> A { return combine(a, b); }
