// x_grad[n, c, y, x] = Σ of mask · weight · grad over the taps that look at (y, x), in the order of (t, p).
//
// A workgroup owns a tile of ROWS × COLUMNS elements of CHANNELS channels of one plane (n, g), summed in workgroup memory, and
// each of its invocations RUN neighbours of the tile in one channel: no element has two writers, so nothing is atomic but
// bits in a set. Blocks of THREADS neighbours (t, p) whose boxes (see deform_gradients) miss the tile are passed over; of
// the others the taps that reach the tile are listed in order, and every invocation takes from the list what is its own.
//
// grad [n, channels, t, p] is the gradient of the columns, in f32; blocks params.first up to params.last are looked at.
//
//! use conv/deform
//! needs THREADS, CHANNELS, COLUMNS, BOXES, OWN, mask_at, before, put_x

const ROWS: u32 = 8u;
const TILE: u32 = ROWS * COLUMNS;
const RUN: u32 = TILE * CHANNELS / THREADS;
const LINE: u32 = CHANNELS + 1u; // one more than needed: neighbours in a tile lie in different banks

// A tap that reaches the tile: its upper left element relative to the tile, its number in the plane, and the shares of
// its elements (0, 0), (0, 1), (1, 0), (1, 1).
struct Tap { y: i32, x: i32, own: u32, shares: vec4<f32>, }

var<workgroup> sums: array<f32, TILE * LINE>;
var<workgroup> taps: array<Tap, THREADS>;
var<workgroup> chosen: array<atomic<u32>, 4>;
var<workgroup> blocks: vec4<u32>;

fn choose_none(local: u32) {
    if (local < 4u) { atomicStore(&chosen[local], 0u); }
    workgroupBarrier();
}
fn choose(local: u32) { atomicOr(&chosen[local >> 5u], 1u << (local & 31u)); }
fn all_chosen() -> vec4<u32> {
    return vec4<u32>(atomicLoad(&chosen[0]), atomicLoad(&chosen[1]), atomicLoad(&chosen[2]), atomicLoad(&chosen[3]));
}
fn sum4(v: vec4<u32>) -> u32 { return v.x + v.y + v.z + v.w; }

// Adds the tap's share to the element (y, x) of the tile when it is one of those from `first` on.
fn add(y: i32, x: i32, first: u32, channel: u32, v: f32) {
    if (y >= 0 && y < i32(ROWS) && x >= 0 && x < i32(COLUMNS)) {
        let element = u32(y) * COLUMNS + u32(x);
        if (element >= first && element < first + RUN) { sums[element * LINE + channel] += v; }
    }
}

// Whether the tap has an element from `first` on: its elements lie in rows y and y + 1.
fn reaches(tap: Tap, first: u32) -> bool {
    let top = i32(first / COLUMNS);
    let bottom = i32((first + RUN - 1u) / COLUMNS);
    let left = i32(first % COLUMNS);
    let wide = RUN >= COLUMNS || (tap.x + 1 >= left && tap.x < left + i32(RUN));
    return tap.y + 1 >= top && tap.y <= bottom && wide;
}

fn take(k: u32, count: u32, first: u32, channel: u32, base: u32) {
    if (k < count) {
        let tap = taps[k];
        if (reaches(tap, first)) {
            let v = tap.shares * load_grad(base + tap.own);
            add(tap.y, tap.x, first, channel, v.x);
            add(tap.y, tap.x + 1, first, channel, v.y);
            add(tap.y + 1, tap.x, first, channel, v.z);
            add(tap.y + 1, tap.x + 1, first, channel, v.w);
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let asked = group.x + group.y * params.groups_x;
    let w = min(asked, params.size - 1u);
    let across = w / params.tiles_x;
    let down = across / params.tiles_y;
    let plane = down / params.chunks;
    let n = plane / params.offset_groups;
    let g = plane - n * params.offset_groups;
    let y0 = i32((across - down * params.tiles_y) * ROWS);
    let x0 = i32((w - across * params.tiles_x) * COLUMNS);
    let from_channel = (down - plane * params.chunks) * CHANNELS;
    let left_channels = min(CHANNELS, params.group_channels - from_channel);
    let base_channel = n * params.channels + g * params.group_channels + from_channel;
    let channel = local % CHANNELS;
    let first = local / CHANNELS * RUN;
    let base = (base_channel + channel) * params.entries;
    for (var i = local; i < TILE * LINE; i += THREADS) { sums[i] = 0.0; }

    for (var start = params.first; start < params.last; start += THREADS) {
        choose_none(local);
        if (start + local < params.last) {
            var near = false;
            for (var b = 0u; b < BOXES; b++) {
                let box = boxes[(plane * params.blocks + start + local) * BOXES + b];
                let rows = box.x < y0 + i32(ROWS) && box.z >= y0 - 1;
                near = near || (rows && box.y < x0 + i32(COLUMNS) && box.w >= x0 - 1);
            }
            if (near) { choose(local); }
        }
        workgroupBarrier();
        if (local == 0u) { blocks = all_chosen(); }
        var nearby = workgroupUniformLoad(&blocks);
        for (var word = 0u; word < 4u; word++) {
            var left = nearby[word];
            while (left != 0u) {
                let own = (start + 32u * word + firstTrailingBit(left)) * THREADS + local;
                left &= left - 1u;
                choose_none(local);
                var tap = Tap(0, 0, own, vec4<f32>(0.0, 0.0, 0.0, 0.0));
                var reached = false;
                if (own < params.entries) {
                    let t = own / params.points;
                    let e = vec4<u32>(n, g, t, own - t * params.points);
                    let s = sample_at(e);
                    tap.y = s.y - y0;
                    tap.x = s.x - x0;
                    reached = s.valid && tap.y >= -1 && tap.y < i32(ROWS) && tap.x >= -1 && tap.x < i32(COLUMNS);
                    if (reached) {
                        let parts = vec4<f32>(part(s, 0, 0), part(s, 0, 1), part(s, 1, 0), part(s, 1, 1));
                        tap.shares = parts * mask_at(e);
                        choose(local);
                    }
                }
                workgroupBarrier();
                let listed = all_chosen();
                if (reached) {
                    // Those before it: whole words, and the lower bits of its own.
                    let word_of = local >> 5u;
                    let whole = select(vec4<u32>(0u), listed, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(word_of));
                    let lower = listed[word_of] & ((1u << (local & 31u)) - 1u);
                    taps[sum4(countOneBits(whole)) + countOneBits(lower)] = tap;
                }
                workgroupBarrier();
                if (channel < left_channels) {
                    let count = sum4(countOneBits(listed));
                    for (var k = 0u; k < count; k += 4u) {
                        take(k, count, first, channel, base);
                        take(k + 1u, count, first, channel, base);
                        take(k + 2u, count, first, channel, base);
                        take(k + 3u, count, first, channel, base);
                    }
                }
            }
        }
        workgroupBarrier();
    }

    workgroupBarrier();
    for (var i = local * OWN; i < TILE * CHANNELS; i += THREADS * OWN) {
        let c = i / TILE;
        let element = i - c * TILE;
        let y = u32(y0) + element / COLUMNS;
        let x = u32(x0) + element % COLUMNS;
        if (asked < params.size && c < left_channels && y < params.height && x < params.width) {
            let at = ((base_channel + c) * params.height + y) * params.width + x;
            put_x(at, before(at) + sums[element * LINE + c], sums[(element + OWN - 1u) * LINE + c]);
        }
    }
}
