// Folds two tensors to the sum of their products, in f32.
alias A = f32;
fn identity() -> A { return 0.0; }
fn lift(x: V, y: V, o: u32) -> A { return x * y; }
fn combine(a: A, b: A) -> A { return a + b; }
fn append(a: A, b: A) -> A { return a + b; }
