// Sorts tiles of rows in workgroup memory by (key, position): a bitonic network, made stable by the position.
//
// A row of params.size elements is cut into params.tiles tiles of TILE; a workgroup sorts ROWS tiles of any rows, and the
// first params.keep of each are kept: run r (= row · tiles + tile) goes to out_places[r · params.run ..] as positions in
// the row. Slots beyond the row's end hold the last key and a position beyond all others, so they sink to the end.
// params.flip turns the order of the keys around; equal keys keep the order of their positions either way.
//
// `less` compares keys (sort/less32 or sort/less64).
//
//! needs WORKGROUP, TILE, ROWS, K, key_at, row_at, keep_key

var<workgroup> keys: array<K, TILE * ROWS>;
var<workgroup> places: array<u32, TILE * ROWS>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let slots = TILE * ROWS;
    let first_run = (group.x + group.y * params.groups_x) * ROWS;
    for (var s = local; s < slots; s += WORKGROUP) {
        let run = first_run + s / TILE;
        let row = run / params.tiles;
        let at = (run - row * params.tiles) * TILE + s % TILE;
        var key = K(0xffffffffu);
        var place = 0xffffffffu;
        if (run < params.runs && at < params.size) {
            key = key_at(row_at(row) + at * params.stride) ^ K(params.flip);
            place = at;
        }
        keys[s] = key;
        places[s] = place;
    }
    workgroupBarrier();
    for (var size = 2u; size <= TILE; size = size * 2u) {
        for (var step = size / 2u; step > 0u; step = step / 2u) {
            for (var p = local; p < slots / 2u; p += WORKGROUP) {
                let low = 2u * step * (p / step) + p % step;
                let high = low + step;
                let up = size == TILE || (low & size) == 0u;
                let key_low = keys[low];
                let key_high = keys[high];
                let place_low = places[low];
                let place_high = places[high];
                let swapped = less(key_high, key_low) || (!less(key_low, key_high) && place_high < place_low);
                if (swapped == up) {
                    keys[low] = key_high;
                    keys[high] = key_low;
                    places[low] = place_high;
                    places[high] = place_low;
                }
            }
            workgroupBarrier();
        }
    }
    for (var s = local; s < slots; s += WORKGROUP) {
        let run = first_run + s / TILE;
        let i = s % TILE;
        if (run < params.runs && i < params.keep && places[s] != 0xffffffffu) {
            let to = run * params.run + i;
            out_places[to] = places[s];
            keep_key(to, keys[s]);
        }
    }
}
