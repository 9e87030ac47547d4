// Logic, elementwise.
fn bool_equal(x: bool, y: bool) -> bool { return x == y; }
fn bool_not_equal(x: bool, y: bool) -> bool { return x != y; }
fn bool_not(x: bool) -> bool { return !x; }
fn bool_and(x: bool, y: bool) -> bool { return x && y; }
fn bool_or(x: bool, y: bool) -> bool { return x || y; }
fn bool_mask_where(x: bool, mask: bool, value: bool) -> bool { return select(x, value, mask); }
