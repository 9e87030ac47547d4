// Windows that cover the input: window o of an axis is [floor(o · size / outputs), ceil((o + 1) · size / outputs)).
//! use pool/axes

fn window_at(o: vec3<u32>) -> Window {
    let n = sizes();
    let out = outputs();
    let first = o * n / out;
    let count = ((o + 1u) * n + out - 1u) / out - first;
    return Window(vec3<i32>(first), vec3<i32>(), vec3<i32>(count), count.x * count.y * count.z);
}
fn cover_at(place: vec3<u32>) -> Cover {
    let n = sizes();
    let out = outputs();
    return Cover(place * out / n, ((place + 1u) * out - 1u) / n + 1u);
}
fn meets(place: vec3<u32>, o: vec3<u32>) -> bool { return true; }
