"""Parameters: a tensor with an identity, made at its first use."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from burn_wgpu.device import Device
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import Tensor

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"  # base32hex in lower case, as DNSSEC (RFC 5155) uses it


class ParamId(int):
    """64 bits that name a parameter for its lifetime; optimizer state is keyed by it. Text form: base32."""

    @staticmethod
    def new() -> ParamId:
        """A random one."""
        return ParamId(secrets.randbits(64))

    def __str__(self) -> str:
        data = int(self).to_bytes(8, "little")
        bits = "".join(f"{byte:08b}" for byte in data)
        return "".join(_ALPHABET[int(bits[i : i + 5].ljust(5, "0"), 2)] for i in range(0, 64, 5))

    def __repr__(self) -> str:
        return f"ParamId({self})"


class Param:
    """A named place for a tensor in a module.

    shape and device are known before the tensor exists; `value` makes it at the first use, once. Raises ArgumentError
    for a function without shape and device.
    """

    __slots__ = ("_init", "_value", "device", "id", "shape")

    def __init__(
        self,
        init: Callable[[], Tensor] | Tensor,
        shape: tuple[int, ...] | None = None,
        device: Device | None = None,
        id: ParamId | None = None,
    ) -> None:
        self.id = ParamId.new() if id is None else id
        if isinstance(init, Tensor):
            self._value: Tensor | None = init
            self._init: Callable[[], Tensor] | None = None
            self.shape, self.device = tuple(init.shape), init.device
        else:
            if shape is None or device is None:
                raise ArgumentError("Param: a function needs the shape and the device of the tensor that it will make")
            self._value, self._init = None, init
            self.shape, self.device = shape, device

    @property
    def is_initialized(self) -> bool:
        """Whether the tensor exists already."""
        return self._value is not None

    @property
    def value(self) -> Tensor:
        """The tensor. Made now if this is its first use."""
        found = self._value
        if found is None:
            assert self._init is not None
            found = self._init()
            self.set(found)
        return found

    @value.setter
    def value(self, value: Tensor) -> None:
        self.set(value)

    def set(self, value: Tensor) -> None:
        """Replaces the tensor. Raises ShapeError for another shape, DTypeError for what is no tensor."""
        if not isinstance(value, Tensor):
            raise DTypeError(
                f"Param: a value of type {type(value).__name__} cannot replace the tensor of {list(self.shape)}; "
                f"make one first: param.set(Tensor(array))"
            )
        if tuple(value.shape) != self.shape:
            raise ShapeError(f"Param: a tensor of shape {list(value.shape)} cannot replace one of {list(self.shape)}")
        self._value, self._init, self.device = value, None, value.device

    def __repr__(self) -> str:
        state = "" if self.is_initialized else ", not made yet"
        return f"Param({list(self.shape)}{state})"
