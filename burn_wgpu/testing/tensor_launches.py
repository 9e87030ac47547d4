"""How many kernels the functions of the tensor API launch on the wgpu backend: methods, operators, function modules.

As `testing.launches`, on a device with WebGPU's default limits. Each is called once, on floats x and y [64, 64], an
int i or a bool m of that shape, a vector [64], or what its name says; on halves where the name ends with f16. "dim" is
the last axis, "two axes" are the first two of [4, 8, 64], "apart axes" its first and last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.contract import options as o
from burn_wgpu.device import Device
from burn_wgpu.tensor import activation as A
from burn_wgpu.tensor import functional as F
from burn_wgpu.tensor import grid as G
from burn_wgpu.tensor import linalg as L
from burn_wgpu.tensor import signal as S
from burn_wgpu.tensor.api import Tensor
from burn_wgpu.tensor.base import where
from burn_wgpu.testing.launches import SIZE, CountingDevice

Made = dict[str, Tensor]


def _method(name: str, *args: Any, of: str = "x") -> Callable[[Made], Any]:
    return lambda g: getattr(g[of], name)(*args)


def _pair(name: str) -> Callable[[Made], Any]:
    return lambda g: getattr(g["x"], name)(g["y"])


def _function(module: Any, name: str, *args: Any, of: str = "x") -> Callable[[Made], Any]:
    return lambda g: getattr(module, name)(g[of], *args)


def _names(module: Any, names: str, *args: Any) -> dict[str, Callable[[Made], Any]]:
    prefix = module.__name__.rpartition(".")[2]
    return {f"{prefix}.{name}": _function(module, name, *args) for name in names.split()}


CALLS: dict[str, Callable[[Made], Any]] = {
    **{n: _method(n) for n in """abs neg sign square recip sqrt exp expm1 log log1p erf sin cos tan sinh cosh tanh asin
       acos atan asinh acosh atanh round floor ceil trunc deg2rad rad2deg is_nan is_inf is_finite contains_nan int bool
       sum mean prod max min max_abs any all var std sort argsort norm argmax argmin triu tril detach transpose
       flatten zeros_like ones_like argwhere nonzero""".split()},
    **{f"{n} dim": _method(n, 1) for n in """sum mean prod max min max_abs sum_dim mean_dim prod_dim max_dim min_dim
       max_abs_dim any all any_dim all_dim var std var_bias var_mean var_mean_bias median median_with_indices argmax
       argmin cumsum cumprod cummin cummax max_dim_with_indices min_dim_with_indices softmax log_softmax
       cov""".split()},
    **{n: _pair(n) for n in """add sub mul div remainder floor_divide fmod powf hypot atan2 max_pair min_pair maximum
       minimum equal not_equal greater greater_equal lower lower_equal is_close all_close matmul""".split()},
    **{f"{n} of a number": _method(n, 2.5) for n in """add sub mul div remainder floor_divide fmod powf max_pair
       min_pair equal greater lower clamp_min clamp_max""".split()},
    **{f"{n} two axes": _method(n, [0, 1], of="x3") for n in
       "sum mean prod max min max_abs any all var std".split()},
    **{f"{n} apart axes": _method(n, [0, 2], of="x3") for n in "sum mean max any var".split()},
    "clamp": _method("clamp", -1.0, 1.0),
    "powi 2": _method("powi", 2),
    "powi 3": _method("powi", 3),
    "powi -1": _method("powi", -1),
    "powi -2": _method("powi", -2),
    "powi ints": lambda g: g["x"].powi(g["i"]),
    "2 ** x": lambda g: 2.0 ** g["x"],
    "1 / x": lambda g: 1 / g["x"],
    "3 / x": lambda g: 3.0 / g["x"],
    "1 - x": lambda g: 1 - g["x"],
    "1.5 - x": lambda g: 1.5 - g["x"],
    "divmod": lambda g: divmod(g["x"], 2.0),
    "round_to 2": _method("round_to", 2),
    "round_to -1": _method("round_to", -1),
    "cast f16": _method("cast", "f16"),
    "mask_where": lambda g: g["x"].mask_where(g["m"], g["y"]),
    "mask_fill": lambda g: g["x"].mask_fill(g["m"], 1.0),
    "mask_select": lambda g: g["x"].mask_select(g["m"]),
    "where number": lambda g: where(g["m"], g["x"], 0.0),
    "topk": _method("topk", 3),
    "topk_with_indices": _method("topk_with_indices", 3),
    "sort_with_indices": _method("sort_with_indices"),
    "one_hot": lambda g: g["k"].one_hot(SIZE),
    "one_hot_fill": lambda g: g["k"].one_hot_fill(SIZE, 1, 0),
    "dot": lambda g: g["v"].dot(g["v"]),
    "matmul vector": lambda g: g["x"].matmul(g["v"]),
    "pad": _method("pad", [(1, 1)]),
    "pad reflect": _method("pad", [(1, 1)], "reflect"),
    "cat": lambda g: Tensor.cat([g["x"], g["y"]]),
    "stack": lambda g: Tensor.stack([g["x"], g["y"]]),
    "repeat": _method("repeat", [2, 2]),
    "repeat_dim": _method("repeat_dim", 0, 2),
    "roll": _method("roll", [1, 2], [0, 1]),
    "roll_dim": _method("roll_dim", 1, 0),
    "flip": _method("flip", [0]),
    "chunk": _method("chunk", 2),
    "cross": lambda g: g["x"].slice_dim(1, (0, 3)).cross(g["y"].slice_dim(1, (0, 3))),
    "categorical": lambda g: g["p"].categorical(2),
    "einsum ij,jk": lambda g: Tensor.einsum("ij,jk->ik", g["x"], g["y"]),
    "einsum ij->i": lambda g: Tensor.einsum("ij->i", g["x"]),
    "einsum ii": lambda g: Tensor.einsum("ii->", g["x"]),
    "int floor_divide": lambda g: g["i"] // g["i"],
    "int floor_divide of a number": lambda g: g["i"] // 3,
    "int remainder": lambda g: g["i"] % 3,
    "int maximum": lambda g: g["i"].maximum(g["i"]),
    "int mean two axes": _method("mean", [0, 1], of="i3"),
    "int powi": lambda g: g["i"].powi(3),
    "int square": lambda g: g["i"].square(),
    "t[1]": lambda g: g["x"][1],
    "t[:, 1:3]": lambda g: g["x"][:, 1:3],
    "t[ints of the host]": lambda g: g["x"][[1, 2, -1]],
    "t[ints of the device]": lambda g: g["x"][g["k"]],
    "t[:, ints of the device]": lambda g: g["x"][:, g["k"]],
    "t[ints, ints]": lambda g: g["x"][g["k"], g["k"]],
    "t[mask]": lambda g: g["x"][g["m"]],
    "t[mask of rows]": lambda g: g["x"][g["m"].select_dim(0, 0)],
    "select": lambda g: g["x"].select(0, g["k"]),
    "take": lambda g: g["x"].take(0, g["k"]),
    "gather": lambda g: g["x"].gather(1, g["i"]),
    "scatter": lambda g: g["x"].scatter(1, g["i"], g["y"]),
    "select_assign": lambda g: g["x"].select_assign(0, g["k"], g["y"]),
    "slice_assign": lambda g: g["x"].slice_assign([(0, 2)], g["y"].slice([(0, 2)])),
    "slice_fill": lambda g: g["x"].slice_fill([(0, 2)], 1.0),
    "arange": lambda g: Tensor.arange(SIZE, device=g["x"].device),
    "arange float": lambda g: Tensor.arange(SIZE, device=g["x"].device, dtype="f32"),
    "zeros": lambda g: Tensor.zeros((SIZE,), g["x"].device),
    "full": lambda g: Tensor.full((SIZE,), 2.5, g["x"].device),
    "eye": lambda g: Tensor.eye(SIZE, g["x"].device),
    "tril_mask": lambda g: Tensor.tril_mask((SIZE, SIZE), 0, g["x"].device),
    "rand": lambda g: Tensor.rand(SIZE, device=g["x"].device),
    "randn": lambda g: Tensor.randn(SIZE, device=g["x"].device),
    **_names(A, """relu relu6 hardtanh tanh tanhshrink leaky_relu gelu gelu_approximate softplus sigmoid log_sigmoid
       hard_sigmoid silu hard_swish mish elu celu selu thresholded_relu softsign hard_shrink soft_shrink shrink glu"""),
    **_names(A, "softmax softmin log_softmax quiet_softmax", 1),
    "activation.threshold": lambda g: A.threshold(g["x"], 0.5, 1.0),
    "activation.prelu": lambda g: A.prelu(g["x"], g["v"]),
    **_names(L, """diag trace vector_norm l0_norm l1_norm l2_norm max_abs_norm min_abs_norm vector_normalize"""),
    "linalg.lp_norm 3": lambda g: L.lp_norm(g["x"], 3.0),
    "linalg.matvec": lambda g: L.matvec(g["x"], g["v"]),
    "linalg.outer": lambda g: L.outer(g["v"], g["v"]),
    "linalg.cosine_similarity": lambda g: L.cosine_similarity(g["x"], g["y"]),
    "linalg.det 3": lambda g: L.det(g["x"].slice([(0, 3), (0, 3)])),
    "functional.linear": lambda g: F.linear(g["x"], g["y"], g["v"]),
    "functional.layer_norm": lambda g: F.layer_norm(g["x"], g["v"], g["v"]),
    "functional.batch_norm": lambda g: F.batch_norm(g["x"], g["v"], g["v"], g["v"], g["v"]),
    "functional.embedding": lambda g: F.embedding(g["x"], g["i"]),
    "functional.cross_entropy_with_logits": lambda g: F.cross_entropy_with_logits(g["x"], g["p"]),
    "functional.attention": lambda g: F.attention(g["heads"], g["heads"], g["heads"]),
    "functional.conv1d": lambda g: F.conv1d(g["x"].unsqueeze_dim(0), g["y"].unsqueeze_dim(2)),
    "functional.max_pool2d": lambda g: F.max_pool2d(
        g["x"].reshape((1, 1, SIZE, SIZE)), o.MaxPoolOptions((2, 2), (2, 2))
    ),
    "functional.avg_pool2d": lambda g: F.avg_pool2d(
        g["x"].reshape((1, 1, SIZE, SIZE)), o.AvgPoolOptions((2, 2), (2, 2))
    ),
    "functional.adaptive_avg_pool2d": lambda g: F.adaptive_avg_pool2d(g["x"].reshape((1, 1, SIZE, SIZE)), (3, 3)),
    "signal.rfft": lambda g: S.rfft(g["x"]),
    "signal.irfft": lambda g: S.irfft(g["x"], g["y"]),
    "signal.cfft": lambda g: S.cfft(g["x"], g["y"]),
    "signal.stft": lambda g: S.stft(g["x"], None, S.StftOptions(16)),
    "signal.hann_window": lambda g: S.hann_window(SIZE, device=g["x"].device),
    "grid.meshgrid": lambda g: G.meshgrid([g["v"], g["v"]]),
    "grid.affine_grid_2d": lambda g: G.affine_grid_2d(g["x"].slice([(0, 2), (0, 3)]).unsqueeze_dim(0), (1, 1, 4, 4)),
    **{f"{n} f16": _method(n, of="h") for n in
       "expm1 deg2rad rad2deg square is_finite norm sum mean".split()},
    **{f"{n} dim f16": _method(n, 1, of="h") for n in "sum mean var std softmax".split()},
    **{f"activation.{n} f16": _function(A, n, of="h") for n in "silu mish elu softplus".split()},
    "linalg.l2_norm f16": lambda g: L.l2_norm(g["h"]),
    "linalg.cosine_similarity f16": lambda g: L.cosine_similarity(g["h"], g["h"]),
}  # fmt: skip


def measure() -> dict[str, list[str]]:
    """The contract functions whose kernels each call launched, in order, by the name of the call."""
    handle = CountingDevice()
    device = Device.of_handle(handle)
    rng = np.random.default_rng(0)

    def floats(*shape: int, dtype: str = "f32") -> Tensor:
        return Tensor(rng.uniform(1, 2, shape), device, dtype)

    made = {
        "x": floats(SIZE, SIZE),
        "y": floats(SIZE, SIZE),
        "p": floats(SIZE, SIZE),
        "x3": floats(4, 8, SIZE),
        "heads": floats(1, 1, SIZE, SIZE),
        "v": floats(SIZE),
        "h": floats(SIZE, SIZE, dtype="f16"),
        "i": Tensor(rng.integers(1, SIZE, (SIZE, SIZE)), device),
        "i3": Tensor(rng.integers(1, SIZE, (4, 8, SIZE)), device),
        "k": Tensor(rng.integers(1, SIZE, SIZE), device),
        "m": Tensor(rng.uniform(size=(SIZE, SIZE)) < 0.5, device),
    }
    found = {}
    for name, call in CALLS.items():
        handle.cost.launches.clear()
        call(made)
        found[name] = list(handle.cost.launches)
    return found
