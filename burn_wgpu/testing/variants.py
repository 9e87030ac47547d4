"""Every shader variant that the plans can choose, as text, without a device.

Each kernel family lists its own through `variants(device)` in kernel/<family>.py, which yields plans; the elementwise
functions come from the contract's declarations. A family without that function is an error here, so that none is
forgotten.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

import burn_wgpu.kernel
from burn_wgpu.backends.wgpu.elementwise import elementwise_plan
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import Implementation, compose
from burn_wgpu.shader.launch import KernelKey, Plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

# Two views of the world: WebGPU's own limits without features, and a large adapter with everything.
DEVICES = (
    Capability(),
    Capability(
        max_binding_bytes=(1 << 31) - 4,
        max_buffer_bytes=(1 << 31) - 4,
        max_storage_buffers=16,
        max_workgroup_bytes=48 << 10,
        max_invocations=1024,
        features=frozenset({"shader-int64", "shader-f16", "subgroup"}),
        subgroup_size=32,
        adapter="large",
        trusted=True,
    ),
)

# Tint has no 64-bit integers: kernels that need them run on wgpu-native only.
_TINT_LACKS = frozenset({"shader-int64"})


def all_variants(implementation: Implementation = "naga") -> Iterator[tuple[str, str, frozenset[str]]]:
    """(name, WGSL, features needed) of every variant that the implementation can take; names are unique."""
    seen: dict[KernelKey, None] = {}
    counts: dict[str, int] = {}
    for device in DEVICES:
        for plan in _plans(device):
            for launch in plan.launches:
                key = launch.key
                if key in seen or (implementation == "tint" and key.features & _TINT_LACKS):
                    continue
                seen[key] = None
                stem = f"{plan.operation}:{key.file}"
                counts[stem] = counts.get(stem, 0) + 1
                yield f"{stem}:{counts[stem]}", compose(key, implementation), key.features


def families() -> list[str]:
    """The kernel families: modules of burn_wgpu.kernel that define a `…_plan`."""
    found = []
    for name in sorted(m.name for m in pkgutil.iter_modules(burn_wgpu.kernel.__path__)):
        module = importlib.import_module(f"burn_wgpu.kernel.{name}")
        own = (n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__)
        if any(n.endswith("_plan") for n in own):
            found.append(name)
    return found


def _plans(device: Capability) -> Iterable[Plan]:
    yield from _elementwise(device)
    for family in families():
        module = importlib.import_module(f"burn_wgpu.kernel.{family}")
        yield from module.variants(device)


def _elementwise(device: Capability) -> Iterator[Plan]:
    """Every declared function over every dtype it takes, contiguous; other layouts are the map family's own."""
    layout = Layout.dense((64,))
    floats = (dt.F32, dt.F16, dt.BF16, dt.F64)
    ints = tuple(d for d in dt.INTS if d.size_bytes < 8 or device.has("shader-int64"))
    for name, declared in elementwise_functions(Backend).items():
        prefix = name.split("_")[0]
        kinds = ints if prefix in ("int", "bitwise") else (dt.BOOL_U8, dt.BOOL_U32) if prefix == "bool" else floats
        for dtype in kinds:
            operands = [(layout, dt.BOOL_U8 if i == declared.mask else dtype) for i in range(declared.tensors)]
            out = dt.BOOL_U8 if declared.result == "bool" else dtype
            plan = elementwise_plan(declared, operands, layout.shape, dtype, out, device)
            assert plan is not None
            yield plan
