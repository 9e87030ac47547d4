// The first params.keep elements of each block of a row in order, without sorting the rest.
//
// The element that comes last of those is found byte by byte, most significant first: of the elements whose bytes so far
// are its own, a histogram of the next byte says which value it has there; those with smaller ones are chosen. The
// position in the block counts as two more bytes, which makes all elements different, so equal keys are chosen from the
// left. The search ends as soon as all that are left belong to the first. The chosen are then ranked by counting, for
// each, those before it; in which order they were collected does not matter.
//
// Block `run - row · params.blocks` of a row holds SPAN elements, the last one the rest; its result has
// min(params.keep, its length) elements and starts at row · params.stride + block · params.keep.
//
// `less` compares keys (sort/less32 or sort/less64).
//
//! needs WORKGROUP, PER, LANES, BYTES, MOST, Item, K, load_item, key_of, bits_of, finish

const SPAN: u32 = WORKGROUP * PER;
const LANE1: u32 = min(1u, LANES - 1u);
const LANE2: u32 = min(2u, LANES - 1u);
const LANE3: u32 = LANES - 1u;

var<workgroup> bins: array<atomic<u32>, 256>;
var<workgroup> sums: array<u32, 2u * WORKGROUP>;
var<workgroup> crossing: vec4<u32>;
var<workgroup> taken: atomic<u32>;
var<workgroup> chosen_items: array<Item, MOST>;
var<workgroup> chosen_keys: array<K, MOST>;
var<workgroup> chosen_places: array<u32, MOST>;
var<workgroup> ordered_items: array<Item, MOST>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let run = group.x + group.y * params.groups_x;
    let row = run / params.blocks;
    let block = run - row * params.blocks;
    let first = block * SPAN;
    var length = 0u;
    if (run < params.runs) { length = min(SPAN, params.size - first); }
    let keep = min(params.keep, length);
    var items: array<Item, PER>;
    for (var e = 0u; e < PER; e++) {
        var item = Item();
        let i = local + e * WORKGROUP;
        if (i < length) { item = load_item(row, first + i); }
        items[e] = item;
    }
    // Bit e: element e has the same bytes as the last one so far; it comes before it.
    var alike = 0u;
    var chosen = 0u;
    for (var e = 0u; e < PER; e++) {
        if (local + e * WORKGROUP < length) { alike |= 1u << e; }
    }
    if (local == 0u) { atomicStore(&taken, 0u); }
    var wanted = keep;
    for (var byte = 0u; byte < BYTES + 2u; byte++) {
        atomicStore(&bins[local], 0u);
        workgroupBarrier();
        for (var e = 0u; e < PER; e++) {
            if ((alike & (1u << e)) != 0u) {
                atomicAdd(&bins[byte_of(items[e], local + e * WORKGROUP, byte)], 1u);
            }
        }
        workgroupBarrier();
        let own = atomicLoad(&bins[local]);
        let sum = scan(local, own);
        if (sum - own < wanted && sum >= wanted) {
            crossing = vec4<u32>(local, own, wanted - (sum - own), 0u);
        }
        // No thread crosses in a group beyond the runs; it has nothing to find.
        if (local == 0u && length == 0u) { crossing = vec4<u32>(0u); }
        let found = workgroupUniformLoad(&crossing);
        for (var e = 0u; e < PER; e++) {
            let bit = 1u << e;
            if ((alike & bit) != 0u) {
                let value = byte_of(items[e], local + e * WORKGROUP, byte);
                if (value < found.x) { chosen |= bit; }
                if (!(value == found.x)) { alike &= ~bit; }
            }
        }
        wanted = found.z;
        if (found.y == found.z) { break; }
    }
    chosen |= alike;
    for (var e = 0u; e < PER; e++) {
        if ((chosen & (1u << e)) != 0u) {
            let to = atomicAdd(&taken, 1u);
            chosen_items[to] = items[e];
            chosen_keys[to] = key_of(items[e]);
            chosen_places[to] = local + e * WORKGROUP;
        }
    }
    workgroupBarrier();
    if (local < keep) {
        let key = chosen_keys[local];
        let place = chosen_places[local];
        var rank = 0u;
        for (var j = 0u; j < keep; j++) {
            let other = chosen_keys[j];
            if (less(other, key) || (!less(key, other) && chosen_places[j] < place)) { rank += 1u; }
        }
        ordered_items[rank] = chosen_items[local];
    }
    workgroupBarrier();
    let at = local * LANES;
    if (at < keep) {
        finish(
            row * params.stride, block * params.keep + at,
            ordered_items[at],
            ordered_items[min(at + LANE1, keep - 1u)],
            ordered_items[min(at + LANE2, keep - 1u)],
            ordered_items[min(at + LANE3, keep - 1u)],
        );
    }
}

// Byte `byte` of (key, place), most significant first.
fn byte_of(item: Item, place: u32, byte: u32) -> u32 {
    if (byte < BYTES) { return bits_of(item, 8u * (BYTES - 1u - byte)) & 255u; }
    return (place >> (8u * (BYTES + 1u - byte))) & 255u;
}

// The sum of `own` over the threads up to this one.
fn scan(local: u32, own: u32) -> u32 {
    sums[local] = own;
    workgroupBarrier();
    var at = 0u;
    var sum = own;
    for (var step = 1u; step < WORKGROUP; step = step * 4u) {
        for (var j = 1u; j < 4u; j++) {
            if (local >= j * step) { sum += sums[at + local - j * step]; }
        }
        at = WORKGROUP - at;
        sums[at + local] = sum;
        workgroupBarrier();
    }
    return sum;
}
