"""The contract: every function that a backend offers, its meaning, and a default where it composes.

One class per group (`FloatOps` in float_ops.py …), all of them in `backend.Backend`; bodies of several lines stand in
`defaults/`, one file per topic; options are records in `options.py`. `self` is only the backend: a tensor and a device
are always arguments, so that defaults can call one another and autodiff can wrap any backend.

May import: `std` alone. To add an operation: one function in its group (`@elementwise` with its formula, `@required`,
or a body) and its record for the tests.
Checks of the user's arguments stand above the contract, in the Tensor layer: here dims are normalised, ranks and dtypes
of operands are equal. Errors that depend on data (an index, a divisor) are the backend's.
Rejected: a method object per operation (nothing to read in order), registries by name (no signatures to check).
"""
