"""How many kernels a contract function launches on the wgpu backend, and how many bytes they touch.

Counted on a device with WebGPU's default limits, so that the plans are those of every adapter. Each function is called
once as its record's first case says: n = 64, f32, i32 or bool(u8), row-major; elementwise functions on [64, 64].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.runtime.client import Task
from burn_wgpu.runtime.memory import Lease
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BOOL_U8, F32, I32, DType
from burn_wgpu.testing.records import CALLS, RECORDS
from burn_wgpu.testing.records.call import DEVICE, Draw, Given, leaves, replaced
from burn_wgpu.testing.support import state

SIZE = 64
STANDARD = {"float": F32, "int": I32, "uint": I32, "bool": BOOL_U8}


@dataclass(slots=True)
class Cost:
    """What one call did.

    launches  dispatches, by the operation that made them, in order
    uploads   tensors that came from the host on the way (tables of indices and weights)
    reads     tensors that the host read on the way, each a wait for the device
    floor     bytes of the tensor arguments and results, each once; 0 where nothing was launched
    traffic   bytes of everything bound to the launches, each binding once
    """

    name: str
    state: str
    shapes: str
    launches: list[str] = field(default_factory=list)
    uploads: int = 0
    reads: int = 0
    floor: int = 0
    traffic: int = 0


class CountingDevice(WgpuDevice):
    """Writes down what runs on it."""

    def __init__(self) -> None:
        super().__init__(0, default_limits=True)
        self.cost = Cost("", "", "")
        self.bytes: dict[int, int] = {}
        self.kept: list[Lease] = []

    def know(self, lease: Lease, size: int) -> None:
        self.bytes[id(lease)] = size
        self.kept.append(lease)  # as long as it lives its id is its own

    def run(self, task: Task, inputs: tuple[Lease, ...], scalars: bytes = b"") -> list[Lease]:
        outputs = task.run(inputs, scalars)
        plan, cost = task.plan, self.cost
        sizes = [self.bytes.get(id(lease), lease.block.size if lease.block else 0) for lease in inputs]
        sizes += [out.size_bytes for out in plan.outputs] + list(plan.scratch)
        for lease, out in zip(outputs, plan.outputs, strict=True):
            self.know(lease, out.size_bytes)
        for launch in plan.launches:
            if 0 not in launch.grid:
                cost.launches.append(plan.operation)
                cost.traffic += sum(sizes[o] for o in launch.operands if o != FAULT_OPERAND)
        return outputs


class CountingBackend(WgpuBackend):
    """Counts the tensors that come from the host and that go there."""


def _count(name: str, what: str) -> None:
    method = getattr(WgpuBackend, name)

    def counted(self: Any, first: Any, *rest: Any) -> Any:
        device = rest[0] if what == "uploads" else first.device
        setattr(device.cost, what, getattr(device.cost, what) + 1)
        result = method(self, first, *rest)
        if what == "uploads":
            device.know(result.lease, first.size_bytes)
        return result

    setattr(CountingBackend, name, counted)


for _kind in ("float", "int", "bool"):
    _count(f"{_kind}_from_data", "uploads")
    _count(f"{_kind}_into_data", "reads")


def measure() -> dict[str, Cost]:
    """The cost of every function with a record, by name."""
    device, backend = CountingDevice(), CountingBackend()
    return {name: _cost(name, device, backend) for name in sorted((*CALLS, *RECORDS))}


def _cost(name: str, device: CountingDevice, backend: Any) -> Cost:
    cost = Cost(name, state(WgpuBackend, name), "")
    if cost.state == "missing":
        return cost
    args = _arguments(name)
    device.kept.clear()
    device.bytes.clear()
    device.cost = Cost("arguments", "", "")
    made: list[WgpuTensor] = []

    def tensor(value: Any) -> Any:
        if value is DEVICE:
            return device
        if not isinstance(value, Given):
            return value
        kind = "float" if value.dtype.is_float else "bool" if value.dtype.is_bool else "int"
        made.append(getattr(backend, f"{kind}_from_data")(value.data(), device))
        return made[-1]

    given = replaced(args, tensor)
    cost.shapes = " ".join(str(list(t.shape)) for t in made) or " ".join(_shown(a) for a in args if a is not DEVICE)
    device.cost = cost
    result = CALLS[name](backend, given) if name in CALLS else getattr(backend, name)(*given)
    if cost.launches:
        results = [leaf for leaf in leaves(result) if isinstance(leaf, (WgpuTensor, TensorData))]
        cost.floor = sum(_bytes(t) for t in (*made, *results))
    return cost


def _shown(argument: Any) -> str:
    return f"{argument.dtype} {list(argument.shape)}" if isinstance(argument, TensorData) else str(argument)


def _bytes(tensor: WgpuTensor | TensorData) -> int:
    return int(np.prod(tensor.shape, dtype=np.int64)) * tensor.dtype.size_bytes


def _arguments(name: str) -> tuple[Any, ...]:
    if name in CALLS:
        call = CALLS[name]
        return call.cases[0](Draw(0, _dtype(call.dtypes), min(SIZE, call.largest)))
    record, declared = RECORDS[name], elementwise_functions(Backend)[name]
    dtype = _dtype(record.dtypes)
    draw = Draw(0, dtype, SIZE)
    tensors = [
        draw.uniform(1, 2, SIZE, SIZE, dtype=BOOL_U8 if i == declared.mask else dtype) for i in range(declared.tensors)
    ]
    return (*tensors, *record.scalars[0], *((BOOL_U8,) if declared.result == "bool" else ()))


def _dtype(dtypes: tuple[DType, ...]) -> DType:
    wanted = STANDARD[dtypes[0].kind]
    assert wanted in dtypes
    return wanted
