"""Captured work: a closure that is run again as one thing.

WebGPU has no recorded command lists that a program may submit twice, so a graph runs its closure anew. What capturing
gives all the same: the pipelines and plans are ready before the first replay, and one interface for both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from burn_wgpu.device import Device
from burn_wgpu.tensor.creation import DeviceLike, as_device

T = TypeVar("T")

_WARM_UP_RUNS = 3


class Graph(Generic[T]):
    """Made by `capture`. The closure's tensors must live on the graph's device."""

    __slots__ = ("_closure", "_output", "device")

    def __init__(self, device: Device, closure: Callable[[], T], output: T) -> None:
        self.device = device
        self._closure = closure
        self._output = output

    @property
    def output(self) -> T:
        """What the last run gave."""
        return self._output

    @property
    def is_hardware(self) -> bool:
        """Whether a replay submits recorded commands. False: it calls the closure."""
        return False

    @property
    def capture_error(self) -> str:
        """Why there is no hardware graph."""
        return (
            f"capture: device {self.device} cannot record commands for several submissions; every replay calls the "
            f"closure again"
        )

    def replay(self) -> T:
        """Runs the work again and gives the new output, which is also `output`. Waits for nothing.

        Whatever the closure raises is raised, and `output` stays the last one.
        """
        self._output = self._closure()
        return self._output


def capture(device: DeviceLike, closure: Callable[[], T]) -> Graph[T]:
    """A graph of what the closure does, after 3 runs that warm up, each waited for, and 1 run whose output is kept.

    The closure is called 4 times here and once a replay: it must be free of effects that may not repeat. Random
    numbers are drawn anew each time.
    """
    where = as_device(device)
    for _ in range(_WARM_UP_RUNS):
        closure()
        where.sync()
    return Graph(where, closure, closure())
