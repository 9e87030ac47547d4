"""Exchange with NumPy, PyTorch, DLPack, pickle and einops; every read is a copy on the host."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.device import Device, DTypeLike
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, DType
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import from_host, wrap
from burn_wgpu.tensor.creation import DeviceLike, make, torch_data

if TYPE_CHECKING:
    import torch

    from burn_wgpu.tensor.api import Tensor

_DLPACK_CPU = (1, 0)


class Interop:
    """What other libraries look for on a tensor."""

    __slots__ = ()

    # ndarray's operators leave the work to the tensor's reflected ones.
    __array_ufunc__ = None

    def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The values, always a copy (bf16 as float32). Raises ValueError for copy=False."""
        if copy is False:
            raise ArgumentError("array: copy=False is not possible; reading a tensor always copies it to the host")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(
        self: Tensor,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of a host copy. Raises BufferError for another device than the CPU and for copy=False."""
        if copy is False:
            raise BufferError("dlpack: copy=False is not possible; reading a tensor always copies it to the host")
        if dl_device is not None and tuple(dl_device) != _DLPACK_CPU:
            raise BufferError(
                f"dlpack: device {tuple(dl_device)} is not possible; tensors are exported to the CPU (1, 0)"
            )
        if self.dtype is BF16:
            raise BufferError("dlpack: NumPy has no bf16, which carries the export; call .cast('f32') first")
        array = self.numpy()
        try:
            return array.__dlpack__(max_version=max_version)  # type: ignore[call-arg]  # NumPy 2.1 and later
        except TypeError:
            return array.__dlpack__()

    def __dlpack_device__(self: Tensor) -> tuple[int, int]:
        """The CPU: exports are host copies."""
        return _DLPACK_CPU

    def __buffer__(self: Tensor, flags: int) -> memoryview:
        """The bytes of a host copy, for memoryview() and friends (Python 3.12 and later)."""
        return memoryview(self.numpy())  # type: ignore[arg-type]  # typeshed knows Buffer from 3.12 on

    def __bytes__(self: Tensor) -> bytes:
        """The values as `numpy()` has them, row-major."""
        return self.numpy().tobytes()

    def to_torch(self: Tensor) -> torch.Tensor:
        """A PyTorch CPU tensor of the same dtype with its own memory. Needs torch."""
        import torch

        data = self.to_data()
        if data.dtype is BF16:
            return torch.from_numpy(np.array(data.array).view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(np.array(data.numpy()))

    @staticmethod
    def from_torch(value: torch.Tensor, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
        """A PyTorch tensor's values; its dtype is kept unless another is given, as far as the device has it.

        Raises UnsupportedDType for a dtype that the device cannot store.
        """
        return from_torch(value, device, dtype)

    # -------------------------------------------------------------------------------------- pickle and copy

    def __reduce__(self: Tensor) -> tuple[Any, ...]:
        data = self.to_data()
        return _unpickle, (data.as_bytes(), data.shape, data.dtype, self.kind, self.device)

    def __copy__(self: Tensor) -> Tensor:
        """The same object's values under another name: tensors are immutable, nothing is copied."""
        return wrap(self.primitive, self._ops)

    def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
        return wrap(self.primitive, self._ops)


def from_numpy(array: np.ndarray, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """An array's values as a tensor; see `Tensor.from_data`."""
    return make("from_numpy", array, device, dtype)


def from_dlpack(value: Any, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """The values of a CPU DLPack producer, copied; see `Tensor.from_data`."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return make("from_dlpack", torch_data("from_dlpack", value), device, dtype)  # bf16 too, which NumPy lacks
    try:
        array = np.from_dlpack(value)
    except (RuntimeError, BufferError, TypeError, AttributeError) as error:
        raise DTypeError(
            f"from_dlpack: {type(value).__name__} cannot be read ({error}); it must be a DLPack producer "
            f"on the CPU, of a dtype that NumPy has"
        ) from None
    return make("from_dlpack", array, device, dtype)


def from_torch(value: torch.Tensor, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """A PyTorch tensor's values; its dtype is kept unless another is given."""
    torch: Any = sys.modules.get("torch")  # whoever has a torch tensor has imported it
    if torch is None or not isinstance(value, torch.Tensor):
        raise DTypeError(f"from_torch: the value is of type {type(value).__name__}; it must be a torch.Tensor")
    data = torch_data("from_torch", value)
    return make("from_torch", data, device, dtype or (bool if data.dtype.is_bool else data.dtype))


def to_torch(tensor: Tensor) -> torch.Tensor:
    """A PyTorch CPU tensor of the same dtype with its own memory."""
    check.tensor("to_torch", tensor, "the tensor")
    return tensor.to_torch()


def _unpickle(data: bytes, shape: tuple[int, ...], dtype: DType, kind: Any, device: Device) -> Tensor:
    found = TensorData.from_bytes(data, shape, dtype)
    target = device.ops(kind).bool_dtype if kind == "bool" else dtype
    return from_host("unpickle", found, device, kind, target)
