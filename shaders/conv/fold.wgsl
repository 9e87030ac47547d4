// out[n, c, y, x] = Σ of the columns' elements that lie there: four neighbours of the flat output a thread.
//
// columns [batch, channels · kh · kw, rows · columns] with any strides, out [batch, channels, height, width] dense. Window
// (oy, ox) covers y = oy · stride + i · dilation − padding for i below kh; the windows that reach y are walked in order, so
// nothing is scattered.
//
//! needs THREADS

fn folded(i: u32) -> f32 {
    let line = i / params.width;
    let plane = line / params.height;
    let n = plane / params.channels;
    let y = line - plane * params.height + params.padding_y;
    let x = i - line * params.width + params.padding_x;
    let base = params.x_at + n * params.x_n + (plane - n * params.channels) * params.kernel_y * params.kernel_x * params.x_k;
    // Window o begins at o · stride, and its last element lies `reach` further.
    let reach_y = (params.kernel_y - 1u) * params.dilation_y;
    let reach_x = (params.kernel_x - 1u) * params.dilation_x;
    var first_y = 0u;
    if (y > reach_y) {
        first_y = (y - reach_y + params.stride_y - 1u) / params.stride_y;
    }
    var first_x = 0u;
    if (x > reach_x) {
        first_x = (x - reach_x + params.stride_x - 1u) / params.stride_x;
    }
    let end_y = min(y / params.stride_y + 1u, params.windows_y);
    let end_x = min(x / params.stride_x + 1u, params.windows_x);
    var sum = 0.0;
    for (var oy = first_y; oy < end_y; oy++) {
        let down = y - oy * params.stride_y;
        let ky = down / params.dilation_y;
        if (ky * params.dilation_y == down) {
            for (var ox = first_x; ox < end_x; ox++) {
                let across = x - ox * params.stride_x;
                let kx = across / params.dilation_x;
                if (kx * params.dilation_x == across) {
                    sum += load_x(base + (ky * params.kernel_x + kx) * params.x_k
                        + (oy * params.windows_x + ox) * params.x_b);
                }
            }
        }
    }
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let v0 = folded(first);
        let v1 = folded(min(first + 1u, last));
        let v2 = folded(min(first + 2u, last));
        store4_out(first / 4u, array<f32, 4>(v0, v1, v2, folded(min(first + 3u, last))));
    }
}
