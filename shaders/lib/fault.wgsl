// Reports a data fault once: the first one wins, the next synchronisation raises it.
//
// faults: array<atomic<u32>> of four words: code, low half of the index, size, high half of the index.
fn report(code: u32, index: vec2<u32>, size: u32) {
    let old = atomicCompareExchangeWeak(&faults[0], 0u, code);
    if (old.exchanged) {
        atomicStore(&faults[1], index.x);
        atomicStore(&faults[2], size);
        atomicStore(&faults[3], index.y);
    }
}
