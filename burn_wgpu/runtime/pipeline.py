"""Compiled kernels, by key. Layouts are shared: one per number of storage bindings, so bind groups are reusable."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from burn_wgpu.runtime import provider
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import compose
from burn_wgpu.shader.launch import KernelKey
from burn_wgpu.std.errors import KernelError

_KEPT = 4096  # more distinct kernels than any program met so far; a dropped pipeline is compiled again

HALVES = "lib/dtype/f16"
NATIVE_HALVES = {HALVES: "lib/dtype/f16_native"}


class Pipeline:
    """A compiled kernel: the object, its raw handle, and how many storage bindings it takes."""

    __slots__ = ("bindings", "gpu", "handle", "key")

    def __init__(self, gpu: Any, key: KernelKey) -> None:
        self.gpu = gpu
        self.handle = gpu._internal if provider.raw() is not None else None
        self.bindings = key.bindings
        self.key = key


class PipelineCache:
    """key → Pipeline, compiled at the first use."""

    def __init__(self, device: Any, capability: Capability) -> None:
        self.device = device
        self.capability = capability
        self.pipelines: OrderedDict[KernelKey, Pipeline] = OrderedDict()
        self.layouts: dict[int, tuple[Any, Any]] = {}
        self.created = 0
        self._lock = threading.RLock()
        self.halves_round: bool | None = None
        self.prove_halves: Callable[[], bool] | None = None  # runs a kernel, once, when the first half is compiled

    def layout(self, bindings: int) -> tuple[Any, Any]:
        """(bind group layout, pipeline layout): parameters at 0 with a dynamic offset, then storage read_write."""
        found = self.layouts.get(bindings)
        if found is None:
            visibility = 4  # compute
            entries = [{
                "binding": 0, "visibility": visibility,
                "buffer": {"type": "uniform", "has_dynamic_offset": True, "min_binding_size": 0},
            }]  # fmt: skip
            entries += [
                {"binding": i, "visibility": visibility, "buffer": {"type": "storage"}} for i in range(1, bindings + 1)
            ]
            group = self.device.create_bind_group_layout(entries=entries)
            found = self.layouts[bindings] = (group, self.device.create_pipeline_layout(bind_group_layouts=[group]))
        return found

    def get(self, key: KernelKey, operation: str) -> Pipeline:
        """Raises KernelError that names the operation when the shader is refused."""
        with self._lock:
            found = self.pipelines.get(key)
            if found is not None:
                self.pipelines.move_to_end(key)
                return found
            found = self.pipelines[key] = self._compile(key, operation)
            if len(self.pipelines) > _KEPT:
                self.pipelines.popitem(last=False)
            return found

    def _compile(self, key: KernelKey, operation: str) -> Pipeline:
        text = compose(key, replace=NATIVE_HALVES if HALVES in key.uses and self._native_halves() else None)
        self.created += 1
        try:
            module = self._module(text, key)
            gpu = self.device.create_compute_pipeline(
                layout=self.layout(key.bindings)[1], compute={"module": module, "entry_point": "main"}
            )
        except Exception as error:
            told = provider.explain(error, operation, self.capability.adapter)
            if not isinstance(told, KernelError):
                raise told from error
            raise KernelError(
                f"{operation}: {self.capability.adapter} refuses the kernel '{key.file}': {str(error).strip()}"
            ) from error
        return Pipeline(gpu, key)

    def _native_halves(self) -> bool:
        """Whether pack2x16float rounds to nearest even here; WGSL leaves it open."""
        if self.halves_round is None:
            self.halves_round = False  # while the proof itself runs
            if self.prove_halves is not None:
                self.halves_round = self.prove_halves()
        return self.halves_round

    def _module(self, text: str, key: KernelKey) -> Any:
        if not (key.trusted and self.capability.trusted):
            return self.device.create_shader_module(code=text)
        native = provider.raw()
        assert native is not None
        ffi, libf = native.ffi, native.libf
        from wgpu.backends.wgpu_native._api import GPUShaderModule

        code = text.encode()
        buffer = ffi.new("char[]", code)
        source = ffi.new("WGPUShaderSourceWGSL *")
        source.chain.next = ffi.NULL
        source.chain.sType = native.lib.WGPUSType_ShaderSourceWGSL
        source.code.data, source.code.length = buffer, len(code)
        descriptor = ffi.new("WGPUShaderModuleDescriptor *")
        descriptor.nextInChain = ffi.cast("WGPUChainedStruct *", source)
        handle = libf.wgpuDeviceCreateShaderModuleTrusted(self.device._internal, descriptor, 0)
        return GPUShaderModule("", handle, self.device)
