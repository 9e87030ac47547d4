"""The wgpu backend: every contract function is a plan (kernel/) that a device runs (runtime/).

May import: kernel, runtime, shader, contract, std. It does not know the other backends.
One file a contract group or kernel family, each a mixin of `WgpuBackend`. An elementwise function needs nothing here:
it is found by its declaration in the contract and its WGSL function.

f64 has no arithmetic in WGSL: kernels read it as f32 and store it back, which `WgpuDevice.tell_f64` says once. What
needs no arithmetic works on its two words (lib/f64.wgsl) and is exact: elementwise/f64.wgsl, extrema, any and all,
sorting, updates that choose, conversions, and whatever only moves.
"""
