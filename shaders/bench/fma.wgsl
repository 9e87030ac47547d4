// Fused multiply-adds in registers and nothing else: the adapter's f32 ceiling.
//
// An invocation runs 8 independent chains of vec4, four steps a round: 128 multiply-adds, 256 operations a round.
// The results are stored so that nothing can be left out.
//
//! needs WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let id = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    let m = vec4<f32>(params.factor);
    let seed = f32(id) * 1e-6;
    var a = vec4<f32>(seed, 0.1, 0.2, 0.3);
    var b = vec4<f32>(seed, 0.4, 0.5, 0.6);
    var c = vec4<f32>(seed, 0.7, 0.8, 0.9);
    var d = vec4<f32>(seed, 1.0, 1.1, 1.2);
    var e = vec4<f32>(seed, 1.3, 1.4, 1.5);
    var f = vec4<f32>(seed, 1.6, 1.7, 1.8);
    var g = vec4<f32>(seed, 1.9, 2.0, 2.1);
    var h = vec4<f32>(seed, 2.2, 2.3, 2.4);
    for (var i = 0u; i < params.rounds; i++) {
        a = fma(a, m, m); b = fma(b, m, m); c = fma(c, m, m); d = fma(d, m, m);
        e = fma(e, m, m); f = fma(f, m, m); g = fma(g, m, m); h = fma(h, m, m);
        a = fma(a, m, m); b = fma(b, m, m); c = fma(c, m, m); d = fma(d, m, m);
        e = fma(e, m, m); f = fma(f, m, m); g = fma(g, m, m); h = fma(h, m, m);
        a = fma(a, m, m); b = fma(b, m, m); c = fma(c, m, m); d = fma(d, m, m);
        e = fma(e, m, m); f = fma(f, m, m); g = fma(g, m, m); h = fma(h, m, m);
        a = fma(a, m, m); b = fma(b, m, m); c = fma(c, m, m); d = fma(d, m, m);
        e = fma(e, m, m); f = fma(f, m, m); g = fma(g, m, m); h = fma(h, m, m);
    }
    let s = a + b + c + d + e + f + g + h;
    store_out(id, s.x + s.y + s.z + s.w);
}
