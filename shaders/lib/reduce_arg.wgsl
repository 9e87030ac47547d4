// Folds to the largest key and where it stands; the lowest index wins among equals, in whatever order they meet.
//
//! needs K, key, lowest, above, unset
struct A {
    key: K,
    index: u32,
}
fn identity() -> A { return A(lowest(), 0xffffffffu); }
fn lift(x: V, j: u32) -> A { return A(key(x), j); }
fn combine(a: A, b: A) -> A {
    let later = above(b.key, a.key) || (!above(a.key, b.key) && b.index < a.index);
    return A(select(a.key, b.key, later), select(a.index, b.index, later));
}
// b comes after a, so that it must be larger to win, unless a is the identity and its key may be that of a number.
fn append(a: A, b: A) -> A {
    let later = above(b.key, a.key) || unset(a);
    return A(select(a.key, b.key, later), select(a.index, b.index, later));
}
