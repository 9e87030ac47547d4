"""Weights from a file straight onto a device, and into a module.

A payload travels from the memory map to the device's buffer in pieces: the host never holds a copy of a tensor.
Everything that can be known from the file's table is checked before the first byte moves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from burn_wgpu.device import Device, DTypeLike
from burn_wgpu.module import Module
from burn_wgpu.module.module import LoadError
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType, DTypeUsage
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import DTypeError
from burn_wgpu.store.file import Stored, WeightFile
from burn_wgpu.store.rename import Rules, rename
from burn_wgpu.tensor import Tensor
from burn_wgpu.tensor.core import from_host

Progress = Callable[[int], None]
AnyModule = TypeVar("AnyModule", bound=Module)


def load_tensors(
    path: str | os.PathLike[str],
    device: Device | str,
    only: Collection[str] | None = None,
    dtype: DTypeLike | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """name → tensor of a .bpk or .safetensors file, in the order of the file.

    only      names to load; all of them unless given
    dtype     float tensors are cast to it on the device; others keep the file's dtype, bools get the device's;
              quantized tensors stay quantized
    progress  is told the bytes of each tensor when they are on their way
    device    a Device, or its text ("wgpu:0", "cpu")

    Nothing waits for the device. On "cpu" the tensors are views of the file's memory map, which must not be shortened
    meanwhile. Raises LoadError that lists every name that is missing and every dtype that the device cannot store,
    before anything is loaded; FormatError, OSError.
    """
    device = Device(device) if isinstance(device, str) else device
    target = _float(dtype)
    with WeightFile(path) as file:
        names = list(file.tensors) if only is None else [n for n in file.tensors if n in only]
        problems = []
        missing = [n for n in (only or ()) if n not in file.tensors]
        if missing:
            problems.append(f"{len(missing)} tensors are not in the file: {', '.join(missing)}")
        problems += _unsupported([file.tensors[n] for n in names], device, target)
        if problems:
            raise LoadError(f"load {path}: " + ". ".join(problems))
        for n in names:
            file.check(n)
        return {n: _tensor(file, n, device, target, progress) for n in names}


def load_module(
    module: AnyModule,
    path: str | os.PathLike[str],
    rename_rules: Rules = (),
    ignore: Collection[str] = (),
    pytorch: bool = False,
    dtype: DTypeLike | None = None,
    allow_partial: bool = False,
    allow_unused: bool = False,
    progress: Progress | None = None,
) -> AnyModule:
    """Fills the module's parameters from a .bpk or .safetensors file, each on its own device; gives the module.

    rename_rules  see `rename`; applied to the file's names
    ignore        names of the file that are left out, before renaming
    pytorch       the file has PyTorch's names and layouts for the parameters of layers (`Module.pytorch`): a Linear's
                  weight is uploaded as it is stored, [out, in], and used as a transposed view
    dtype         float parameters are cast to it on the device; else they take the file's dtype

    Raises LoadError that lists every missing, unused and mis-shaped tensor and every dtype that does not fit, before
    the module or the device is touched; ArgumentError for rules that make two names equal; FormatError, OSError.
    """
    target = _float(dtype)
    params = dict(module.named_params())
    with WeightFile(path) as file:
        kept = [t for t in file.tensors.values() if t.name not in ignore]
        names = rename((t.name for t in kept), rename_rules)
        foreign = _pytorch_places(module) if pytorch else {}
        found: dict[str, tuple[Stored, bool]] = {}
        twice: list[str] = []
        for stored in kept:
            place, transposed = foreign.get(names[stored.name], (names[stored.name], False))
            if place in found:
                twice.append(f"{found[place][0].name} and {stored.name} are both {place}")
            found[place] = (stored, transposed and len(stored.shape) == 2)
        shapes = {place: stored.shape[::-1] if turn else stored.shape for place, (stored, turn) in found.items()}
        problems = module.load_problems(shapes, allow_partial, allow_unused)
        if twice:
            problems.append(f"{len(twice)} parameters have two tensors: {'; '.join(twice)}")
        wanted = {place: row for place, row in found.items() if place in params}
        kinds = [
            f"{place} is {stored.dtype} in the file"
            for place, (stored, _) in wanted.items()
            if _kind(stored.dtype) != _param_kind(params[place])
        ]
        if kinds:
            problems.append(f"{len(kinds)} parameters are of another kind: {'; '.join(kinds)}")
        for device in {p.device: None for p in params.values()}:
            problems += _unsupported(
                [s for place, (s, _) in wanted.items() if params[place].device == device], device, target
            )
        if problems:
            raise LoadError(f"load {path}: " + ". ".join(problems))
        for stored, _ in wanted.values():
            file.check(stored.name)
        for place, (stored, turn) in wanted.items():
            tensor = _tensor(file, stored.name, params[place].device, target, progress)
            params[place].set(tensor.transpose() if turn else tensor)
    return module


def _pytorch_places(module: Module) -> dict[str, tuple[str, bool]]:
    """PyTorch's path of a parameter → (our path, whether it is transposed)."""
    places = {}
    for path, part in module.modules():
        prefix = f"{path}." if path else ""
        for ours, (theirs, transposed) in part.pytorch.items():
            places[prefix + theirs] = (prefix + ours, transposed)
    return places


def _float(dtype: DTypeLike | None) -> DType | None:
    if dtype is None:
        return None
    target = as_dtype(dtype)
    if not target.is_float:
        raise DTypeError(f"load: dtype is {target}; only float tensors are cast, so it must be a float dtype")
    return target


def _kind(dtype: DType) -> str:
    """A quantized tensor fills a float parameter, which is quantized from then on."""
    return "int" if dtype.is_int else "bool" if dtype.is_bool else "float"


def _param_kind(param: object) -> str:
    """A parameter that is not made yet will be made by an initializer, and those make floats."""
    return param.value.kind if param.is_initialized else "float"  # type: ignore[attr-defined]


def _unsupported(tensors: Iterable[Stored], device: Device, target: DType | None) -> list[str]:
    """Sentences about dtypes that the device cannot hold, each dtype once."""
    names: dict[DType, list[str]] = {}
    for stored in tensors:
        if not stored.dtype.is_bool:
            names.setdefault(stored.dtype, []).append(stored.name)
    problems = []
    for dtype, users in names.items():
        text = f"{users[0]} and {len(users) - 1} more" if len(users) > 1 else users[0]
        if DTypeUsage.STORAGE not in device.dtype_usage(dtype):
            problems.append(f"{text}: {device} cannot store {dtype}")
    if target is not None and DTypeUsage.STORAGE not in device.dtype_usage(target):
        problems.append(f"{device} cannot store {target}, the dtype asked for")
    return problems


def _tensor(file: WeightFile, name: str, device: Device, target: DType | None, progress: Progress | None) -> Tensor:
    stored = file.tensors[name]
    if stored.dtype.kind == "qfloat":
        quantized = TensorData.from_bytes(file.view(name), stored.shape, stored.dtype)
        tensor = from_host("load", quantized, device, "float", stored.dtype)
        if progress is not None:
            progress(stored.size_bytes)
        return tensor
    data = TensorData(file.array(name), stored.dtype)
    if stored.dtype.is_bool:
        tensor = from_host("load", data, device, "bool", device.settings.bool_dtype)
    else:
        tensor = from_host("load", data, device, "float" if stored.dtype.is_float else "int", stored.dtype)
        if target is not None and stored.dtype.is_float and target is not stored.dtype:
            tensor = tensor.cast(target)
    if progress is not None:
        progress(stored.size_bytes)
    return tensor
