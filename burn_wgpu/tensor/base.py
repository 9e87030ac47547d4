"""Methods of every kind of tensor: shape, movement, comparison, reading, conversion between kinds."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_wgpu.device import Device, DTypeLike
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.std.layout import MAX_RANK, Shape
from burn_wgpu.std.slice import Slice
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import (
    Operand,
    as_mask,
    as_tensor,
    broadcast,
    compare,
    from_host,
    meet,
    method,
    operand,
    rebind,
    wrap,
    wrap_kind,
)
from burn_wgpu.tensor.creation import _KINDS, as_device

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


MaskLike: TypeAlias = "Tensor | np.ndarray[Any, Any] | Sequence[Any]"


class ZeroDimPlaceholders(tuple[int, ...]):
    """A shape for reshape in which 0 copies the size of the same axis, as in ONNX: `ZeroDimPlaceholders((0, -1))`."""

    def filled(self, shape: Shape) -> tuple[int, ...]:
        """The sizes with every 0 replaced."""
        if any(n == 0 and i >= len(shape) for i, n in enumerate(self)):
            raise ShapeError(f"reshape: {list(self)} has a 0 at an axis that {list(shape)} does not have")
        return tuple(shape[i] if n == 0 else n for i, n in enumerate(self))


class Base:
    """What float, int and bool tensors have in common."""

    __slots__ = ()

    # -------------------------------------------------------------------------------------------- metadata

    def dims(self: Tensor) -> Shape:
        """The shape."""
        return self.primitive.shape

    @property
    def size(self: Tensor) -> int:
        """The number of elements."""
        return prod(self.primitive.shape)

    def num_elements(self: Tensor) -> int:
        """The number of elements."""
        return prod(self.primitive.shape)

    def can_mut(self: Tensor) -> bool:
        """Whether an operation may write into this tensor's memory: False, since every operation makes a new tensor."""
        return False

    def inplace(self: Tensor, function: Callable[[Tensor], Tensor]) -> None:
        """self becomes function(self): only this name sees the new value."""
        rebind(self, function(self.extract()))

    def extract(self: Tensor) -> Tensor:
        """The tensor, taken out; self is left with shape [0, 0, …]."""
        taken = wrap(self.primitive, self._ops)
        ops = self._ops
        rebind(self, wrap(ops.empty((0,) * len(taken.shape), ops.handle, taken.dtype), ops))
        return taken

    def to_device(self: Tensor, device: Device | str) -> Tensor:
        """The same values on another device; between different backends they travel through the host."""
        target = as_device(device)
        if target is self.device:
            return self
        ops = target.ops(self.kind)
        if target.backend is self.device.backend:
            return wrap_kind(self._ops.to_device(self.primitive, target.handle), ops)
        data = self.to_data()
        dtype = ops.bool_dtype if self.kind == "bool" else data.dtype
        target.require(dtype, "to_device")
        return from_host("to_device", data, target, self.kind, dtype)

    def to(self: Tensor, target: Device | DTypeLike, dtype: DTypeLike | None = None) -> Tensor:
        """On another device, as another dtype, or both: `t.to("cpu")`, `t.to("f16")`, `t.to(device, "f16")`."""
        if isinstance(target, str) and target.partition(":")[0] in ("cpu", "wgpu") or isinstance(target, Device):
            moved = self.to_device(target)
            return moved if dtype is None else moved.cast(dtype)
        if dtype is not None:
            raise ArgumentError(f"to: {target!r} is no device; give a device and a dtype, or one of them")
        try:
            return self.cast(target)
        except DTypeError as error:
            if isinstance(target, str) and not self.is_quantized:
                raise DTypeError(
                    f"to: {target!r} is neither a device, such as 'wgpu:0' or 'cpu', nor a dtype, such as 'f16'"
                ) from error
            raise

    def cpu(self: Tensor) -> Tensor:
        """The same values on the NumPy reference. (`numpy()` gives an array.)"""
        return self.to_device("cpu")

    # ------------------------------------------------------------------------------------------------ shape

    def reshape(self: Tensor, *shape: int | Sequence[int]) -> Tensor:
        """The same elements in row-major order under another shape. One −1 is inferred; 0 is an empty axis.

        In `ZeroDimPlaceholders(sizes)` a 0 stands for the size of the same axis of self.
        """
        ops, p = self._ops, self.primitive
        if len(shape) == 1 and isinstance(shape[0], ZeroDimPlaceholders):
            return self.reshape(shape[0].filled(p.shape))
        return wrap(ops.reshape(p, check.reshape(p.shape, check.integers("reshape", shape))), ops)

    def view(self: Tensor, *shape: int | Sequence[int]) -> Tensor:
        """`reshape`, as PyTorch calls it."""
        return self.reshape(*shape)

    def transpose(self: Tensor, *axes: Sequence[int] | None) -> Tensor:
        """The last two axes exchanged. A list of all axes permutes them, and None reverses them, as NumPy's does.

        Raises ArgumentError for two ints, which NumPy and PyTorch read differently.
        """
        if axes:
            return _transpose(self, axes)
        check.rank("transpose", self.shape, 2)
        return wrap(self._ops.transpose(self.primitive), self._ops)

    def t(self: Tensor) -> Tensor:
        """The last two axes exchanged."""
        return self.transpose()

    @property
    def T(self: Tensor) -> Tensor:
        """All axes in reverse order, as NumPy does."""
        return self.permute(tuple(range(self.rank))[::-1])

    @property
    def mT(self: Tensor) -> Tensor:
        """The last two axes exchanged."""
        return self.transpose()

    def swap_dims(self: Tensor, dim1: int, dim2: int) -> Tensor:
        """Two axes exchanged."""
        rank = self.rank
        first, second = check.dim("swap_dims", dim1, rank), check.dim("swap_dims", dim2, rank)
        return self if first == second else wrap(self._ops.swap_dims(self.primitive, first, second), self._ops)

    def permute(self: Tensor, *axes: int | Sequence[int]) -> Tensor:
        """Axis i of the result is axis axes[i] of self."""
        wanted = check.dims("permute", check.integers("permute", axes, "axes"), self.rank, "axis")
        if len(wanted) != self.rank:
            raise ShapeError(
                f"permute: axes {list(wanted)} for shape {list(self.shape)}; all {self.rank} axes must be listed"
            )
        if wanted == tuple(range(self.rank)):
            return self
        return wrap(self._ops.permute(self.primitive, wanted), self._ops)

    def movedim(self: Tensor, src: int | Sequence[int], dst: int | Sequence[int]) -> Tensor:
        """Axes moved from the positions src to dst; the others keep their order."""
        source = check.dims("movedim", src, self.rank, "src")
        target = check.dims("movedim", dst, self.rank, "dst")
        if len(source) != len(target):
            raise ShapeError(f"movedim: src {list(source)} and dst {list(target)} must be of equal length")
        rest = iter(axis for axis in range(self.rank) if axis not in source)
        placed = dict(zip(target, source, strict=True))
        return self.permute([placed[i] if i in placed else next(rest) for i in range(self.rank)])

    def flip(self: Tensor, *axes: int | Sequence[int]) -> Tensor:
        """The listed axes backwards."""
        wanted = check.dims("flip", check.integers("flip", axes, "axes"), self.rank, "axis")
        return wrap(self._ops.flip(self.primitive, wanted), self._ops) if wanted else self

    def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The axes start_dim … end_dim (inclusive) merged into one; rank 0 becomes [1]."""
        shape = self.shape
        rank = max(1, len(shape))
        start, end = check.dim("flatten", start_dim, rank), check.dim("flatten", end_dim, rank)
        if start > end:
            raise ShapeError(f"flatten: start_dim is {start} and end_dim {end}; the start must not be after the end")
        return self.reshape((*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))

    def squeeze(
        self: Tensor, dim: int | Sequence[int] | None = None, *, axis: int | Sequence[int] | None = None
    ) -> Tensor:
        """Without its axes of size 1, or without the listed ones. axis is NumPy's name for dim."""
        dim, _ = numpy_way("squeeze", dim, False, axis, None, None)
        if dim is not None:
            axes = check.integers("squeeze", (dim,), "dim")
            return _squeeze("squeeze", self, tuple({check.dim("squeeze", d, self.rank) for d in axes}))
        return self.reshape(tuple(n for n in self.shape if n != 1))

    def squeeze_dim(self: Tensor, dim: int) -> Tensor:
        """Without the axis, whose size must be 1."""
        return _squeeze("squeeze_dim", self, (check.dim("squeeze_dim", dim, self.rank),))

    def squeeze_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """Without the listed axes, whose sizes must be 1; an empty list removes every axis of size 1."""
        dims = check.integers("squeeze_dims", (dims,), "dims")
        if not dims:
            return self.squeeze()
        return _squeeze("squeeze_dims", self, tuple({check.dim("squeeze_dims", d, self.rank) for d in dims}))

    def unsqueeze(self: Tensor, dim_or_rank: int | None = None, *, rank: int | None = None) -> Tensor:
        """A new axis of size 1 at position 0 or `dim`; with `rank`, as many leading axes as give that rank."""
        if rank is not None:
            rank = check.integer("unsqueeze", rank, "rank")
            if rank < self.rank:
                raise ShapeError(f"unsqueeze: shape {list(self.shape)} to rank {rank}; the rank must not get smaller")
            return self.reshape((1,) * (rank - self.rank) + self.shape)
        return self.unsqueeze_dim(0 if dim_or_rank is None else dim_or_rank)

    def unsqueeze_dim(self: Tensor, dim: int) -> Tensor:
        """A new axis of size 1 at position dim of the result (negatives count from its end)."""
        at = check.dim("unsqueeze_dim", dim, self.rank + 1)
        return self.reshape((*self.shape[:at], 1, *self.shape[at:]))

    def unsqueeze_dims(self: Tensor, axes: Sequence[int]) -> Tensor:
        """New axes of size 1 at these positions of the result; a position listed twice gets two axes in a row.

        Negatives count from the end, each in what the ones before it leave: [-1, -1] are the last two axes.
        """
        axes = check.integers("unsqueeze_dims", (axes,), "axes")
        new = left = self.rank + len(axes)
        wanted: list[int] = []
        for axis in axes:
            check.dim("unsqueeze_dims", axis, new, "axis")
            wanted.append(axis if axis >= 0 else axis + left)
            left -= axis < 0
        positions: list[int] = []
        for at in sorted(wanted):
            positions.append(at if not positions or at > positions[-1] else positions[-1] + 1)
        if positions and (positions[0] < 0 or positions[-1] >= new):
            raise ShapeError(f"unsqueeze_dims: axes {list(axes)} do not fit into the result's rank {new}")
        rest = iter(self.shape)
        return self.reshape(tuple(1 if i in positions else next(rest) for i in range(new)))

    def expand(self: Tensor, *shape: int | Sequence[int]) -> Tensor:
        """Axes of size 1 grow to the sizes in shape, without a copy; −1 keeps an axis, new axes are leading."""
        target = check.expand(self.shape, check.integers("expand", shape))
        return self if target == self.shape else wrap(self._ops.expand(self.primitive, target), self._ops)

    def broadcast_to(self: Tensor, *shape: int | Sequence[int]) -> Tensor:
        """`expand`, as NumPy calls it."""
        return self.expand(*shape)

    def repeat_dim(self: Tensor, dim: int, times: int) -> Tensor:
        """Tiled along an axis: a b a b …; times = 0 gives an empty axis."""
        axis, times = check.dim("repeat_dim", dim, self.rank), check.integer("repeat_dim", times, "times")
        if times < 0:
            raise ArgumentError(f"repeat_dim: times is {times}; it must not be negative")
        if times == 1:
            return self
        shape = check.shape("repeat_dim", (*self.shape[:axis], self.shape[axis] * times, *self.shape[axis + 1 :]))
        if times == 0:
            return wrap(self._ops.empty(shape, self._ops.handle, self.dtype), self._ops)
        return wrap(self._ops.repeat_dim(self.primitive, axis, times), self._ops)

    def repeat(self: Tensor, *sizes: int | Sequence[int]) -> Tensor:
        """Tiled along every axis; one number per axis."""
        wanted = check.integers("repeat", sizes, "sizes")
        if len(wanted) != self.rank:
            raise ShapeError(
                f"repeat: sizes {list(wanted)} for shape {list(self.shape)}; there must be one number per axis"
            )
        result = self
        repeated = sum(times > 1 for times in wanted)
        if repeated > 1 and min(wanted) > 0 and self.rank + repeated <= MAX_RANK and not self.is_quantized:
            # One copy: a repeated axis is an expanded one before it, and the two are merged.
            shape = check.shape("repeat", tuple(n * times for n, times in zip(self.shape, wanted, strict=True)))
            pairs = [(times, n) if times > 1 else (n,) for n, times in zip(self.shape, wanted, strict=True)]
            apart = self.reshape([m for pair in pairs for m in ((1, *pair[1:]) if len(pair) > 1 else pair)])
            return apart.expand([m for pair in pairs for m in pair]).reshape(shape)
        for axis, times in enumerate(wanted):
            result = result.repeat_dim(axis, times)
        return result

    def roll_dim(self: Tensor, shift: int, dim: int) -> Tensor:
        """Element i moves to (i + shift) mod size."""
        return _roll(self, check.integer("roll_dim", shift, "shift"), check.dim("roll_dim", dim, self.rank))

    def roll(self: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int]) -> Tensor:
        """`roll_dim` along several axes; an axis listed twice is rolled twice."""
        by = check.integers("roll", (shifts,), "shifts")
        axes = [check.dim("roll", dim, self.rank) for dim in check.integers("roll", (dims,), "dims")]
        if len(by) != len(axes):
            raise ShapeError(f"roll: shifts {list(by)} and dims {list(axes)} must be of equal length")
        result = self
        for shift, axis in zip(by, axes, strict=True):
            result = _roll(result, shift, axis)
        return result

    def unfold(self: Tensor, dim: int, size: int, step: int) -> Tensor:
        """Windows of `size` elements every `step` in place of dim; their elements are a new last axis."""
        axis = check.dim("unfold", dim, self.rank)
        width, by = check.positive("unfold", size, "size"), check.positive("unfold", step, "step")
        if width > self.shape[axis]:
            raise ShapeError(
                f"unfold: windows of size {width} along axis {axis} of shape {list(self.shape)}; "
                f"a window must not be larger than the axis"
            )
        check.new_rank("unfold", self.rank + 1)
        return wrap(self._ops.unfold(self.primitive, axis, width, by), self._ops)

    def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
        """The elements start … start + length − 1 of an axis; a view."""
        axis = check.dim("narrow", dim, self.rank)
        start, length = check.integer("narrow", start, "start"), check.integer("narrow", length, "length")
        size = self.shape[axis]
        if length < 1 or start < 0 or start + length > size:
            raise ArgumentError(
                f"narrow: start {start} and length {length} on axis {axis} of size {size}; "
                f"the range must lie inside the axis and hold at least one element"
            )
        return self.slice_dim(axis, Slice(start, start + length))

    def chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
        """Pieces of size ceil(size / chunks): at most `chunks`, the last one may be smaller."""
        axis = check.dim("chunk", dim, self.rank)
        chunks = check.positive("chunk", chunks, "chunks")
        return self.split(max(1, -(-self.shape[axis] // chunks)), axis)

    def split(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> list[Tensor]:
        """Pieces of split_size along an axis, the last one may be smaller; a list gives every piece's size."""
        if check.listed(split_size):
            return _pieces("split", self, split_size, dim)
        split_size = check.integer("split", split_size, "split_size")
        axis = check.dim("split", dim, self.rank)
        size = self.shape[axis]
        if split_size < 1 and not (split_size == 0 and size == 0):
            raise ArgumentError(f"split: split_size is {split_size} for an axis of size {size}; it must be at least 1")
        if size == 0:
            return [self]
        return [self.slice_dim(axis, Slice(at, min(at + split_size, size))) for at in range(0, size, split_size)]

    def split_with_sizes(self: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
        """Pieces of these sizes, which add up to the axis; sizes of 0 give no piece."""
        return _pieces("split_with_sizes", self, sizes, dim)

    def iter_dim(self: Tensor, dim: int) -> Sequence[Tensor]:
        """The slices of size 1 along an axis, which is kept."""
        axis = check.dim("iter_dim", dim, self.rank)
        return [self.slice_dim(axis, Slice(i, i + 1)) for i in range(self.shape[axis])]

    @staticmethod
    def cat(tensors: Iterable[Tensor | np.ndarray], dim: int = 0) -> Tensor:
        """The tensors one after another along an axis; all other axes are equal. Arrays beside tensors are taken."""
        return cat(tensors, dim)

    @staticmethod
    def stack(tensors: Iterable[Tensor | np.ndarray], dim: int = 0) -> Tensor:
        """Tensors of one shape along a new axis at position dim. Arrays beside tensors are taken."""
        return stack(tensors, dim)

    # ------------------------------------------------------------------------------------------- comparison

    def equal(self: Tensor, other: Operand) -> Tensor:
        """self == other, a bool tensor; NaN equals nothing."""
        return method(compare(self, other, "equal", "equal_elem"), "equal", other)

    def not_equal(self: Tensor, other: Operand) -> Tensor:
        """self != other, a bool tensor."""
        return method(compare(self, other, "not_equal", "not_equal_elem"), "not_equal", other)

    equal_scalar = equal_elem = equal
    not_equal_scalar = not_equal_elem = not_equal

    def __eq__(self: Tensor, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as NumPy's
        return compare(self, other, "equal", "equal_elem")  # type: ignore[arg-type]

    def __ne__(self: Tensor, other: object) -> Tensor:  # type: ignore[override]
        return compare(self, other, "not_equal", "not_equal_elem")  # type: ignore[arg-type]

    def __hash__(self: Tensor) -> int:
        return id(self)

    def any(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        axis: int | Sequence[int] | None = None,
        keepdims: bool | None = None,
        out: None = None,
    ) -> Tensor:
        """Whether an element is not 0, of all ([1]) or along an axis, which goes unless keepdim; false of none."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("any", dim, keepdim, axis, keepdims, out)
        return _logic(self, "any", dim, keepdim)

    def all(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        axis: int | Sequence[int] | None = None,
        keepdims: bool | None = None,
        out: None = None,
    ) -> Tensor:
        """Whether no element is 0, of all ([1]) or along an axis, which goes unless keepdim; true of none."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("all", dim, keepdim, axis, keepdims, out)
        return _logic(self, "all", dim, keepdim)

    def any_dim(self: Tensor, dim: int) -> Tensor:
        """Whether an element along an axis is not 0; the axis is kept with size 1."""
        return _logic(self, "any", dim, True)

    def all_dim(self: Tensor, dim: int) -> Tensor:
        """Whether no element along an axis is 0; the axis is kept with size 1."""
        return _logic(self, "all", dim, True)

    # ------------------------------------------------------------------------------------ masks and choices

    def mask_where(self: Tensor, mask: MaskLike, value: Operand) -> Tensor:
        """value where the mask is true, else self; the three broadcast together."""
        mask = as_mask("mask_where", mask, self)
        self, value = meet(self, as_tensor("mask_where", value, self, "the value"))
        check.operands("mask_where", self, value)
        a, b, c = _together("mask_where", self, mask, value)
        return wrap(self._ops.mask_where(a, b, c), self._ops)

    def mask_fill(self: Tensor, mask: MaskLike, value: float | int | bool) -> Tensor:
        """The number where the mask is true, else self; they broadcast together."""
        mask = as_mask("mask_fill", mask, self)
        a, b = broadcast("mask_fill", self, mask)
        if hasattr(value, "shape") and not isinstance(value, np.generic):
            raise DTypeError(f"mask_fill: the value is {type(value).__name__}; it must be a number (see mask_where)")
        return wrap(self._ops.mask_fill(a, b, check.fill("mask_fill", value, self.dtype)), self._ops)

    def mask_select(self: Tensor, mask: MaskLike) -> Tensor:
        """[count]: the elements where the mask is true, row-major; they broadcast together. Waits for the device."""
        mask = as_mask("mask_select", mask, self)
        shape = check.broadcast("mask_select", self.shape, mask.shape)
        here, there = self.expand(shape), mask.expand(shape)
        return wrap(self._ops.mask_select(here.primitive, there.primitive), self._ops)

    async def mask_select_async(self: Tensor, mask: MaskLike) -> Tensor:
        """`mask_select`, with the wait in a thread."""
        import asyncio

        return await asyncio.to_thread(self.mask_select, mask)

    # ---------------------------------------------------------------------------------------------- kinds

    def cast(self: Tensor, dtype: DTypeLike) -> Tensor:
        """As another dtype, of any kind; float, int and bool mean the device's default dtypes.

        float → int truncates and saturates, NaN gives 0; int → narrower int keeps the low bits; any number → bool is
        `!= 0`. Raises UnsupportedDType for what the device cannot store.
        """
        device = self.device
        if self._ops.quantized:
            return self.dequantize().cast(dtype)
        if not isinstance(dtype, (type, str)) or dtype not in _KINDS:
            target = as_dtype(dtype)
            if target is self.dtype:
                return self
            kind = "bool" if target.is_bool else "int" if target.is_int else "float"
            if kind != "bool" and target not in (device.settings.float_dtype, device.settings.int_dtype):
                device.require(target, "cast")
        else:
            kind = _KINDS[dtype]
            target = device.settings.float_dtype if kind == "float" else device.settings.int_dtype
        ops = self._ops
        if kind == "bool":
            if self.kind == "bool":
                return self
            return wrap(ops.not_equal_elem(self.primitive, 0, ops.bool_dtype), ops.of("bool"))
        if target is self.dtype:
            return self
        if kind == self.kind:
            return wrap(ops.cast(self.primitive, target), ops)
        into = ops.into_float if kind == "float" else ops.into_int
        return wrap(into(self.primitive, target), ops.of("float" if kind == "float" else "int"))

    def astype(self: Tensor, dtype: DTypeLike) -> Tensor:
        """`cast`, as NumPy calls it."""
        return self.cast(dtype)

    # --------------------------------------------------------------------------------------------- reading

    def to_data(self: Tensor) -> TensorData:
        """The elements on the host, row-major. Waits for the device."""
        return self._ops.into_data(self.primitive)  # type: ignore[no-any-return]

    def into_data(self: Tensor) -> TensorData:
        """The elements on the host, row-major. Waits for the device."""
        return self.to_data()

    async def to_data_async(self: Tensor) -> TensorData:
        """The elements on the host; the wait runs in a thread, so that an event loop goes on."""
        import asyncio

        return await asyncio.to_thread(self.to_data)

    def to_data_dtype(self: Tensor, dtype: DTypeLike) -> TensorData:
        """The elements on the host, converted there. Raises ArgumentError for what an int dtype cannot hold."""
        data, target = self.to_data(), as_dtype(dtype)
        if target.is_int:
            check.fits("to_data_dtype", data, target)
        return data.convert(target)

    into_data_async = to_data_async
    to_data_as = into_data_as = into_data_dtype = to_data_dtype

    # Where Burn returns a result or an error, a call returns or raises: the two names are one function.
    try_to_data, try_into_data = to_data, into_data
    try_to_data_as = try_into_data_as = try_to_data_dtype = try_into_data_dtype = to_data_dtype

    def try_to_vec_as(self: Tensor, dtype: DTypeLike) -> list[Any]:
        """A flat list of Python numbers, row-major, converted to the dtype first; errors as `to_data_dtype`."""
        return self.to_data_dtype(dtype).to_vec()

    try_into_vec_as = try_to_vec_as

    def _host(self: Tensor) -> np.ndarray:
        """The values; of a quantized tensor what its codes stand for."""
        return self.dequantize().to_data().numpy()

    def numpy(self: Tensor) -> np.ndarray:
        """A NumPy array of the values, a copy of its own: bf16 as float32, bools as bool. Waits for the device."""
        return np.array(self._host())

    def tolist(self: Tensor) -> Any:
        """Nested lists of Python numbers."""
        return self._host().tolist()

    def to_vec(self: Tensor) -> list[Any]:
        """A flat list of Python numbers, row-major."""
        return self._host().reshape(-1).tolist()  # type: ignore[no-any-return]

    def item(self: Tensor) -> Any:
        """The Python number of a tensor of one element, of any rank. Waits for the device."""
        if self.size != 1:
            raise ShapeError(f"item: shape {list(self.shape)} has {self.size} elements; it must have exactly one")
        return self._host().reshape(-1)[0].item()

    def into_scalar(self: Tensor) -> Any:
        """`item`."""
        return self.item()

    async def into_scalar_async(self: Tensor) -> Any:
        """`item`, with the wait in a thread."""
        import asyncio

        return await asyncio.to_thread(self.item)

    try_into_scalar, try_into_scalar_async = into_scalar, into_scalar_async

    def __bool__(self: Tensor) -> bool:
        if self.size != 1:
            raise ShapeError(
                f"bool: shape {list(self.shape)} has {self.size} elements, whose truth is ambiguous; "
                f"use .any() or .all()"
            )
        return bool(self.item())

    def __float__(self: Tensor) -> float:
        return float(self.item())

    def __int__(self: Tensor) -> int:
        value = self.item()
        if value != value or value in (float("inf"), float("-inf")):
            raise ArgumentError(f"int: the value is {value}, which no int can be")
        return int(value)

    def __index__(self: Tensor) -> int:
        if self.kind != "int":
            raise DTypeError(f"index: a tensor of kind {self.kind} ({self.dtype}); only an int tensor can be an index")
        return int(self.item())

    def __len__(self: Tensor) -> int:
        if not self.shape:
            raise DTypeError("len: a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self: Tensor) -> Iterator[Tensor]:
        if not self.shape:
            raise DTypeError("iter: a tensor of rank 0 cannot be iterated over")
        return (self.select_dim(0, i) for i in range(self.shape[0]))

    def __reversed__(self: Tensor) -> Iterator[Tensor]:
        return (self.select_dim(0, i) for i in reversed(range(len(self))))

    def __contains__(self: Tensor, value: Operand) -> bool:
        return bool(self.equal(value).any().item())


# ------------------------------------------------------------------------------------------------- functions


def cat(tensors: Iterable[Tensor | np.ndarray], dim: int = 0) -> Tensor:
    """The tensors one after another along an axis; all other axes are equal. Empty ones are dropped.

    Arrays become tensors of the dtype of the first tensor, of which there must be one.
    """
    return _cat(_tensors("cat", tensors), dim)


def _tensors(name: str, values: Iterable[object]) -> list[Tensor]:
    if not check.listed(values):
        raise DTypeError(f"{name}: the tensors are of type {type(values).__name__}; they must be a list of tensors")
    found: list[Any] = list(values)
    check.not_empty(name, found)
    if all(isinstance(t, Base) for t in found):
        return found
    first = next((t for t in found if isinstance(t, Base)), None)
    for i, value in enumerate(found):
        if isinstance(value, Base):
            continue
        if first is None or not isinstance(value, np.ndarray):
            raise DTypeError(
                f"{name}: element {i} is of type {type(value).__name__}; the list must hold tensors, "
                f"or arrays and at least one tensor. Make one with Tensor(data)"
            )
        found[i] = as_tensor(name, value, first, f"element {i}")  # type: ignore[arg-type]  # every Base is a Tensor
    return found


def _cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    first = tensors[0]
    axis = check.dim("cat", dim, first.rank)
    for i, other in enumerate(tensors):
        if other is first:
            continue
        check.operands("cat", first, other)
        rest, wanted = list(other.shape), list(first.shape)
        if len(rest) != len(wanted) or rest[:axis] + rest[axis + 1 :] != wanted[:axis] + wanted[axis + 1 :]:
            raise ShapeError(
                f"cat: tensor 0 has shape {wanted} and tensor {i} {rest}; they must be equal but for axis {axis}"
            )
    parts = [t.primitive for t in tensors if t.shape[axis]]
    if not parts:
        return first
    return wrap(first._ops.cat(parts, axis) if len(parts) > 1 else parts[0], first._ops)


def stack(tensors: Iterable[Tensor | np.ndarray], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new axis at position dim."""
    tensors = _tensors("stack", tensors)
    first = tensors[0]
    axis = check.dim("stack", dim, first.rank + 1)
    for i, other in enumerate(tensors):
        if other.shape != first.shape:
            raise ShapeError(
                f"stack: tensor 0 has shape {list(first.shape)} and tensor {i} {list(other.shape)}; they must be equal"
            )
    check.new_rank("stack", first.rank + 1)
    return _cat([t.unsqueeze_dim(axis) for t in tensors], axis)


def where(condition: MaskLike, x: Operand, y: Operand) -> Tensor:
    """x where the condition is true, else y; the three broadcast together. At least one of x and y is a tensor.

    The condition may be an array of bools, and the other choice a number or an array, which takes the tensor's dtype.
    """
    like: Any = x if isinstance(x, Base) else y
    if not isinstance(like, Base):
        raise DTypeError(
            f"where: the choices are of type {type(x).__name__} and {type(y).__name__}; one of them must be a tensor"
        )
    tensor: Tensor = like  # type: ignore[assignment]  # every Base is a Tensor
    mask = as_mask("where", condition, tensor)
    first, second = operand("where", x, tensor), operand("where", y, tensor)
    for found, given, what in ((first, x, "first"), (second, y, "second")):
        if found is None:
            raise DTypeError(
                f"where: the {what} choice is of type {type(given).__name__}; it must be a tensor, a number or an array"
            )
    if isinstance(second, (int, float)):
        return tensor.mask_fill(mask.bool_not(), check.fill("where", second, tensor.dtype))
    if isinstance(first, (int, float)):
        return tensor.mask_fill(mask, check.fill("where", first, tensor.dtype))
    return second.mask_where(mask, first)  # type: ignore[union-attr, arg-type]  # None was refused


def numpy_way(name: str, dim: Any, keepdim: bool, axis: Any, keepdims: bool | None, out: None) -> tuple[Any, bool]:
    """(dim, keepdim) where NumPy's names may be used for them."""
    if out is not None:
        raise DTypeError(f"{name}: out is of type {type(out).__name__}; tensors are immutable, so it must be None")
    if axis is not None and dim is not None:
        raise ArgumentError(f"{name}: dim {dim} and axis {axis} name the same argument; give one of them")
    return (dim if axis is None else axis), (keepdim if keepdims is None else keepdims)


def _pieces(name: str, tensor: Tensor, sizes: Iterable[int], dim: int) -> list[Tensor]:
    axis = check.dim(name, dim, tensor.rank)
    wanted = check.integers(name, (sizes,), "sizes")
    if sum(wanted) != tensor.shape[axis] or any(n < 0 for n in wanted):
        raise ShapeError(
            f"{name}: sizes {list(wanted)} add up to {sum(wanted)}, and axis {axis} of shape "
            f"{list(tensor.shape)} has {tensor.shape[axis]}; they must be equal and not negative"
        )
    pieces, at = [], 0
    for n in wanted:
        if n:
            pieces.append(tensor.slice_dim(axis, Slice(at, at + n)))
        at += n
    return pieces


def _roll(tensor: Tensor, shift: int, axis: int) -> Tensor:
    size = tensor.shape[axis]
    by = shift % size if size else 0
    if not by:
        return tensor
    return cat([tensor.slice_dim(axis, Slice(size - by, size)), tensor.slice_dim(axis, Slice(0, size - by))], axis)


def _transpose(tensor: Tensor, axes: tuple[Any, ...]) -> Tensor:
    if len(axes) == 1 and axes[0] is None:
        return tensor.T
    if len(axes) > 1 or not isinstance(axes[0], Iterable):
        raise ArgumentError(
            f"transpose: the axes are {', '.join(map(str, axes))}; it takes none. "
            f"Exchange two axes with .swap_dims(first, second), order all with .permute(axes)"
        )
    return tensor.permute(*axes)


def _squeeze(name: str, tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
    shape = tensor.shape
    for axis in axes:
        if shape[axis] != 1:
            raise ShapeError(f"{name}: axis {axis} of shape {list(shape)} has size {shape[axis]}; it must be 1")
    return tensor.reshape(tuple(n for axis, n in enumerate(shape) if axis not in axes))


def _logic(tensor: Tensor, name: str, dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    tensor, keepdim = tensor.dequantize(), check.flag(name, keepdim, "keepdim")
    ops, p = tensor._ops, tensor.primitive
    extra = () if ops.kind == "bool" else (ops.bool_dtype,)
    target = ops if ops.kind == "bool" else ops.of("bool")
    if dim is None:
        if not p.shape:
            p = ops.reshape(p, (1,))
        result = wrap(getattr(ops, name)(p, *extra), target)
        return result.reshape((1,) * tensor.rank) if keepdim else result
    axes = check.dims(f"{name}_dim", dim, len(p.shape))
    function = name + "_dim"
    if not axes:
        return tensor.cast(bool)
    result = wrap(getattr(ops, function)(p, axes[0], *extra), target)
    for axis in axes[1:]:
        result = wrap(getattr(target, function)(result.primitive, axis), target)
    return result if keepdim else _squeeze(name, result, axes)


def _together(name: str, *tensors: Tensor) -> list[Any]:
    """Primitives of equal rank that broadcast to one shape."""
    rank = len(check.broadcast_all(name, [t.shape for t in tensors]))
    return [t.primitive if t.rank == rank else t.reshape((1,) * (rank - t.rank) + t.shape).primitive for t in tensors]
