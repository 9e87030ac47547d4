// out[z, r, c] = epilogue(Σ_k a[z, r, k] · b[z, k, c]): a workgroup computes a TILE × TILE square, a thread four neighbours.
//
// Short and plain: any strides and every value type. Elements outside the operands count as zero.
// A_ALONG_K, B_ALONG_K: whether neighbours in memory are neighbours in k, so that loads run along them.
//
//! needs TILE, THREADS, A_ALONG_K, B_ALONG_K, V, put4

const PITCH: u32 = TILE + 1u; // one element of padding keeps columns of the square in different banks
var<workgroup> a_tile: array<V, TILE * PITCH>;
var<workgroup> b_tile: array<V, TILE * PITCH>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let column0 = (index % params.tiles_n) * TILE;
    let row0 = ((index / params.tiles_n) % params.tiles_m) * TILE;
    let part = index / (params.tiles_n * params.tiles_m);
    let first = (part / params.batch) * params.k_span;
    let end = first + min(params.k - first, params.k_span);
    let a_base = place_a(part % params.batch);
    let b_base = place_b(part % params.batch);

    let r = local / (TILE / 4u);
    let c = 4u * (local % (TILE / 4u));
    var v0 = V(0);
    var v1 = V(0);
    var v2 = V(0);
    var v3 = V(0);
    for (var k = first; k < end; k += TILE) {
        for (var i = 0u; i < 4u; i++) {
            let near = (local + i * THREADS) % TILE;
            let far = (local + i * THREADS) / TILE;
            let a_row = select(near, far, A_ALONG_K);
            let a_k = select(far, near, A_ALONG_K);
            var a_value = V(0);
            if (row0 + a_row < params.m && k + a_k < end) {
                a_value = load_a(a_base + (row0 + a_row) * params.a_o + (k + a_k) * params.a_k);
            }
            a_tile[a_row * PITCH + a_k] = a_value;
            let b_k = select(far, near, B_ALONG_K);
            let b_column = select(near, far, B_ALONG_K);
            var b_value = V(0);
            if (column0 + b_column < params.n && k + b_k < end) {
                b_value = load_b(b_base + (column0 + b_column) * params.b_o + (k + b_k) * params.b_k);
            }
            b_tile[b_k * PITCH + b_column] = b_value;
        }
        workgroupBarrier();
        for (var s = 0u; s < TILE; s++) {
            let x = a_tile[r * PITCH + s];
            let at = s * PITCH + c;
            v0 += x * b_tile[at];
            v1 += x * b_tile[at + 1u];
            v2 += x * b_tile[at + 2u];
            v3 += x * b_tile[at + 3u];
        }
        workgroupBarrier();
    }
    let row = row0 + r;
    let column = column0 + c;
    if (number == index && row < params.m && column < params.n) {
        put4((part * params.m + row) * params.n + column, column, params.n - column, v0, v1, v2, v3);
    }
}
