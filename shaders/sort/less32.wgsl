// Whether a key of one word comes first.
fn less(a: K, b: K) -> bool { return a < b; }
