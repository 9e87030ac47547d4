// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four words from a counter and a
// key. Here the key is the seed, and the counter is (block, 0, call, high word of the call).
//
//! use lib/math

fn philox(block: u32) -> vec4<u32> {
    var c = vec4<u32>(block, 0u, params.call_low, params.call_high);
    var key = vec2<u32>(params.seed_low, params.seed_high);
    for (var round = 0u; round < 10u; round++) {
        let p = wide_product(c.x, 0xD2511F53u);
        let q = wide_product(c.z, 0xCD9E8D57u);
        c = vec4<u32>(q.y ^ c.y ^ key.x, q.x, p.y ^ c.w ^ key.y, p.x);
        key += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}
