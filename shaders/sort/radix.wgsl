// Sorts runs of elements in workgroup memory, stably: least significant digit first, four bits a pass.
//
// A run is a block of at most SPAN = THREADS · PER elements of a row; a workgroup sorts WORKGROUP / THREADS runs. An
// element is an Item of WORDS words and stays in registers; workgroup memory first counts digits, then exchanges the
// words, one after the other. A thread holds PER neighbours of the order so far, so that (thread, element) is that order
// and the counts of (digit, thread), summed up, give every element its new rank. A counter has 16 bits: digits 8 … 15
// lie in the upper halves of the words of digits 0 … 7. Slots beyond a run's length count as the last digit in every
// pass and so stay behind the elements.
//
// SCATTERED false: a run is a whole row, all digits are sorted, and the first params.keep elements are written.
// SCATTERED true, WORKGROUP 256: a run is block `run - row · params.blocks` of its row and is sorted by the eight bits of this pass; each
// element then moves behind the row's elements of smaller bytes, those of its byte in blocks before, and those in its
// own block.
//
// Where a thread takes neighbours in the result (LANES of them), it owns whole words of a narrow output.
//
//! needs WORKGROUP, THREADS, PER, LANES, WORDS, SCATTERED, Item, load_item, word_of, with_word, bits_of, finish
//! needs before_at, total_at

const SPAN: u32 = THREADS * PER;
const RUNS: u32 = WORKGROUP / THREADS;
const COUNTERS: u32 = 8u;
const LARGER: u32 = max(PER, COUNTERS) * WORKGROUP;
const LANE1: u32 = min(1u, LANES - 1u);
const LANE2: u32 = min(2u, LANES - 1u);
const LANE3: u32 = LANES - 1u;

var<workgroup> words: array<u32, LARGER + LARGER / 32u>;
var<workgroup> sums: array<u32, 2u * WORKGROUP>;
var<workgroup> offsets: array<u32, 256>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first_run = (group.x + group.y * params.groups_x) * RUNS;
    let lane = local % THREADS;
    let in_group = local / THREADS;
    let length = length_of(first_run + in_group);
    let counter = in_group * (COUNTERS * THREADS) + lane;
    var items: array<Item, PER>;
    var ranks: array<u32, PER>;
    for (var e = 0u; e < PER; e++) {
        let slot = slot_of(local, e);
        ranks[e] = slot;
        let run = first_run + slot / SPAN;
        var item = Item();
        if (slot % SPAN < length_of(run)) {
            let row = row_of(run);
            item = load_item(row, (run - row * params.blocks) * SPAN + slot % SPAN);
        }
        items[e] = item;
    }
    for (var pass_number = 0u; pass_number <= params.passes; pass_number++) {
        let done = pass_number == params.passes;
        for (var c = 0u; c < WORDS; c++) {
            workgroupBarrier();
            for (var e = 0u; e < PER; e++) {
                words[spread(ranks[e])] = word_of(items[e], c);
            }
            workgroupBarrier();
            for (var e = 0u; e < PER; e++) {
                let slot = select(local * PER + e, slot_of(local, e), done);
                items[e] = with_word(items[e], c, words[spread(slot)]);
            }
        }
        workgroupBarrier();
        if (done) { break; }
        let shift = params.shift + 4u * pass_number;
        for (var w = 0u; w < COUNTERS; w++) {
            words[spread(counter + w * THREADS)] = 0u;
        }
        for (var e = 0u; e < PER; e++) {
            let digit = select(15u, bits_of(items[e], shift) & 15u, lane * PER + e < length);
            let at = spread(counter + (digit & 7u) * THREADS);
            let half = 2u * (digit & 8u);
            let before = words[at];
            words[at] = before + (1u << half);
            ranks[e] = (digit << 16u) | ((before >> half) & 0xffffu);
        }
        workgroupBarrier();
        // Thread by thread, COUNTERS neighbours of the counters in the order of (word, thread).
        var own = 0u;
        for (var w = 0u; w < COUNTERS; w++) {
            own += words[spread(local * COUNTERS + w)];
        }
        let sum = scan(local, lane, own);
        // The upper halves come after all of the lower ones.
        var running = sum.x + (sum.y << 16u);
        for (var w = 0u; w < COUNTERS; w++) {
            let at = spread(local * COUNTERS + w);
            let count = words[at];
            words[at] = running;
            running += count;
        }
        workgroupBarrier();
        for (var e = 0u; e < PER; e++) {
            let digit = ranks[e] >> 16u;
            let start = words[spread(counter + (digit & 7u) * THREADS)] >> (2u * (digit & 8u));
            ranks[e] = in_group * SPAN + (start & 0xffffu) + (ranks[e] & 0xffffu);
        }
    }
    if (SCATTERED) {
        for (var e = 0u; e < PER; e++) {
            words[spread(slot_of(local, e))] = bits_of(items[e], params.shift) & 255u;
        }
        let row = row_of(first_run);
        var total = 0u;
        var before = 0u;
        if (first_run < params.runs) {
            total = total_at(row, local);
            before = before_at(row, first_run - row * params.blocks, local);
        }
        offsets[local] = scan(local, lane, total).x + before;
        workgroupBarrier();
        for (var e = 0u; e < PER; e++) {
            let slot = slot_of(local, e);
            if (slot < length) {
                let byte = words[spread(slot)];
                var first = slot == 0u;
                if (!first) { first = !(words[spread(slot - 1u)] == byte); }
                if (first) { offsets[byte] -= slot; }
            }
        }
        workgroupBarrier();
        for (var e = 0u; e < PER; e++) {
            let slot = slot_of(local, e);
            if (slot < length) {
                let to = offsets[words[spread(slot)]] + slot;
                if (to < params.keep) {
                    finish(row * params.keep, to, items[e], items[e], items[e], items[e]);
                }
            }
        }
    } else {
        for (var e = 0u; e < PER; e += LANES) {
            let slot = slot_of(local, e);
            let run = first_run + slot / SPAN;
            if (run < params.runs && slot % SPAN < params.keep) {
                finish(run * params.keep, slot % SPAN, items[e], items[e + LANE1], items[e + LANE2], items[e + LANE3]);
            }
        }
    }
}

// The slots that a thread loads and writes: LANES neighbours, next to those of its neighbours.
fn slot_of(local: u32, e: u32) -> u32 { return ((e / LANES) * WORKGROUP + local) * LANES + e % LANES; }

// Where slot i lies in `words`: reading neighbours thread by thread then meets every bank once.
fn spread(i: u32) -> u32 { return i + (i >> 5u); }

fn row_of(run: u32) -> u32 {
    if (SCATTERED) { return run / params.blocks; }
    return run;
}

fn length_of(run: u32) -> u32 {
    if (run >= params.runs) { return 0u; }
    if (SCATTERED) { return min(SPAN, params.size - (run - row_of(run) * params.blocks) * SPAN); }
    return params.size;
}

// The sum of `own` over the threads of the same run before this one, and over all of them. Four times as far a step.
fn scan(local: u32, lane: u32, own: u32) -> vec2<u32> {
    sums[local] = own;
    workgroupBarrier();
    var at = 0u;
    var sum = own;
    for (var step = 1u; step < THREADS; step = step * 4u) {
        for (var j = 1u; j < 4u; j++) {
            if (lane >= j * step) { sum += sums[at + local - j * step]; }
        }
        at = WORKGROUP - at;
        sums[at + local] = sum;
        workgroupBarrier();
    }
    return vec2<u32>(sum - own, sums[at + local - lane + THREADS - 1u]);
}
