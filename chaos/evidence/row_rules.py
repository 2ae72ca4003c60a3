"""What a ledger row must say, beyond the types of its cells; and the sentence for one that does not."""

import numpy as np

from chaos.evidence.columns import Bools
from chaos.evidence.ledger_files import KINDS, OUTCOMES, Batch
from kernel.errors import UsageError
from kernel.ledger import Kind, Outcome

NEEDS_PLACE = ("topic", "partition", "offset")
WITH_OFFSET = [KINDS[kind] for kind in (Kind.SEND, Kind.POLL, Kind.OFFSETS, Kind.DRAINED)]


def check_rows(batch: Batch) -> None:
    kind = batch.cells["kind"]
    ok = batch.cells["outcome"] == OUTCOMES[Outcome.OK]
    reads = (kind == KINDS[Kind.POLL]) & ok & batch.known["value"]
    drains = (kind == KINDS[Kind.DRAINED]) & ok
    _refuse(batch, "value", (kind == KINDS[Kind.SEND]) & ~batch.known["value"], "every send carries a value")
    for column in NEEDS_PLACE:
        known = batch.known.get(column, batch.cells[column] >= 0)
        if known.all():
            continue
        _refuse(batch, column, reads & ~known, "a poll that returned a record knows its topic, partition and offset")
        _refuse(batch, column, drains & ~known, "a drained row that is ok names topic, partition and log end")
    _refuse(batch, "partition", _below_zero(batch, "partition"), "null stands for unknown")
    if (below := _below_zero(batch, "offset")).any():
        _refuse(batch, "offset", below & np.isin(kind, WITH_OFFSET), "null stands for unknown")


def _below_zero(batch: Batch, column: str) -> Bools:
    below: Bools = (batch.cells[column] < 0) & batch.known[column]
    return below


def _refuse(batch: Batch, column: str, wrong: Bools, rule: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        known = batch.known[column][row] if column in batch.known else batch.cells[column][row] >= 0
        value = int(batch.cells[column][row]) if known else "null"
        raise UsageError(f"{batch.origin.row(row)}: {column} is {value}: {rule}.")
