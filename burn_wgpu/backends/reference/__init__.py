"""The reference backend: the contract in NumPy, the oracle of every test and the fallback without a GPU.

Clear before fast, exact before both: halves are computed in f32 and rounded once, sums and products of floats are
accumulated in float64. Tensors are never written to, so views share memory.

May import: `contract` and `std`. To add an operation: nothing for an elementwise one (its formula is its meaning);
otherwise a method in the file of its group, or one function in `shared.py` if it is the same for every kind.
Rejected: ml_dtypes for bf16 (a dependency for one dtype; float32 with rounding gives the same numbers).
"""

from burn_wgpu.backends.reference.backend import ReferenceBackend
from burn_wgpu.backends.reference.tensor import ReferenceDevice, RefTensor

__all__ = ["RefTensor", "ReferenceBackend", "ReferenceDevice"]
