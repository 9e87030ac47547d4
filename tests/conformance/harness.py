"""Calls a contract function on the wgpu backend as a record says, in a layout, and compares with the reference."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.backends.wgpu.usage import keeps_subnormals
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F64, DType
from burn_wgpu.std.errors import BurnError, PrecisionWarning
from burn_wgpu.std.slice import Slice
from burn_wgpu.testing.records.call import (
    DEVICE,
    Call,
    Draw,
    Given,
    far,
    leaves,
    magnitudes,
    replaced,
    unlike,
    wide,
)

B: Any = WgpuBackend()
REF: Any = ReferenceBackend()
REF_DEVICE = ReferenceDevice(13)
SIZES = (0, 1, 3, 5, 31, 32, 33, 63, 64, 65, 1000, 1029)
SINGLE = ("transposed", "stepped", "flipped", "expanded", "plain")
LAYOUTS = (*SINGLE, "mixed")
SEED = 20_240_229


@dataclass(frozen=True, slots=True)
class Try:
    """One call: which of the record's cases, of which size, in which dtype and layout."""

    dtype: DType
    size: int
    layout: str
    case: int
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.dtype} n={self.size} {self.layout} case {self.case}"


def prefix(kind: DType) -> str:
    return "float" if kind.is_float else "bool" if kind.is_bool else "int"


def upload(b: Any, values: np.ndarray, like: Given, device: Any) -> Any:
    return getattr(b, f"{prefix(like.dtype)}_from_data")(replace(like, values=values).data(), device)


def read(b: Any, tensor: Any) -> TensorData:
    return getattr(b, f"{prefix(tensor.dtype)}_into_data")(tensor)  # type: ignore[no-any-return]


def repeated(given: Given) -> Given:
    """The first row of the first axis that is longer than 1 in place of all of them, where that is allowed."""
    axis = next((i for i, n in enumerate(given.shape) if n > 1), None)
    if axis is None or not given.free or given.values.size == 0:
        return given
    return replace(given, values=np.broadcast_to(given.values.take([0], axis), given.shape).copy())


def arranged(given: Given, layout: str, device: WgpuDevice) -> WgpuTensor:
    """A wgpu tensor with these values that lies as the layout says; what is around them in its buffer is junk."""
    values, rank = given.values, given.values.ndim
    if layout == "plain" or rank == 0:
        return upload(B, values, given, device)  # type: ignore[no-any-return]
    if layout == "transposed":
        tensor = upload(B, np.ascontiguousarray(values.T), given, device)
        return tensor.view(tensor.layout.permute(range(rank - 1, -1, -1)))  # type: ignore[no-any-return]
    if layout == "flipped":
        tensor = upload(B, np.ascontiguousarray(np.flip(values)), given, device)
        return tensor.view(tensor.layout.flip(range(rank)))  # type: ignore[no-any-return]
    if layout == "stepped":
        junk = float("nan") if given.dtype.is_float else 77
        shape = (values.shape[0] + 2, *values.shape[1:-1], 2 * values.shape[-1] + 3)[-rank:]
        window = [slice(None)] * (rank - 1) + [slice(3, 3 + 2 * values.shape[-1], 2)]
        slices = [Slice.full()] * (rank - 1) + [Slice(3, 3 + 2 * values.shape[-1], 2)]
        if rank > 1:
            window[0], slices[0] = slice(1, 1 + values.shape[0]), Slice(1, 1 + values.shape[0])
        base = np.full(shape, junk, values.dtype)
        base[tuple(window)] = values
        tensor = upload(B, base, given, device)
        return tensor.view(tensor.layout.slice(slices))  # type: ignore[no-any-return]
    assert layout == "expanded"
    axis = next((i for i, n in enumerate(given.shape) if n > 1), None)
    if axis is None or not given.free or values.size == 0:
        return upload(B, values, given, device)  # type: ignore[no-any-return]
    tensor = upload(B, np.ascontiguousarray(values.take([0], axis)), given, device)
    return tensor.view(tensor.layout.expand(values.shape))  # type: ignore[no-any-return]


def outcome(call: Call, b: Any, args: tuple[Any, ...], device: Any) -> Any:
    """The leaves of the result, tensors as host data; or the class of our error that came instead."""
    try:
        b.seed(device, SEED)
        result = call(b, args)
        return [read(b, leaf) if hasattr(leaf, "device") else leaf for leaf in leaves(result)]
    except BurnError as error:
        return type(error)


def referred(call: Call, args: tuple[Any, ...], backend: Any = REF) -> Any:
    """What the reference backend gives, or another one that uses its tensors."""

    def tensor(value: Any) -> Any:
        if isinstance(value, Given):
            return upload(REF, value.values, value, REF_DEVICE)
        return REF_DEVICE if value is DEVICE else value

    return outcome(call, backend, replaced(args, tensor), REF_DEVICE)


def performed(call: Call, args: tuple[Any, ...], layout: str, device: WgpuDevice) -> Any:
    layouts = turns(layout)

    def tensor(value: Any) -> Any:
        if isinstance(value, Given):
            return arranged(value, next(layouts), device)
        return device if value is DEVICE else value

    with warnings.catch_warnings():
        if any(a is F64 or getattr(a, "dtype", None) is F64 for a in leaves(args)):
            warnings.simplefilter("ignore", PrecisionWarning)  # its precision is what is compared
        return outcome(call, B, replaced(args, tensor), device)


def turns(layout: str) -> Iterator[str]:
    """The layout of each tensor argument in order: the same, or with "mixed" one after the other."""
    return cycle(SINGLE if layout == "mixed" else (layout,))


def arguments(call: Call, attempt: Try) -> tuple[Any, ...]:
    args = call.cases[attempt.case](Draw(attempt.seed + attempt.case, attempt.dtype, min(attempt.size, call.largest)))
    layouts = turns(attempt.layout)

    def fitted(value: Any) -> Any:
        return repeated(value) if isinstance(value, Given) and next(layouts) == "expanded" else value

    return replaced(args, fitted)  # type: ignore[no-any-return]


def faults(call: Call, attempt: Try, device: WgpuDevice) -> Iterator[str]:
    """What is wrong with one call, in words; nothing when it agrees with the reference twice."""
    args = arguments(call, attempt)
    got = performed(call, args, attempt.layout, device)
    again = performed(call, args, attempt.layout, device)
    want = referred(call, args)
    if isinstance(got, type) or isinstance(want, type):
        if got is not want:
            yield f"{attempt}: gives {_short(got)}, the reference {_short(want)}"
        return
    if _bits(got) != _bits(again):
        yield f"{attempt}: a second call gives other bits"
    if len(got) != len(want):
        yield f"{attempt}: {len(got)} results, the reference has {len(want)}"
        return
    exact = want if call.exact else referred(call, wide(args))
    flushes = not keeps_subnormals(device)
    absolute = referred(call, magnitudes(args)) if call.scale == "absolute" and not call.exact else [None] * len(want)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if not isinstance(g, TensorData):
            if g != w:
                yield f"{attempt}: result {i} is {g!r}, the reference has {w!r}"
            continue
        if (g.shape, g.dtype) != (w.shape, w.dtype):
            yield f"{attempt}: result {i} is {g.dtype} {list(g.shape)}, the reference has {w.dtype} {list(w.shape)}"
            continue
        values = g.numpy()
        if not w.dtype.is_float or call.exact:
            expected = w.numpy()
            bad = unlike(values, expected, flushes)
            if call.moves:
                bad |= (g.array != w.array) & ~_nan(values)
        else:
            expected = exact[i].numpy().astype(np.float64)
            scale = absolute[i]
            bad = far(call, args, w.dtype, values, expected, None if scale is None else scale.numpy(), flushes)
        if bad.any():
            at = tuple(int(n) for n in np.argwhere(bad)[0])
            yield (
                f"{attempt}: result {i} {list(g.shape)}: {int(bad.sum())} of {bad.size} differ; at {list(at)} "
                f"{values[at]!r}, expected {expected[at]!r}"
            )


def _nan(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _bits(result: Any) -> list[Any]:
    return [leaf.as_bytes() if isinstance(leaf, TensorData) else leaf for leaf in result]


def _short(result: Any) -> str:
    return result.__name__ if isinstance(result, type) else "a result"
