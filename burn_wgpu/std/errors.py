"""Every exception and warning of the package: `BurnError` and the builtin that each kind resembles.

A message is one sentence with the operation, both values and the rule; a second sentence names the remedy.
"""

from __future__ import annotations

import sys


class BurnError(Exception):
    """The base of every error that the package raises on purpose."""


class ShapeError(BurnError, ValueError):
    """Shapes, axes or sizes that an operation cannot take."""


class DTypeError(BurnError, TypeError):
    """A dtype or a Python type that an operation cannot take."""


class ArgumentError(BurnError, ValueError):
    """Any other argument outside its allowed values."""


class IndexOutOfRange(BurnError, IndexError):
    """An element index outside its axis; on a GPU it may be raised at the next synchronisation."""


class DivisionByZero(BurnError, ZeroDivisionError):
    """An integer division, remainder or negative power of zero; on a GPU raised at the next synchronisation."""


class DeviceMismatch(BurnError, ValueError):
    """Tensors of different devices in one operation."""


class NotImplementedByBackend(BurnError, NotImplementedError):
    """A contract function that this backend does not have (yet)."""

    def __init__(self, function: str, backend: str) -> None:
        super().__init__(f"{function}: the backend '{backend}' does not implement it")
        self.function = function
        self.backend = backend

    def __reduce__(self) -> tuple[type[NotImplementedByBackend], tuple[str, str]]:
        return type(self), (self.function, self.backend)


class DeviceError(BurnError, RuntimeError):
    """A device that cannot be opened, configured or used."""


class NoAdapterError(DeviceError):
    """No GPU adapter (or not the one asked for) was found."""


class UnsupportedError(DeviceError):
    """The adapter lacks a feature or a limit is too small for what was asked."""


class KernelError(DeviceError):
    """A shader was refused or a recorded command was invalid; names the operation."""


class DeviceLostError(DeviceError):
    """The device is gone; every later operation on it fails."""


class OutOfMemoryError(DeviceError, MemoryError):
    """The device (or its budget) has no room for a buffer."""


class FormatError(BurnError, ValueError):
    """A file that breaks its format."""


class UnsupportedDType(UnsupportedError, TypeError):
    """A dtype that the device can neither store nor compute with."""


class AlreadyInitialized(DeviceError):
    """A device whose settings were fixed by its first operation."""


class PrecisionWarning(UserWarning):
    """Results with less precision than their dtype has: f64 that a device computes through f32. Once a device."""


def users_level() -> int:
    """The `stacklevel` with which its caller warns of what the user wrote: the first frame outside this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
