"""Plain values that every other layer speaks: dtypes, layouts, slices, host data, options, errors.

May import: NumPy and the standard library only. No device, no file, no global state.
Add here what two layers need and what can be compared, hashed, pickled or printed without a device.
Rejected: NumPy dtypes as the public dtypes (no bfloat16, no quantized schemes, several objects for one type).
"""
