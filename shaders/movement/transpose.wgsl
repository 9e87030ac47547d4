// dst[b, j, i] = src[b, i, j]: swaps two axes through a tile in workgroup memory, so that both sides run along memory.
//
// A workgroup of 32 x 8 moves one TILE x TILE tile of units U (4 or 8 bytes); rows of the tile are padded by one unit, which puts
// its columns into different banks. src: axis i has stride params.src_row, axis j has stride 1; dst is row-major
// [batch, rows of j, columns of i]. The batch's place in src comes from `batch_at`.
//
//! needs TILE, U, batch_at

var<workgroup> tile: array<U, TILE * (TILE + 1u)>;

@compute @workgroup_size(32, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let flat = group.x + group.y * params.groups_x;
    let tiles = params.tiles_i * params.tiles_j;
    let batch = flat / tiles;
    let inside = flat % tiles;
    let i0 = (inside % params.tiles_i) * TILE;
    let j0 = (inside / params.tiles_i) * TILE;
    let base = batch_at(min(batch, params.batches - 1u));
    for (var r = local.y; r < TILE; r += 8u) {
        for (var c = local.x; c < TILE; c += 32u) {
            let i = i0 + r;
            let j = j0 + c;
            var v = U();
            if (i < params.size_i && j < params.size_j) {
                v = src[base + i * params.src_row + j];
            }
            tile[r * (TILE + 1u) + c] = v;
        }
    }
    workgroupBarrier();
    if (batch < params.batches) {
        for (var r = local.y; r < TILE; r += 8u) {
            for (var c = local.x; c < TILE; c += 32u) {
                let j = j0 + r;
                let i = i0 + c;
                if (i < params.size_i && j < params.size_j) {
                    dst[(batch * params.size_j + j) * params.size_i + i] = tile[c * (TILE + 1u) + r];
                }
            }
        }
    }
}
