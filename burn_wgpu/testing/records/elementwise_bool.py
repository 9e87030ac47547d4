"""Records of the bool functions, over both storages."""

from __future__ import annotations

from burn_wgpu.std.dtype import BOOL_U8, BOOL_U32
from burn_wgpu.testing.records.record import Record, anything

BOOLS = (BOOL_U8, BOOL_U32)
ONE = (anything(),)
TWO = (anything(), anything())

BOOL = (
    Record("bool_equal", TWO, BOOLS),
    Record("bool_not_equal", TWO, BOOLS),
    Record("bool_equal_elem", ONE, BOOLS, ((True,), (False,))),
    Record("bool_not_equal_elem", ONE, BOOLS, ((True,), (False,))),
    Record("bool_not", ONE, BOOLS),
    Record("bool_and", TWO, BOOLS),
    Record("bool_or", TWO, BOOLS),
    Record("bool_xor", TWO, BOOLS),
    Record("bool_mask_where", (anything(), anything(), anything()), BOOLS),
    Record("bool_mask_fill", TWO, BOOLS, ((True,), (False,))),
)
