"""Layer norm and batch norm, computed in f32 whatever the dtype.

Layer norm of rows that fit in registers reads them once (shaders/norm/rows.wgsl). Longer or unaligned rows, and the
statistics of batch norm, are a fold to mean and centred squares (lib/reduce_moments) and an elementwise pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from burn_wgpu.kernel.lanes import Apply, Lanes, register_row
from burn_wgpu.kernel.reduce import SHAPES, WORKGROUP, Domain, Fold, Result, fill_launches, fold_launches
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

Algorithm = Literal["rows", "lanes"]

_MOMENTS = Fold("moments", ("lib/reduce_moments",), "", 16)


def layer_norm_plan(
    layout: Layout,
    dtype: DType,
    gamma: DType,
    beta: DType | None,
    eps: float,
    device: Capability,
    algorithm: Algorithm | None = None,
) -> Plan:
    """(x − mean) / √(variance + eps) · gamma (+ beta) over the last axis; gamma and beta [D] lie packed.

    Operands: x, gamma, beta if there is one. `algorithm` forces the kernel.
    """
    inputs = 2 if beta is None else 3
    out = Out.of(layout.shape, dtype)
    if layout.size == 0:
        return Plan("layer_norm", inputs, (out,), ())
    dim = layout.rank - 1
    row = register_row(layout, dim, dtype, device) if algorithm != "lanes" else None
    assert row is not None or algorithm != "rows", "the rows do not fit in registers"
    if row is not None:
        row.fields.add("count", float(layout.shape[dim]), "f32")
        row.fields.add("eps", float(eps), "f32")
        row.body.append("fn piece(base: u32, u: u32) -> R { return raw(base, u); }")
        row.body.append(f"fn head(r: R) -> f32 {{ return r{'.x' if row.chunked else ''}; }}")
        for name, value, kind in (("gamma", "scale", gamma), ("beta", "shift", beta)):
            if kind is None:
                row.body.append("fn shift(u: u32) -> R { return R(0.0); }")
                continue
            row.prelude.storage(name, kind, "chunk" if row.chunked else "element")
            if row.chunked:
                read = f"let p = load4_{name}(u); return R(p[0], p[1], p[2], p[3]);"
            else:
                read = f"return load_{name}(u);"
            row.body.append(f"fn {value}(u: u32) -> R {{ {read} }}")
        key = row.key("norm/rows", dtype, 8)
        grid = row.grid(device)
        launch = Launch(key, tuple(range(inputs + 1)), words(grid[0], *row.fields.values), grid)
        return Plan("layer_norm", inputs, (out,), (launch,))

    domain = Domain.of(layout, (dim,))
    launches, scratch = fold_launches(_MOMENTS, [dtype], domain, None, device, (0,), (), inputs + 1)
    apply = Apply(layout, dtype)
    lanes = Lanes.of(layout, dim)
    apply.owner(lanes)
    apply.indices("affine4", "i - i / params.length * params.length", 1 if lanes.length % 4 == 0 else None)
    apply.fields.add("eps", float(eps), "f32")
    apply.prelude.raw_storage("totals", "array<A>")
    apply.prelude.use(*_MOMENTS.files)
    apply.body.append(
        "fn centred(x: f32, o: u32) -> f32 { return (x - totals[o].head) - totals[o].tail; }\n"
        "fn spread(o: u32) -> f32 { return totals[o].squares / totals[o].count; }"
    )
    _affine(apply, gamma, beta)
    key = apply.key("norm/apply", dtype)
    grid = apply.grid(device)
    operands = (0, inputs + len(scratch), *range(1, inputs + 1))
    launches.append(Launch(key, operands, words(grid[0], *apply.fields.values), grid))
    return Plan("layer_norm", inputs, (out,), tuple(launches), tuple(scratch))


def batch_norm_plan(layout: Layout, dtype: DType, vectors: Sequence[DType], eps: float, device: Capability) -> Plan:
    """(x − mean) / √(variance + eps) · gamma + beta per channel (axis 1).

    Operands: x, gamma, beta, mean, variance; `vectors` are the dtypes of the last four [C], which lie packed.
    """
    out = Out.of(layout.shape, dtype)
    if layout.size == 0:
        return Plan("batch_norm", 5, (out,), ())
    launch = _batch_apply(layout, dtype, vectors, eps, device, (0, 3, 4, 1, 2, 5))
    return Plan("batch_norm", 5, (out,), (launch,))


def batch_norm_train_plan(
    layout: Layout, dtype: DType, gamma: DType, beta: DType, eps: float, device: Capability
) -> Plan:
    """Batch norm with x's own statistics: outputs x's shape, mean [C] and biased variance [C] in f32 (f64 for f64).

    Operands: x, gamma, beta; the vectors lie packed.
    """
    channels = layout.shape[1]
    statistic = dt.F64 if dtype is dt.F64 else dt.F32
    outs = (Out.of(layout.shape, dtype), Out.of((channels,), statistic), Out.of((channels,), statistic))
    if layout.size == 0:
        nothing = [launch for i in (1, 2) for launch in fill_launches(outs[i], float("nan"), 3 + i, device)]
        return Plan("batch_norm_train", 3, outs, tuple(nothing))
    results = [Result(statistic, "mean_of(a)"), Result(statistic, "a.squares / a.count")]
    domain = Domain.of(layout, _all_but_channels(layout))
    launches, scratch = fold_launches(_MOMENTS, [dtype], domain, results, device, (0,), (4, 5), 6)
    vectors = (gamma, beta, statistic, statistic)
    launches.append(_batch_apply(layout, dtype, vectors, eps, device, (0, 4, 5, 1, 2, 3)))
    return Plan("batch_norm_train", 3, outs, tuple(launches), tuple(scratch))


def batch_norm_train_backward_plan(
    layout: Layout, dtype: DType, grad: DType, gamma: DType, mean: DType, variance: DType, eps: float,
    device: Capability,
) -> Plan:  # fmt: skip
    """Gradients of batch_norm_train: x's shape and dtype, then gamma and beta [C] in gamma's dtype.

    Operands: x, output_grad (both packed, of shape `layout`), gamma, mean, variance (packed [C]).
    """
    channels = layout.shape[1]
    outs = (Out.of(layout.shape, dtype), Out.of((channels,), gamma), Out.of((channels,), gamma))
    if layout.size == 0:
        nothing = [launch for i in (1, 2) for launch in fill_launches(outs[i], 0.0, 5 + i, device)]
        return Plan("batch_norm_train_backward", 5, outs, tuple(nothing))
    what = Fold("batch_grad", ("lib/reduce_batch_grad",), "", 8)
    domain = Domain.of(layout, _all_but_channels(layout))
    launches, scratch = fold_launches(
        what, [dtype, grad], domain, None, device, (0, 1), (), 8, extra=(("mean", mean, 3),)
    )
    totals = 7 + len(scratch)
    launches.append(_affine_grads(channels, gamma, variance, eps, totals, what, device))

    apply = Apply(layout, dtype)
    apply.owner_of_channels(layout)
    apply.fields.add("eps", float(eps), "f32")
    apply.fields.add("count", float(layout.size // channels), "f32")
    apply.prelude.storage("g", grad, "chunk")
    apply.prelude.storage("gamma", gamma)
    apply.prelude.storage("mean", mean)
    apply.prelude.storage("variance", variance)
    apply.prelude.raw_storage("totals", "array<A>")
    apply.prelude.use(*what.files)
    key = apply.key("norm/batch_grad", dtype)
    grid = apply.grid(device)
    launches.append(Launch(key, (0, 1, 2, 3, 4, totals, 5), words(grid[0], *apply.fields.values), grid))
    return Plan("batch_norm_train_backward", 5, outs, tuple(launches), tuple(scratch))


def _affine_grads(
    channels: int, gamma: DType, variance: DType, eps: float, totals: int, what: Fold, device: Capability
) -> Launch:
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.raw_storage("totals", "array<A>")
    prelude.storage("variance", variance)
    prelude.storage("gamma_grad", gamma, "chunk")
    prelude.storage("beta_grad", gamma, "chunk")
    prelude.params(groups_x="u32", channels="u32", eps="f32")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.use(*what.files)
    grid = fold(-(-channels // (4 * WORKGROUP)), device)
    key = KernelKey(
        "norm/batch_affine_grad", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, (totals, 4, 6, 7), words(grid[0], channels, float(eps)), grid)


def _batch_apply(
    layout: Layout, dtype: DType, vectors: Sequence[DType], eps: float, device: Capability, operands: tuple[int, ...]
) -> Launch:
    """The elementwise pass over operands x, mean, variance, gamma, beta, out.

    vectors: the dtypes of gamma, beta, mean, variance.
    """
    gamma, beta, mean, variance = vectors
    apply = Apply(layout, dtype)
    apply.owner_of_channels(layout)
    apply.body.append("fn affine4(i: u32) -> array<u32, 4> { return owner4(i); }")
    apply.fields.add("eps", float(eps), "f32")
    apply.prelude.storage("mean", mean)
    apply.prelude.storage("variance", variance)
    apply.body.append("fn centred(x: f32, o: u32) -> f32 { return x - load_mean(o); }")
    apply.body.append("fn spread(o: u32) -> f32 { return load_variance(o); }")
    _affine(apply, gamma, beta)
    key = apply.key("norm/apply", dtype)
    grid = apply.grid(device)
    return Launch(key, operands, words(grid[0], *apply.fields.values), grid)


def _affine(apply: Apply, gamma: DType, beta: DType | None) -> None:
    """`scale` and `shift` by index into gamma and beta."""
    apply.prelude.storage("gamma", gamma)
    apply.body.append("fn scale(g: u32) -> f32 { return load_gamma(g); }")
    if beta is None:
        apply.body.append("fn shift(g: u32) -> f32 { return 0.0; }")
        return
    apply.prelude.storage("beta", beta)
    apply.body.append("fn shift(g: u32) -> f32 { return load_beta(g); }")


def _all_but_channels(layout: Layout) -> tuple[int, ...]:
    return tuple(axis for axis in range(layout.rank) if axis != 1)


def variants(device: Capability) -> Iterator[Plan]:
    """Layer norm by rows and by lanes, batch norm and its training passes, over each float."""
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for shape in (*SHAPES, (64, 64), (9, 2048), (6, 384)):
            for beta in (dtype, None):
                yield layer_norm_plan(Layout.dense(shape), dtype, dtype, beta, 1e-5, device)
        for layout in map(Layout.dense, ((4, 6, 10), (3, 8), (64, 128, 28, 28), (2, 3, 5))):
            yield batch_norm_plan(layout, dtype, (dtype, dtype, dt.F32, dt.F32), 1e-5, device)
            yield batch_norm_train_plan(layout, dtype, dtype, dtype, 1e-5, device)
            yield batch_norm_train_backward_plan(layout, dtype, dtype, dtype, dt.F32, dt.F32, 1e-5, device)
