"""The wgpu backend: every contract function is a plan (kernel/) that a device runs (runtime/).

May import: kernel, runtime, shader, contract, std. It does not know the other backends.
One file a contract group or kernel family, each a mixin of `WgpuBackend`. An elementwise function needs nothing here:
it is found by its declaration in the contract and its WGSL function.
"""
