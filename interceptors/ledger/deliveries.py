"""Delivery reports, gathered as they come and made into ledger columns later and together.

The callback runs once per record in the middle of librdkafka's hand-over, so it does next to nothing, and keeps nothing of
the record itself, which may be large. The rest is done in batches, where it is several times cheaper than in a call each.
"""

import time
from collections import Counter
from itertools import compress
from typing import Any, NamedTuple

from interceptors.outcomes import outcome_of_send
from interceptors.record import Refused
from kernel.ledger import Kind, Outcome


class Sent(NamedTuple):
    """What is known of a record before its delivery report."""

    op: int
    invoked_ns: int
    scheduled_ns: int | None
    txn: str | None
    value: int


class Deliveries:
    """Reports may come from several threads: each is one append, and those gathered are taken from the front."""

    def __init__(self) -> None:
        self.open: dict[int, Sent] = {}  # by operation
        self.outcomes: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.acked: Counter[tuple[str, int]] = Counter()
        self._reports: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._reports)

    def delivered(self, sent: Sent, error: Any, report: Any) -> None:
        where = report.topic(), report.partition(), report.offset()
        self._reports.append((sent, time.monotonic_ns(), error, report.__class__ is Refused, *where))

    def columns(self) -> tuple[int, dict[str, Any]]:
        """Everything gathered so far, as (count, columns), and forgotten here."""
        count = len(self._reports)
        if not count:
            return 0, {}
        sent, completed, errors, refused, topics, partitions, offsets = zip(*self._reports[:count], strict=True)
        del self._reports[:count]
        op, invoked, scheduled, txn, values = zip(*sent, strict=True)
        for known in op:
            self.open.pop(known, None)
        columns: dict[str, Any] = {"op": op, "ix": 0, "kind": Kind.SEND, "invoked_ns": invoked, "value": list(values)}
        columns |= {"topic": topics[0] if len(set(topics)) == 1 else topics, "partition": partitions}
        columns |= {"scheduled_ns": _or_none(scheduled), "txn": _or_none(txn), "completed_ns": completed}
        columns["offset"] = [o if o is not None and o >= 0 else None for o in offsets]
        if all(error is None for error in errors):  # not by `==`: a KafkaError that is compared with None breaks
            columns |= {"outcome": Outcome.OK}
            self.outcomes[Outcome.OK] += count
            self.acked.update(zip(topics, partitions, strict=True))
            return count, columns
        names = [error and name_of(error) for error in errors]
        # Refused on the spot: whatever the error, nothing was sent.
        outcomes = [Outcome.FAIL if no else outcome_of_send(name) for no, name in zip(refused, names, strict=True)]
        columns |= {"outcome": outcomes, "error": names}
        columns["partition"] = [p if p is not None and p >= 0 else None for p in partitions]
        self.outcomes.update(outcomes)
        self.errors.update(name for name in names if name)
        good = [outcome is Outcome.OK for outcome in outcomes]
        self.acked.update(compress(zip(topics, partitions, strict=True), good))
        return count, columns


def name_of(error: Any) -> str:
    """librdkafka's name for it; what has none was refused before librdkafka saw it."""
    return str(error.name()) if hasattr(error, "name") else "_INVALID_ARG"


def _or_none(cells: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A column without a single value costs nothing to write."""
    return None if cells.count(None) == len(cells) else cells
