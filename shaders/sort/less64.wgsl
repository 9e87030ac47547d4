// Whether a key of two words comes first; the second word counts more.
fn less(a: K, b: K) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
