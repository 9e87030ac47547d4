"""Records of the integer functions: exact, over every width."""

from __future__ import annotations

from burn_wgpu.std.dtype import INTS
from burn_wgpu.testing.records.record import Record, whole

ONE = (whole(),)
TWO = (whole(), whole())
NUMBERS = ((3,), (-7,), (0,), (1 << 31,))
DIVISORS = ((3,), (-7,), (1,), (-1,))
COUNTS = ((1,), (7,), (33,), (0,))


def _operator(name: str, scalars: tuple[tuple[int, ...], ...] = NUMBERS) -> tuple[Record, Record]:
    return Record(name, TWO, INTS), Record(f"{name}_scalar", ONE, INTS, scalars)


def _comparison(name: str) -> tuple[Record, Record]:
    return Record(f"int_{name}", TWO, INTS), Record(f"int_{name}_elem", ONE, INTS, ((0,), (-1,), (3,)))


INT = (
    *_operator("int_add"),
    *_operator("int_sub"),
    *_operator("int_mul"),
    *_operator("int_div", DIVISORS),
    *_operator("int_remainder", DIVISORS),
    *_operator("int_floor_divide", DIVISORS),
    Record("int_rsub_scalar", ONE, INTS, NUMBERS),
    Record("int_max_pair", TWO, INTS),
    Record("int_min_pair", TWO, INTS),
    Record("int_one_hot", TWO, INTS, ((7, 1, 0), (100, 3, -1))),
    Record("int_wrapped_index", ONE, INTS, ((3,), (100,))),
    Record("int_neg", ONE, INTS),
    Record("int_abs", ONE, INTS),
    Record("int_sign", ONE, INTS),
    Record("int_square", ONE, INTS),
    Record("int_powi", TWO, INTS),
    Record("int_powi_scalar_impl", ONE, INTS, ((3,), (5,), (127,))),
    Record("int_clamp_min", ONE, INTS, NUMBERS),
    Record("int_clamp_max", ONE, INTS, NUMBERS),
    Record("int_clamp", ONE, INTS, ((2, 100), (-5, 5))),
    *_operator("bitwise_and"),
    *_operator("bitwise_or"),
    *_operator("bitwise_xor"),
    Record("bitwise_not", ONE, INTS),
    *_operator("bitwise_left_shift", COUNTS),
    *_operator("bitwise_right_shift", COUNTS),
    *_comparison("equal"),
    *_comparison("not_equal"),
    *_comparison("greater"),
    *_comparison("greater_equal"),
    *_comparison("lower"),
    *_comparison("lower_equal"),
    Record("int_mask_where", (whole(), whole(), whole()), INTS),
    Record("int_mask_fill", TWO, INTS, ((3,), (-1,))),
)
