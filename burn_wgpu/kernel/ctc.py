"""Connectionist temporal classification (Graves et al. 2006): a workgroup steps through the time of its samples.

The places of a target (blank, t₁, blank, …, blank) and two rows of the recursion live in workgroup memory (alpha.wgsl).
The gradient is two launches: the recursion forward and back, which leaves the share of every place in every step, then
the classes, each adding up the places with its label (grads.wgsl). Nothing is scattered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from burn_wgpu.shader import fault
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import KINDS, RAW64, Prelude, word_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

THREADS = 256
MOST_STEPS = 50_000  # loop iterations of an invocation: Mesa 22 stops at 65,535
LARGEST = 1024  # places: two rows and the labels take 12 KiB


@dataclass(frozen=True, slots=True)
class Samples:
    """log_probs [T, N, C], targets [N, S] and both lengths [N]: how they lie, and their dtypes in the same order."""

    log_probs: Layout
    targets: Layout
    input_lengths: Layout
    target_lengths: Layout
    dtypes: tuple[DType, DType, DType, DType]
    blank: int

    @property
    def places(self) -> int:
        return 2 * self.targets.shape[1] + 1

    def fits(self, gradient: bool, device: Capability) -> bool:
        """Whether a workgroup can hold the places and walk the steps, and the scratch of the gradient can be bound."""
        steps, batch, classes = self.log_probs.shape
        if 0 in (steps, classes, self.targets.shape[1]) or self.places > LARGEST:
            return False
        threads = _capacity(self.places)[0]
        turns = -(-self.places // threads) + 1
        each = 2 * turns * (steps + 1) if gradient else turns * (steps + 1) * KINDS[self.dtypes[0]].lanes
        scratch = 4 * batch * steps * self.places
        return each <= MOST_STEPS and (not gradient or scratch <= device.max_binding_bytes)


def _capacity(places: int) -> tuple[int, int]:
    """(invocations, places that the workgroup has room for): powers of two, so that few pipelines serve all lengths."""
    room = max(32, 1 << (places - 1).bit_length())
    return min(THREADS, room), room


def ctc_loss_plan(samples: Samples, device: Capability) -> Plan:
    """→ losses [N] of log_probs' dtype. `samples.fits(False, device)`."""
    dtype = samples.dtypes[0]
    out = Out.of((samples.log_probs.shape[1],), dtype)
    if out.layout.size == 0:
        return Plan("ctc_loss", 4, (out,), ())
    launch = _recursion(samples, "ctc_loss", dtype, (0, 1, 2, 3, 4), False, device)
    return Plan("ctc_loss", 4, (out,), (launch,), flags=True)


def ctc_loss_backward_plan(samples: Samples, grad: Layout, grad_dtype: DType, device: Capability) -> Plan:
    """… and the losses' gradient [N] → the gradient of log_probs. `samples.fits(True, device)`."""
    operation = "ctc_loss_backward"
    steps, batch, classes = samples.log_probs.shape
    dtype = samples.dtypes[0]
    out = Out.of(samples.log_probs.shape, dtype)
    if out.layout.size == 0:
        return Plan(operation, 5, (out,), ())
    first = _recursion(samples, operation, dt.F32, (0, 1, 2, 3, 7, 6), True, device)

    prelude = Prelude()
    _inputs(prelude, samples)
    prelude.storage("grad", grad_dtype)
    prelude.raw_storage("shares", "array<f32>")
    prelude.raw_storage("losses", "array<f32>")
    prelude.storage("out", dtype, "chunk")
    prelude.const("THREADS", THREADS)
    numbers = {**_numbers(samples), "size": out.layout.size, "g_at": grad.offset, "g_n": grad.strides[0]}
    grid = fold(-(-out.layout.size // (4 * THREADS)), device)
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"))
    key = KernelKey(
        "ctc/grads", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip
    second = Launch(key, (0, 1, 2, 3, 4, 6, 7, 5), words(grid[0], *numbers.values()), grid)
    scratch = (4 * batch * steps * samples.places, 4 * batch)
    return Plan(operation, 5, (out,), (first, second), scratch, flags=True)


def _recursion(
    samples: Samples, operation: str, loss: DType, operands: tuple[int, ...], gradient: bool, device: Capability
) -> Launch:
    """operands: the four inputs, the losses and, with the gradient, the shares."""
    threads, room = _capacity(samples.places)
    lanes = KINDS[loss].lanes
    prelude = Prelude()
    _inputs(prelude, samples)
    prelude.storage("losses", loss)
    if gradient:
        prelude.raw_storage("shares", "array<f32>")
        prelude.text("fn keep_share(at: u32, value: f32) { shares[at] = value; }")
        prelude.text("fn kept_share(at: u32) -> f32 { return shares[at]; }")
    else:
        prelude.text("fn keep_share(at: u32, value: f32) { }")
        prelude.text("fn kept_share(at: u32) -> f32 { return 0.0; }")
    prelude.raw_storage("faults", "array<atomic<u32>>")
    prelude.use("lib/fault")
    values = ", ".join(f"v[{lane}]" for lane in range(lanes))
    prelude.text(f"fn put_losses(w: u32, v: array<f32, {lanes}>) {{ store_losses(w, {values}); }}")
    prelude.const("THREADS", threads)
    prelude.const("CAPACITY", room)
    prelude.const("LANES", lanes)
    prelude.const("GRADIENT", gradient)
    numbers = {**_numbers(samples), "fault_code": fault.code("index", operation)}
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"))
    grid = fold(-(-samples.log_probs.shape[1] // lanes), device)
    key = KernelKey(
        "ctc/alpha", prelude.build(), tuple(prelude.uses), prelude.bindings, 12 * room, threads,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, (*operands, FAULT_OPERAND), words(grid[0], *numbers.values()), grid)


def _inputs(prelude: Prelude, samples: Samples) -> None:
    """The four bindings. `NAME_at(i)` reads an int as the bits of an i32, as `kernel.index.index_storage` does, and
    `NAME_whole(i)` as two words, for messages.
    """
    prelude.storage("log_probs", samples.dtypes[0])
    for name, dtype in zip(("targets", "input_lengths", "target_lengths"), samples.dtypes[1:], strict=True):
        if dtype.size_bytes == 8:
            prelude.storage(name, RAW64)
            prelude.use("index/read")
            read = f"index_{dtype.name}(load_{name}(i))"
            whole = f"load_{name}(i)"
        else:
            read = f"load_{name}(i)"
            whole = f"vec2<u32>({read}, 0u)"
            prelude.storage(name, dtype)
            if word_kind(dtype).value != "u32":
                whole = f"vec2<u32>(bitcast<u32>({read}), bitcast<u32>({read} >> 31u))"
                read = f"bitcast<u32>({read})"
            elif dtype.size_bytes == 4:
                read = f"min({read}, 0x7fffffffu)"
        prelude.text(f"fn {name}_at(i: u32) -> u32 {{ return {read}; }}")
        prelude.text(f"fn {name}_whole(i: u32) -> vec2<u32> {{ return {whole}; }}")


def _numbers(samples: Samples) -> dict[str, int]:
    steps, batch, classes = samples.log_probs.shape
    lp, tg, il, tl = samples.log_probs, samples.targets, samples.input_lengths, samples.target_lengths
    return {
        "steps": steps, "batch": batch, "classes": classes, "labels": tg.shape[1], "count": samples.places,
        "blank": samples.blank, "lp_at": lp.offset, "lp_t": lp.strides[0], "lp_n": lp.strides[1],
        "lp_c": lp.strides[2], "tg_at": tg.offset, "tg_n": tg.strides[0], "tg_s": tg.strides[1],
        "il_at": il.offset, "il_n": il.strides[0], "tl_at": tl.offset, "tl_n": tl.strides[0],
    }  # fmt: skip


def variants(device: Capability) -> Iterator[Plan]:
    """Every dtype of both kinds of operand, every size of a workgroup."""
    for labels in (3, 20, 60, 100, 200, 500):
        for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
            yield from _both(labels, (dtype, dt.I32, dt.I32, dt.I32), device)
    for index in (dt.I64, dt.I16, dt.I8, dt.U64, dt.U32, dt.U16, dt.U8):
        yield from _both(3, (dt.F32, index, index, index), device)


def _both(labels: int, dtypes: tuple[DType, DType, DType, DType], device: Capability) -> Iterator[Plan]:
    lengths = Layout.dense((2,))
    samples = Samples(Layout.dense((5, 2, 4)), Layout.dense((2, labels)), lengths, lengths, dtypes, 0)
    yield ctc_loss_plan(samples, device)
    yield ctc_loss_backward_plan(samples, lengths, dtypes[0], device)
