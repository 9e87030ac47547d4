"""One record an elementwise function: how its operands are drawn, and how exact the result must be.

The meaning of a function is the formula of its declaration in the contract, evaluated in float64 for floats. A record
adds what tests need beside it. `RECORDS` holds them by name; a function without one is an error of the tests.
To add one: a row in the file of its group.
"""

from __future__ import annotations

from burn_wgpu.testing.records.elementwise_activation import ACTIVATION
from burn_wgpu.testing.records.elementwise_bool import BOOL
from burn_wgpu.testing.records.elementwise_float import FLOAT
from burn_wgpu.testing.records.elementwise_int import INT
from burn_wgpu.testing.records.record import Record, mismatches

RECORDS: dict[str, Record] = {record.name: record for record in (*FLOAT, *INT, *BOOL, *ACTIVATION)}

__all__ = ["RECORDS", "Record", "mismatches"]
