"""Delivery reports, gathered as they come and made into ledger columns later and together.

The callback runs once per record in the middle of librdkafka's hand-over, so it does next to nothing; the work is done
in batches, where a list comprehension is several times cheaper than a call per record.
"""

import time
from array import array
from collections import Counter
from itertools import compress
from typing import Any, NamedTuple

from chaos.traffic.outcomes import outcome_of_send
from chaos.traffic.plans import SMALLEST
from kernel.ledger import Kind, Outcome


class Sent(NamedTuple):
    """What is known of a record before its delivery report."""

    op: int
    invoked_ns: int
    scheduled_ns: int | None
    txn: str | None


class Deliveries:
    def __init__(self) -> None:
        self.open: dict[int, Sent] = {}  # by value
        self.outcomes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.acked: Counter[tuple[str, int]] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._completed = array("q")
        self._messages: list[Any] = []
        self._errors: list[Any] = []

    def __len__(self) -> int:
        return len(self._messages)

    def delivered(self, error: Any, message: Any) -> None:
        self._completed.append(time.monotonic_ns())
        self._messages.append(message)
        if error is not None or self._errors:
            self._errors.extend([None] * (len(self._messages) - 1 - len(self._errors)))
            self._errors.append(error)

    def columns(self) -> tuple[int, dict[str, Any]]:
        """Everything gathered so far, as (count, columns), and forgotten here."""
        messages, completed, errors = self._messages, self._completed, self._errors
        self._clear()
        if not messages:
            return 0, {}
        values = [int(message.value()[:SMALLEST]) for message in messages]
        op, invoked, scheduled, txn = zip(*map(self.open.pop, values), strict=True)
        topics = [message.topic() for message in messages]
        partitions = [message.partition() for message in messages]
        columns: dict[str, Any] = {"op": op, "ix": 0, "kind": Kind.SEND, "invoked_ns": invoked, "value": values}
        columns |= {"topic": topics[0] if len(set(topics)) == 1 else topics}
        columns |= {"scheduled_ns": _or_none(scheduled), "txn": _or_none(txn)}
        columns |= {"partition": partitions, "offset": [message.offset() for message in messages]}
        if errors:
            errors.extend([None] * (len(messages) - len(errors)))
            names = [error and error.name() for error in errors]
            outcomes = [outcome_of_send(name) for name in names]
            good = [outcome is Outcome.OK for outcome in outcomes]
            columns |= {"outcome": outcomes, "error": names}
            columns["partition"] = [p if p >= 0 else None for p in partitions]
            self.outcomes.update(outcomes)
            self.errors.update(name for name in names if name)
            self.acked.update(compress(zip(topics, partitions, strict=True), good))
        else:
            columns |= {"outcome": Outcome.OK}
            self.outcomes[Outcome.OK] += len(messages)
            self.acked.update(zip(topics, partitions, strict=True))
        columns["offset"] = [o if o is not None and o >= 0 else None for o in columns["offset"]]
        columns["completed_ns"] = completed
        return len(messages), columns


def _or_none(cells: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A column without a single value costs nothing to write."""
    return None if cells.count(None) == len(cells) else cells
