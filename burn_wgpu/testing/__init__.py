"""What tests and benchmarks share: records of operations, shader variants, benchmark cases.

May import: everything below `cli`. Nothing of the package imports it but the command line.
`records/` says of each operation how its inputs are drawn and how exact its result must be; the tests come from there.
"""
