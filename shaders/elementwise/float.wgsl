// Float arithmetic, comparison and selection, elementwise. V is f32 whatever the storage.
fn float_add(x: V, y: V) -> V { return x + y; }
fn float_sub(x: V, y: V) -> V { return x - y; }
fn float_mul(x: V, y: V) -> V { return x * y; }
fn float_div(x: V, y: V) -> V { return x / y; }
