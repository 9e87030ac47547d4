// Reports a data fault once: the first one wins, the next synchronisation raises it.
//
// faults: array<atomic<u32>> of four words: code, index bits, size, unused.
fn report(code: u32, index: u32, size: u32) {
    let old = atomicCompareExchangeWeak(&faults[0], 0u, code);
    if (old.exchanged) {
        atomicStore(&faults[1], index);
        atomicStore(&faults[2], size);
    }
}
