"""Runs kernels from an installed burn_wgpu and compares them with NumPy. Argument: the checkout to keep out of."""

import sys
from pathlib import Path

import numpy as np

import burn_wgpu
from burn_wgpu import Device, Tensor

package = Path(burn_wgpu.__file__).resolve().parent
checkout = Path(sys.argv[1]).resolve()
assert not package.is_relative_to(checkout), f"the package came from the checkout: {package}"
assert list((package / "shaders").rglob("*.wgsl")), f"there are no shaders in {package}"
assert (package / "py.typed").is_file(), "py.typed was not shipped"

device = Device("wgpu:0")
lhs = np.arange(12, dtype=np.float32).reshape(3, 4)
rhs = np.linspace(-1.0, 1.0, 20, dtype=np.float32).reshape(4, 5)
product = Tensor.from_data(lhs, device=device).matmul(Tensor.from_data(rhs, device=device))
np.testing.assert_allclose(np.asarray(product), lhs @ rhs, rtol=1e-5, atol=1e-5)
total = (Tensor.from_data(lhs, device=device) + 1.0).sum()
assert total.item() == 78.0, f"the sum of 1 to 12 came out as {total.item()}"
print(f"kernels ran from {package} on {device}")
