// dst[b, j, i] = src[b, i, j] for 2-byte elements: as transpose.wgsl, but memory is read and written in whole words.
//
// A workgroup of 32 x 8 moves one TILE x TILE tile (TILE 64): a row of the tile is TILE / 2 words and one of padding. Both
// extents along memory, every stride and the offset are even, so a word never spans two rows.
//
//! needs TILE, batch_at

var<workgroup> tile: array<u32, TILE * (TILE / 2u + 1u)>;

@compute @workgroup_size(32, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let width = TILE / 2u + 1u;
    let flat = group.x + group.y * params.groups_x;
    let tiles = params.tiles_i * params.tiles_j;
    let batch = flat / tiles;
    let inside = flat % tiles;
    let i0 = (inside % params.tiles_i) * TILE;
    let j0 = (inside / params.tiles_i) * TILE;
    let base = batch_at(min(batch, params.batches - 1u));
    for (var r = local.y; r < TILE; r += 8u) {
        let i = i0 + r;
        let j = j0 + 2u * local.x;
        var v = 0u;
        if (i < params.size_i && j < params.size_j) {
            v = src[(base + i * params.src_row + j) / 2u];
        }
        tile[r * width + local.x] = v;
    }
    workgroupBarrier();
    if (batch < params.batches) {
        for (var r = local.y; r < TILE; r += 8u) {
            let j = j0 + r;
            let i = i0 + 2u * local.x;
            if (i < params.size_i && j < params.size_j) {
                let shift = 16u * (r & 1u);
                let low = (tile[2u * local.x * width + r / 2u] >> shift) & 0xffffu;
                let high = (tile[(2u * local.x + 1u) * width + r / 2u] >> shift) & 0xffffu;
                dst[((batch * params.size_j + j) * params.size_i + i) / 2u] = low | (high << 16u);
            }
        }
    }
}
