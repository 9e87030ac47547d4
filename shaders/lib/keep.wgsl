// The identity, for kernels that only move elements.
fn keep(x: V) -> V { return x; }
