"""Data faults that a kernel can only report: an index out of range, a division by zero.

A kernel stores (code, index, size, high half of the index) once in the device's fault words (`lib/fault.wgsl`); the
next read raises.
A code names the kind and the operation; codes are given out per process.
"""

from __future__ import annotations

import threading

from burn_wgpu.std.errors import BurnError, DivisionByZero, IndexOutOfRange

FAULT_OPERAND = -1
"""What a Launch names as operand for the device's fault words; its Plan has flags=True."""

_codes: dict[tuple[str, str], int] = {}
_names: list[tuple[str, str]] = [("", "")]
_lock = threading.Lock()


def code(kind: str, operation: str) -> int:
    """The number (from 1) of a kind ("index", "unsigned index" or "division") in an operation."""
    key = (kind, operation)
    found = _codes.get(key)
    if found is None:
        with _lock:
            found = _codes.get(key)
            if found is None:
                _names.append(key)
                found = _codes[key] = len(_names) - 1
    return found


def error(number: int, index: int, size: int, high: int) -> BurnError:
    """The exception for what a kernel stored; high and index are the halves of a 64-bit index."""
    kind, operation = _names[number] if number < len(_names) else ("index", "unknown operation")
    if kind == "division":
        return DivisionByZero(f"{operation}: an integer divisor is 0; the result of that element is undefined")
    signed = (high << 32) + index
    if kind == "index" and high >= 1 << 31:
        signed -= 1 << 64
    return IndexOutOfRange(
        f"{operation}: index {signed} is out of range for an axis of size {size}; indices lie in [0, {size})"
    )
