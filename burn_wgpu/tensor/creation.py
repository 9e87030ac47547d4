"""Tensors out of nothing, of host data, and of random numbers.

The dtype of given data never decides: without `dtype` the result has the device's default dtype of the data's kind
(float, int or bool). Bools always use the device's bool storage.
"""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Sequence
from math import ceil, isfinite, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_wgpu.device import Device, DTypeLike, Kind, default_device
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, I64, DType
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from burn_wgpu.std.layout import Shape
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import Core, Number, from_host, wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

DeviceLike: TypeAlias = "Device | str | None"
ShapeLike: TypeAlias = "int | Sequence[int]"

_ON_HOST = 512  # below this size an identity is made on the host

_KINDS: dict[object, Kind] = {
    float: "float", "float": "float", int: "int", "int": "int", bool: "bool", "bool": "bool",
}  # fmt: skip


def as_device(device: DeviceLike) -> Device:
    """The device, or the default one."""
    if type(device) is Device:
        return device
    return default_device() if device is None else Device(device)


def resolve(name: str, device: Device, dtype: DTypeLike | None, kind: Kind) -> tuple[Kind, DType]:
    """Kind and dtype of a new tensor. A dtype decides the kind; float, int and bool mean the device's default.

    Raises UnsupportedDType for a dtype that the device cannot store.
    """
    if dtype is None or (isinstance(dtype, (type, str)) and dtype in _KINDS):
        kind = kind if dtype is None else _KINDS[dtype]
        settings = device.settings
        return kind, {"float": settings.float_dtype, "int": settings.int_dtype, "bool": settings.bool_dtype}[kind]
    found = as_dtype(dtype)
    if found.is_bool:
        return "bool", device.settings.bool_dtype
    if found.kind == "qfloat":
        raise DTypeError(f"{name}: {found} is a quantized dtype; make a float tensor and call .quantize()")
    device.require(found, name)
    return ("float" if found.is_float else "int"), found


def host_data(name: str, data: object) -> tuple[TensorData, Kind]:
    """Anything that NumPy takes, a tensor, or a DLPack producer as host data, and its kind."""
    if isinstance(data, Core):
        data = data.to_data()  # type: ignore[attr-defined]  # every Core is a Tensor
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(data, torch.Tensor):
        data = torch_data(name, data)
    if (
        not isinstance(data, (TensorData, np.ndarray))
        and hasattr(data, "__dlpack__")
        and not hasattr(data, "__array__")
    ):
        data = np.from_dlpack(data)
    if not isinstance(data, TensorData):
        try:
            data = np.asarray(data)
        except (ValueError, TypeError) as error:
            raise ShapeError(f"{name}: the nested lists do not form a regular array ({error})") from None
        if data.dtype.kind == "O":
            raise DTypeError(
                f"{name}: the data is {_describe(data)}; it must be numbers or bools that a NumPy dtype can hold"
            )
    found = TensorData.of(data)
    kind: Kind = "bool" if found.dtype.is_bool else "int" if found.dtype.is_int else "float"
    return found, kind


def torch_data(name: str, value: Any) -> TensorData:
    """A PyTorch tensor's values, wherever it lives and whether or not it has a gradient."""
    torch: Any = sys.modules["torch"]  # whoever has a torch tensor has imported it
    try:
        host = value.detach().cpu().contiguous()
        if host.dtype == torch.bfloat16:
            return TensorData(host.view(torch.int16).numpy().view(np.uint16), BF16)
        return TensorData.of(host.numpy())
    except (RuntimeError, TypeError) as error:
        raise DTypeError(
            f"{name}: a torch tensor of {value.dtype} and layout {value.layout}; it must be dense, of numbers or bools "
            f"that NumPy has ({str(error).splitlines()[0]})"
        ) from None


def _describe(data: np.ndarray) -> str:
    for item in data.reshape(-1):
        if not isinstance(item, (builtins.int, builtins.float, np.generic)):
            return f"of type {type(item).__name__}"
        if isinstance(item, builtins.int) and not -(1 << 63) <= item < 1 << 64:
            return f"the int {item}, wider than 64 bits"
    return "of NumPy dtype object"


def make(name: str, data: object, device: DeviceLike, dtype: DTypeLike | None, kind: Kind | None = None) -> Tensor:
    """A tensor of host data."""
    where = as_device(device)
    found, natural = host_data(name, data)
    if found.dtype.kind == "qfloat":
        return _quantized(name, found, where, dtype)
    wanted, target = resolve(name, where, dtype, kind or natural)
    check.shape(name, found.shape)
    return from_host(name, found, where, wanted, target)


def _quantized(name: str, data: TensorData, device: Device, dtype: DTypeLike | None) -> Tensor:
    """A quantized tensor of a payload, dequantized where a float dtype is asked for."""
    device.require(data.dtype, name)
    check.shape(name, data.shape)
    made = from_host(name, data, device, "float", data.dtype)
    return made if dtype is None or dtype is data.dtype else made.cast(dtype)


class Creation:
    """Static methods of Tensor that make new tensors."""

    __slots__ = ()

    @staticmethod
    def from_data(data: object, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of TensorData, a NumPy array of any order and byte order, nested lists, a buffer or a number.

        Values are copied and converted to `dtype`, or to the device's default dtype of their kind. Raises
        ArgumentError for numbers that an int dtype cannot hold, UnsupportedDType for a dtype that the device lacks.
        """
        return make("from_data", data, device, dtype)

    @staticmethod
    def from_floats(data: object, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """A float tensor of any numbers; the device's default float dtype unless `dtype` is given."""
        return make("from_floats", data, device, dtype, "float")

    @staticmethod
    def from_ints(data: object, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """An int tensor of any numbers (floats are truncated); out of range is an ArgumentError."""
        return make("from_ints", data, device, dtype, "int")

    @staticmethod
    def from_bool(data: object, device: DeviceLike = None) -> Tensor:
        """A bool tensor; numbers are true unless 0."""
        return make("from_bool", data, device, bool)

    @staticmethod
    def empty(shape: ShapeLike, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """Undefined content; float unless dtype says otherwise."""
        return _filled("empty", shape, device, dtype, "float")

    @staticmethod
    def zeros(shape: ShapeLike, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """All 0 (false); float unless dtype says otherwise."""
        return _filled("zeros", shape, device, dtype, "float")

    @staticmethod
    def ones(shape: ShapeLike, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """All 1 (true); float unless dtype says otherwise."""
        return _filled("ones", shape, device, dtype, "float")

    @staticmethod
    def full(shape: ShapeLike, value: Number, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """One number everywhere. The kind is that of the number (True bool, 1 int, 1.0 float) unless dtype is given."""
        natural: Kind = (
            "bool" if isinstance(value, (bool, np.bool_))
            else "int" if isinstance(value, (int, np.integer))
            else "float"
        )  # fmt: skip
        where = as_device(device)
        kind, target = resolve("full", where, dtype, natural)
        return _full("full", check.shape("full", shape), value, where, kind, target)

    @staticmethod
    def random(
        shape: ShapeLike,
        distribution: Distribution | None = None,
        device: DeviceLike = None,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Numbers from the device's random stream (`Device.seed`); uniform in [0, 1) unless a distribution is given.

        Equal seeds give equal numbers on every device. An int dtype draws ints, see `Distribution`.
        """
        where = as_device(device)
        kind, target = resolve("random", where, dtype, "float")
        if kind == "bool":
            raise DTypeError("random: bool tensors are not drawn; draw with Distribution.bernoulli and call .bool()")
        ops = where.ops(kind)
        sizes = check.shape("random", shape)
        return wrap(ops.random(sizes, _distribution("random", distribution), ops.handle, target), ops)

    @staticmethod
    def rand(*shape: int | Sequence[int], device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """Uniform in [0, 1): `Tensor.rand(2, 3)` or `Tensor.rand((2, 3))`."""
        return Creation.random(check.integers("rand", shape), None, device, dtype)

    @staticmethod
    def randn(*shape: int | Sequence[int], device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """Normal with mean 0 and standard deviation 1: `Tensor.randn(2, 3)` or `Tensor.randn((2, 3))`."""
        return Creation.random(check.integers("randn", shape), Distribution.normal(0, 1), device, dtype)

    @staticmethod
    def arange(
        start: float | range,
        end: float | None = None,
        step: float = 1,
        device: DeviceLike = None,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """[ceil((end − start) / step)]: start, start + step, … before end, as ints; `arange(n)` starts at 0.

        A float dtype converts them. step may be negative, not 0. Where one of the three is a float, so is the result:
        start + i·step, computed in float64 and rounded once.
        """
        if isinstance(start, range):
            return Creation.arange(start.start, start.stop, start.step, device, dtype)
        if end is None:
            start, end = 0, start
        if any(isinstance(v, (float, np.floating)) for v in (start, end, step)):
            return _float_range(start, end, step, device, dtype)
        first, last, by = check.integers("arange", (start, end, step), "start, end, step")
        if by == 0:
            raise ArgumentError(f"arange: the step from {first} to {last} is 0; it must not be 0")
        where = as_device(device)
        kind, target = resolve("arange", where, dtype, "int")
        ops = where.ops("int")
        ints = target if kind == "int" else where.settings.int_dtype
        count = max(0, ceil((last - first) / by))
        if count:
            ends = np.asarray(sorted((first, first + (count - 1) * by)), dtype=object)
            _fits(ends, ints)
        result = wrap(ops.arange_step(first, last, by, ops.handle, ints), ops)
        return result if kind == "int" else result.cast(target)

    @staticmethod
    def arange_step(
        start: int, end: int, step: int, device: DeviceLike = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """`arange` with a step."""
        return Creation.arange(start, end, step, device, dtype)

    @staticmethod
    def eye(size: int, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """[size, size]: 1 on the diagonal, 0 elsewhere."""
        where = as_device(device)
        kind, target = resolve("eye", where, dtype, "float")
        n = check.integer("eye", size, "size")
        check.shape("eye", n)
        room("eye", (n, n), where, target)
        if n < _ON_HOST:
            return make("eye", np.eye(n, dtype=np.uint8), where, target, kind)
        count = Creation.arange(n, device=where)
        return count.unsqueeze_dim(1).equal(count).cast("bool" if kind == "bool" else target)

    @staticmethod
    def cartesian_grid(shape: ShapeLike, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """[*shape, rank]: every element holds its own coordinates, as ints."""
        sizes = check.shape("cartesian_grid", shape)
        room("cartesian_grid", (*sizes, len(sizes)), as_device(device), I64)
        grid = np.stack(np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij"), -1) if sizes else np.zeros(0)
        return make("cartesian_grid", grid, device, dtype, "int")

    @staticmethod
    def triu_mask(shape: ShapeLike, offset: int = 0, device: DeviceLike = None) -> Tensor:
        """False on and above diagonal `offset` of the last two axes, true elsewhere: made for mask_fill."""
        return _mask("triu_mask", shape, offset, device, operator.lt)

    @staticmethod
    def tril_mask(shape: ShapeLike, offset: int = 0, device: DeviceLike = None) -> Tensor:
        """False on and below diagonal `offset` of the last two axes, true elsewhere: made for mask_fill."""
        return _mask("tril_mask", shape, offset, device, operator.gt)

    @staticmethod
    def diag_mask(shape: ShapeLike, offset: int = 0, device: DeviceLike = None) -> Tensor:
        """False on diagonal `offset` of the last two axes, true elsewhere: made for mask_fill."""
        return _mask("diag_mask", shape, offset, device, operator.ne)

    # ------------------------------------------------------------------------------------ like another tensor

    def empty_like(self: Tensor) -> Tensor:
        """Undefined content; shape, dtype and device of self."""
        return _like("empty_like", self, "empty")

    def zeros_like(self: Tensor) -> Tensor:
        """All 0; shape, dtype and device of self."""
        return _like("zeros_like", self, "zeros")

    def ones_like(self: Tensor) -> Tensor:
        """All 1; shape, dtype and device of self."""
        return _like("ones_like", self, "ones")

    def full_like(self: Tensor, value: Number) -> Tensor:
        """One number everywhere; shape, dtype and device of self."""
        _no_quantized("full_like", self)
        return _full("full_like", self.shape, value, self.device, self.kind, self.dtype)

    def random_like(self: Tensor, distribution: Distribution | None = None) -> Tensor:
        """Random numbers; shape, dtype and device of self."""
        _no_quantized("random_like", self)
        ops = self._ops
        return wrap(ops.random(self.shape, _distribution("random_like", distribution), ops.handle, self.dtype), ops)


def tensor(data: object, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of an array, nested lists, a buffer or a number; see `Tensor.from_data`."""
    return make("tensor", data, device, dtype)


def _filled(name: str, shape: ShapeLike, device: DeviceLike, dtype: DTypeLike | None, kind: Kind) -> Tensor:
    where = as_device(device)
    kind, target = resolve(name, where, dtype, kind)
    ops = where.ops(kind)
    return wrap(getattr(ops, name)(check.shape(name, shape), ops.handle, target), ops)


def room(name: str, shape: Shape, device: Device, dtype: DType) -> None:
    """Raises UnsupportedError when a tensor is too large for the device, before anything is made on the host."""
    if prod(shape) * dtype.size_bytes >= _LARGE:
        ops = device.ops("float" if dtype.is_float else "int" if dtype.is_int else "bool")
        if device.type == "cpu":
            raise ArgumentError(
                f"{name}: shape {list(shape)} of {dtype} needs {prod(shape) * dtype.size_bytes} bytes; "
                f"the reference makes tensors of less than {_LARGE} bytes"
            )
        try:
            ops.empty(shape, ops.handle, dtype)  # lets the device say what it thinks of the size
        except UnsupportedError as error:
            raise UnsupportedError(f"{name}: {str(error).removeprefix('empty: ')}") from None


_LARGE = 1 << 31


def _full(name: str, shape: Shape, value: Any, device: Device, kind: Kind, dtype: DType) -> Tensor:
    ops = device.ops(kind)
    value = check.fill(name, value, dtype)
    if kind == "bool":
        return wrap((ops.ones if value else ops.zeros)(shape, ops.handle, dtype), ops)
    return wrap(ops.full(shape, value, ops.handle, dtype), ops)


def _float_range(start: Any, end: Any, step: Any, device: DeviceLike, dtype: DTypeLike | None) -> Tensor:
    first, last, by = (float(check.number("arange", v)) for v in (start, end, step))
    if by == 0 or not all(isfinite(v) for v in (first, last, by)):
        raise ArgumentError(f"arange: {first} to {last} by {by}; they must be finite, and the step must not be 0")
    where = as_device(device)
    kind, target = resolve("arange", where, dtype, "float")
    count = max(0, ceil((last - first) / by))
    room("arange", (count,), where, target)
    return make("arange", first + np.arange(count) * by, where, target, kind)


def _distribution(name: str, value: object) -> Distribution:
    if value is None:
        return Distribution.default()
    if not isinstance(value, Distribution):
        raise DTypeError(
            f"{name}: the distribution is {value!r}; it must be a Distribution, such as Distribution.uniform(0, 1)"
        )
    return value


def _like(name: str, tensor: Tensor, make_name: str) -> Tensor:
    _no_quantized(name, tensor)
    ops = tensor._ops
    return wrap(getattr(ops, make_name)(tensor.shape, ops.handle, tensor.dtype), ops)


def _no_quantized(name: str, tensor: Tensor) -> None:
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensor is quantized ({tensor.dtype}); call .dequantize() first")


def _mask(name: str, shape: ShapeLike, offset: int, device: DeviceLike, rule: Any) -> Tensor:
    sizes = check.shape(name, shape)
    check.rank(name, sizes, 2, "the mask")
    offset = check.integer(name, offset, "offset")
    where = as_device(device)
    room(name, sizes[-2:], where, where.settings.bool_dtype)
    rows, columns = np.ogrid[: sizes[-2], : sizes[-1]]
    mask = make(name, rule(columns - rows, offset), where, bool)
    return mask if len(sizes) == 2 else mask.expand(sizes)


def _fits(values: np.ndarray, target: DType) -> None:
    info = np.iinfo(target.numpy)
    for value in values:
        if not info.min <= value <= info.max:
            raise ArgumentError(f"arange: the value {value} does not fit into {target} ({info.min} .. {info.max})")
