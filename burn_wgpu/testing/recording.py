"""A device that holds every operation back and runs them later, in one go: what capture and fusion will build on.

It stands behind the same contract: the backend, the plans and the kernels are the real ones. Only the moment of
execution and of giving buffers to tensors moves.
"""

from __future__ import annotations

from typing import NamedTuple

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.runtime.client import Task
from burn_wgpu.runtime.memory import Lease


class Held(NamedTuple):
    """An operation that was called and not run."""

    task: Task
    inputs: tuple[Lease, ...]
    outputs: list[Lease]
    scalars: bytes


class RecordingDevice(WgpuDevice):
    """Records tasks instead of running them. Tensors that come out of operations have no buffer until `execute`."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.held: list[Held] = []

    def run(self, task: Task, inputs: tuple[Lease, ...], scalars: bytes = b"") -> list[Lease]:
        outputs = task.prepare()
        self.held.append(Held(task, inputs, outputs, scalars))
        return outputs

    def settle(self) -> None:
        self.execute()

    def execute(self) -> int:
        """Runs everything held back, in order; gives how many operations there were."""
        held, self.held = self.held, []
        for task, inputs, outputs, scalars in held:
            task.execute(inputs, outputs, scalars)
        return len(held)
