"""What tests and the support matrix know of every contract function beside its declaration.

`RECORDS`: the elementwise functions. Their meaning is the formula of the declaration, evaluated in float64 for floats;
a record says how operands are drawn and how exact the result must be. To add one: a row in the file of its group.

`CALLS`: all others, one file a family (`call.py` says what a record is made of). Their meaning is what the reference
backend gives. To add one: a `Call` with a few cases.

`WITHOUT`: functions and whole groups that have no record, and why.
"""

from __future__ import annotations

from burn_wgpu.contract.activation_ops import ActivationOps
from burn_wgpu.contract.bool_ops import BoolOps
from burn_wgpu.contract.collective_ops import CollectiveOps
from burn_wgpu.contract.float_ops import FloatOps
from burn_wgpu.contract.int_ops import IntOps
from burn_wgpu.contract.module_ops import ModuleOps
from burn_wgpu.contract.transaction_ops import TransactionOps
from burn_wgpu.testing.records.call import Call, Draw, Given
from burn_wgpu.testing.records.collective import COLLECTIVE
from burn_wgpu.testing.records.elementwise_activation import ACTIVATION
from burn_wgpu.testing.records.elementwise_bool import BOOL
from burn_wgpu.testing.records.elementwise_float import FLOAT
from burn_wgpu.testing.records.elementwise_int import INT
from burn_wgpu.testing.records.indexing import INDEXING
from burn_wgpu.testing.records.module import MODULE
from burn_wgpu.testing.records.movement import MOVEMENT
from burn_wgpu.testing.records.record import Record, mismatches
from burn_wgpu.testing.records.reduction import REDUCTION

RECORDS: dict[str, Record] = {record.name: record for record in (*FLOAT, *INT, *BOOL, *ACTIVATION)}
CALLS: dict[str, Call] = {record.name: record for record in (*MOVEMENT, *INDEXING, *REDUCTION, *MODULE, *COLLECTIVE)}

RECORDED_GROUPS: tuple[type, ...] = (
    FloatOps, IntOps, BoolOps, ModuleOps, ActivationOps, TransactionOps, CollectiveOps,
)  # fmt: skip

WITHOUT: dict[str, str] = {
    "Backend": "functions of a device, not of tensors; they have tests of their own",
    "QuantOps": "quantized tensors have schemes where these have dtypes, and tests of their own",
    "DistributedOps": "they need several processes",
    "has_attention_backward": "a question about the backend, answered differently by each",
    "has_ctc_loss_backward": "a question about the backend, answered differently by each",
}

__all__ = ["CALLS", "RECORDED_GROUPS", "RECORDS", "WITHOUT", "Call", "Draw", "Given", "Record", "mismatches"]
