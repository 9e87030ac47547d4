"""Buffers, pipelines and queues: the only package that imports wgpu. It knows no operation.

May import: shader, std (and contract only for types). Stations of a launch: `pipeline` compiles its key, `params` finds
its parameters, `memory` gives buffers, `stream` records and submits, `staging` waits for what the
host reads, `client` ties them to one opened device.
Facts that shaped it (wgpu-py 0.32): anything wrong at `queue.submit` aborts the process, so every error must surface at
`finish`; nothing is ever destroyed, only dropped; raw calls record, checked calls create and finish.
Rejected: one pass per dispatch (3-9 times slower), `queue.read_buffer` (a new staging buffer each time), wgpu-py's
promises on the hot path (a thread hop per map).
"""
