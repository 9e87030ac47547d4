"""Weights in files: readers and writers of formats, conversion, and loading onto a device.

May import: module and everything below. One file a format; `file` is the view that they share, `load` brings tensors
onto a device or into a module, `convert` goes from one format to the other. To add a format: a reader with names,
dtypes, shapes and views of the bytes, and a branch in `WeightFile`.
"""

from burn_wgpu.store.convert import convert
from burn_wgpu.store.file import Stored, WeightFile
from burn_wgpu.store.load import load_module, load_tensors
from burn_wgpu.store.rename import rename
from burn_wgpu.store.safetensors import SafetensorsError, SafetensorsReader, write_safetensors

__all__ = [
    "SafetensorsError",
    "SafetensorsReader",
    "Stored",
    "WeightFile",
    "convert",
    "load_module",
    "load_tensors",
    "rename",
    "write_safetensors",
]
