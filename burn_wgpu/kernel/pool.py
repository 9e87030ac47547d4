"""Pooling over one to three axes: one skeleton a direction, whatever the windows and whatever is made of them.

`window.wgsl` reduces the taps of each window (average.wgsl, maximum.wgsl); `spread.wgsl` is the gradient: each element
adds up what the windows that hold it give (share_average.wgsl, share_maximum.wgsl). Where windows lie is one file for
both directions: fixed.wgsl, or adaptive.wgsl for windows that cover the input. No table is made, nothing is scattered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from burn_wgpu.contract.options import pool_output_size
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape

THREADS = 128
MOST_STEPS = 50_000  # loop iterations of an invocation: Mesa 22 stops at 65,535
STEPS_A_TAP = 12  # four elements, three nested loops


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows along the spatial axes; sizes of x, then outputs. adaptive windows need no more than these.

    include_pad  whether an average counts taps in the padding
    """

    sizes: Shape
    outputs: Shape
    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    adaptive: bool = False
    include_pad: bool = True

    @staticmethod
    def fixed(
        sizes: Shape, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
        ceil_mode: bool, include_pad: bool, operation: str,
    ) -> Windows:  # fmt: skip
        """Raises ShapeError when a window does not fit."""
        outputs = tuple(
            pool_output_size(n, k, s, (p, p), d, ceil_mode, operation)
            for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
        )
        return Windows(
            tuple(sizes), outputs, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), False, include_pad
        )

    @staticmethod
    def covering(sizes: Shape, outputs: Sequence[int]) -> Windows:
        """Adaptive pooling."""
        rank = len(sizes)
        kernel = tuple(n // max(out, 1) + 2 * (n % max(out, 1) != 0) for n, out in zip(sizes, outputs, strict=True))
        return Windows(tuple(sizes), tuple(outputs), kernel, (1,) * rank, (0,) * rank, (1,) * rank, True)

    @property
    def short(self) -> bool:
        """Whether one invocation can walk four windows, and their numbers fit 32 bits."""
        return self._fits and STEPS_A_TAP * prod(self.kernel) <= MOST_STEPS

    @property
    def short_backward(self) -> bool:
        """Whether one invocation can walk the windows that hold four elements, and their numbers fit 32 bits."""
        covers = [
            out // max(n, 1) + 2 if self.adaptive else min((d * (k - 1)) // s + 1, out)
            for n, out, k, s, d in zip(self.sizes, self.outputs, self.kernel, self.stride, self.dilation, strict=True)
        ]
        return self._fits and STEPS_A_TAP * prod(covers) <= MOST_STEPS

    @property
    def _fits(self) -> bool:
        """Adaptive windows multiply positions by sizes; the others stay near their axis."""
        limit = 1 << 32
        return not self.adaptive or all(
            (n + 1) * (out + 1) < limit for n, out in zip(self.sizes, self.outputs, strict=True)
        )


def pool_plan(
    operation: str,
    layout: Layout,
    windows: Windows,
    maximum: bool,
    indices: DType | None,
    dtype: DType,
    device: Capability,
) -> Plan:
    """x [N, C, ..] → [N, C, outputs]: means, or maxima and, with `indices`, where in the plane they lie, in that."""
    shape = (*layout.shape[:2], *windows.outputs)
    outs = [Out.of(shape, dtype), *([Out.of(shape, indices)] if indices is not None else [])]
    if outs[0].layout.size == 0:
        return Plan(operation, 1, tuple(outs), ())
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("x", dtype)
    prelude.storage("out", dtype, "chunk")
    stores = ["    store4_out(c, array<f32, 4>(value(a0), value(a1), value(a2), value(a3)));"]
    if indices is not None:
        kind = raw_kind(indices.size_bytes)
        prelude.storage("places", kind, "chunk")
        numbers = [f"a{e}.index" if kind.per_word else f"vec2<u32>(a{e}.index, 0u)" for e in range(4)]
        stores.append(f"    store4_places(c, array<{kind.value}, 4>({', '.join(numbers)}));")
    prelude.text("fn put4(c: u32, a0: Acc, a1: Acc, a2: Acc, a3: Acc) {\n" + "\n".join(stores) + "\n}")
    prelude.use("pool/maximum" if maximum else "pool/average")
    operands = tuple(range(1 + len(outs)))
    launch = _launch("pool/window", prelude, windows, "x", layout, outs[0].layout.size, operands, device)
    return Plan(operation, 1, tuple(outs), (launch,))


def pool_backward_plan(
    operation: str,
    x: Shape,
    grad: Layout,
    windows: Windows,
    indices: tuple[Layout, DType] | None,
    dtype: DType,
    device: Capability,
) -> Plan:
    """The gradient of x [N, C, ..]. Inputs: grad [N, C, outputs] and, for maxima, their indices of the same shape."""
    inputs = 1 if indices is None else 2
    out = Out.of(x, dtype)
    if out.layout.size == 0:
        return Plan(operation, inputs, (out,), ())
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("g", dtype)
    more: dict[str, int] = {}
    if indices is None:
        prelude.use("pool/share_average")
    else:
        layout, index_dtype = indices
        kind = raw_kind(index_dtype.size_bytes)
        prelude.storage("indices", kind)
        prelude.use("pool/share_maximum")
        more = _strides("i", layout)
        word = "" if kind.per_word else ".x"
        prelude.text(
            "fn index_at(o: vec3<u32>, plane: u32) -> u32 {\n    let n = plane / params.channels;\n"
            "    let base = params.i_at + n * params.i_n + (plane - n * params.channels) * params.i_c;\n"
            f"    return load_indices(base + o.x * params.i0 + o.y * params.i1 + o.z * params.i2){word};\n}}"
        )
    prelude.storage("out", dtype, "chunk")
    operands = tuple(range(inputs + 1))
    launch = _launch("pool/spread", prelude, windows, "g", grad, out.layout.size, operands, device, more)
    return Plan(operation, inputs, (out,), (launch,))


def _strides(name: str, layout: Layout) -> dict[str, int]:
    """Parameters of a tensor [N, C, ..]: spatial axes are the last of three."""
    space = (*[0] * (5 - layout.rank), *layout.strides[2:])
    return {
        f"{name}_at": layout.offset, f"{name}_n": layout.strides[0], f"{name}_c": layout.strides[1],
        **{f"{name}{a}": s for a, s in enumerate(space)},
    }  # fmt: skip


def _launch(
    file: str, prelude: Prelude, windows: Windows, name: str, layout: Layout, size: int, operands: tuple[int, ...],
    device: Capability, more: dict[str, int] | None = None,
) -> Launch:  # fmt: skip
    fill = 3 - len(windows.sizes)
    numbers = {"size": size, "channels": layout.shape[1]}
    for letter, values, one in (
        ("n", windows.sizes, 1), ("o", windows.outputs, 1), ("k", windows.kernel, 1), ("s", windows.stride, 1),
        ("p", windows.padding, 0), ("d", windows.dilation, 1),
    ):  # fmt: skip
        numbers |= {f"{letter}{a}": v for a, v in enumerate((*[one] * fill, *values))}
    numbers |= _strides(name, layout) | (more or {})
    prelude.use("pool/adaptive" if windows.adaptive else "pool/fixed")
    prelude.const("INCLUDE_PAD", windows.include_pad)
    prelude.const("THREADS", THREADS)
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"))
    grid = fold(-(-size // (4 * THREADS)), device)
    key = KernelKey(
        file, prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip
    return Launch(key, operands, words(grid[0], *numbers.values()), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Both directions over both kinds of windows, every dtype, every index width."""
    x = Layout.dense((2, 3, 8, 9))
    fixed = Windows.fixed((8, 9), (3, 2), (2, 1), (1, 1), (1, 2), False, True, "pool")
    inside = Windows.fixed((8, 9), (3, 2), (2, 1), (1, 1), (1, 2), False, False, "pool")
    cover = Windows.covering((8, 9), (3, 4))
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for windows in (fixed, inside, cover):
            grad = Layout.dense((2, 3, *windows.outputs))
            yield pool_plan("avg_pool", x, windows, False, None, dtype, device)
            yield pool_backward_plan("avg_pool_backward", x.shape, grad, windows, None, dtype, device)
        yield pool_plan("max_pool", x, fixed, True, None, dtype, device)
        grad = Layout.dense((2, 3, *fixed.outputs))
        for index in (dt.I64, dt.I32, dt.I16, dt.U8):
            yield pool_plan("max_pool", x, fixed, True, index, dtype, device)
            yield pool_backward_plan("max_pool_backward", x.shape, grad, fixed, (grad, index), dtype, device)
