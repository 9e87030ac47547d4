"""GPU work as values and text: what a device can do, which kernel, with which parameters. No device is touched.

May import: std. Plans (kernel/) build `Prelude`s, `KernelKey`s, `Launch`es and `Plan`s from here; the runtime turns a
key into a pipeline and a launch into a dispatch. `compose` turns a key into WGSL.
Rejected: a template language inside shaders (a kernel is files that are WGSL as they are, behind a generated prelude).
"""
