"""The ledger columns of records that one poll handed over. Records without a value of ours have no row. Pure."""

from collections.abc import Callable
from typing import Any

from kernel.ledger import Kind, Outcome

Find = Callable[[Any], int | None]


def read_columns(records: list[Any], find: Find) -> dict[str, Any]:
    values = [find(message) for message in records]
    if None in values:
        records = [message for message, value in zip(records, values, strict=True) if value is not None]
        values = [value for value in values if value is not None]
    return {
        "ix": range(len(records)),
        "kind": Kind.POLL,
        "outcome": Outcome.OK,
        "topic": [message.topic() for message in records],
        "partition": [message.partition() for message in records],
        "offset": [message.offset() for message in records],
        "epoch": [message.leader_epoch() for message in records],
        "value": values,
    }
