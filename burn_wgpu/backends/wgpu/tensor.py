"""The wgpu backend's tensor primitive and device handle."""

from __future__ import annotations

import os
import secrets
import warnings
from functools import partial
from typing import Any

from burn_wgpu.backends.wgpu.probe import halves_round_to_even
from burn_wgpu.runtime.client import Client, Task, client_for
from burn_wgpu.runtime.memory import Lease
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan
from burn_wgpu.shader.prelude import through_f32
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import PrecisionWarning, users_level
from burn_wgpu.std.layout import Layout, Shape
from burn_wgpu.std.settings import DeviceSettings

_KEPT_PLANS = 4096


class WgpuTensor:
    """A view of a leased buffer. Never written after it was made: every operation gives a new tensor."""

    __slots__ = ("__weakref__", "device", "dtype", "layout", "lease")

    def __init__(self, lease: Lease, layout: Layout, dtype: DType, device: WgpuDevice) -> None:
        self.lease = lease
        self.layout = layout
        self.dtype = dtype
        self.device = device

    @property
    def shape(self) -> Shape:
        return self.layout.shape

    @property
    def rank(self) -> int:
        return self.layout.rank

    def view(self, layout: Layout) -> WgpuTensor:
        return WgpuTensor(self.lease, layout, self.dtype, self.device)

    def __repr__(self) -> str:
        return f"WgpuTensor({list(self.shape)}, {self.dtype}, {self.device})"


class WgpuDevice:
    """A device handle: an opened adapter with its plans and settings. Opened at the first use.

    default_limits  ask for WebGPU's default limits and no feature, as the weakest adapter has; also by the environment
                    variable BURN_WGPU_DEFAULT_LIMITS=1, so that a whole test run can have it
    """

    kind = "wgpu"

    def __init__(self, index: int = 0, default_limits: bool = False) -> None:
        self.index = index
        self.default_limits = default_limits or os.environ.get("BURN_WGPU_DEFAULT_LIMITS") == "1"
        self.settings = DeviceSettings()
        self.plans: dict[Any, Any] = {}
        self.seeds: list[int] = [secrets.randbits(64), 0]  # seed, calls since
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        found = self._client
        if found is None:
            found = self._client = client_for(self.index, self.default_limits)
            if found.pipelines.prove_halves is None:
                found.pipelines.prove_halves = partial(halves_round_to_even, found)
        return found

    @property
    def capability(self) -> Capability:
        return self.client.capability

    def task(self, plan: Plan) -> Task:
        """Compiles a plan; the first that computes f64 through f32 is told."""
        task = self.client.task(plan)
        if any(through_f32(launch.key) for launch in plan.launches):
            self.tell_f64(plan.operation)
        return task

    def tell_f64(self, operation: str) -> None:
        """Warns with PrecisionWarning, once for each opened adapter, that f64 is computed through f32."""
        client = self.client
        if not client.told_f64:
            warnings.warn(
                f"{operation}: {self} ({client.capability.adapter}) computes f64 through f32, so results have the "
                f"precision and the range of f32 (about 7 digits, up to 3.4e38); cast to f32 to make that visible, or "
                f'use the reference device "cpu", which computes f64 in full',
                PrecisionWarning,
                stacklevel=users_level(),
            )
            client.told_f64 = True

    def run(self, task: Task, inputs: tuple[Lease, ...], scalars: bytes = b"") -> list[Lease]:
        """Records a task and gives its outputs' leases. A recorder overrides this and decides later."""
        return task.run(inputs, scalars)

    def settle(self) -> None:
        """Called before a read: whatever was held back must be recorded now. Here nothing is."""

    def remember(self, key: Any, value: Any) -> Any:
        """Keeps a compiled plan; the oldest half goes when there are too many."""
        plans = self.plans
        if len(plans) >= _KEPT_PLANS:
            for old in list(plans)[: _KEPT_PLANS // 2]:
                plans.pop(old, None)  # another thread may be at it too
        plans[key] = value
        return value

    def __repr__(self) -> str:
        return f"wgpu:{self.index}"
