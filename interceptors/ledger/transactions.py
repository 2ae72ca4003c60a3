"""Transactions by name, and how each ended. Pure.

librdkafka leaves it to the application to try again, so an end that failed and may be repeated is no end yet: it is held
back, and written down when it is repeated no more.
"""

from interceptors.contract import Event, Happening
from interceptors.ledger.book import Row
from interceptors.ledger.deliveries import name_of
from interceptors.outcomes import outcome_of_commit, outcome_of_request
from kernel.ledger import Kind, Outcome

ENDS = {Happening.COMMIT: Kind.COMMIT, Happening.ABORT: Kind.ABORT}


class Transactions:
    def __init__(self, client: str) -> None:
        self.current: str | None = None
        self._client, self._begun = client, 0
        self._untold: Event | None = None  # an end that may be tried again
        self._offsets: list[Event] = []  # a group's, that stand or fall with the transaction

    def happened(self, event: Event) -> list[list[Row]]:
        """The rows of each operation that this makes known."""
        if event.what is Happening.SEND_OFFSETS:
            if event.error is None:
                self._offsets.append(event)
                return []
            return [_offsets(event, name_of(event.error), Outcome.INFO, self.current)]
        if event.what is Happening.BEGIN:
            return [*self.settled(), [self._begin(event)]]
        return self._end(event)

    def settled(self) -> list[list[Row]]:
        """What was held back and is not tried again."""
        event, self._untold = self._untold, None
        return [] if event is None else self._ended(event)

    def _begin(self, event: Event) -> Row:
        self._begun += 1
        name = f"{self._client}-{self._begun}"
        error = event.error and name_of(event.error)
        if error is None or self.current is None:  # begun twice: the first one goes on
            self.current = name
        return _row(Kind.BEGIN, event, outcome_of_request(error), error, name)

    def _end(self, event: Event) -> list[list[Row]]:
        before, self._untold = self._untold, None
        rows: list[list[Row]] = []
        if before is not None and before.what is event.what:
            event = event._replace(invoked_ns=before.invoked_ns)
        elif before is not None:
            rows = self._ended(before)
        if event.error is not None and event.error.retriable():
            self._untold = event
            return rows
        return [*rows, *self._ended(event)]

    def _ended(self, event: Event) -> list[list[Row]]:
        kind, name = ENDS[event.what], self.current
        error = event.error and name_of(event.error)
        if kind is Kind.COMMIT:
            outcome = outcome_of_commit(error, must_abort=error is not None and event.error.txn_requires_abort())
        else:
            outcome = outcome_of_request(error)
        rows = [[_row(kind, event, outcome, error, name)]]
        if kind is Kind.COMMIT and outcome is Outcome.FAIL:
            return rows  # only an abort is left, and will come
        committed = outcome if kind is Kind.COMMIT else Outcome.FAIL
        rows += [_offsets(asked, error, committed, name) for asked in self._offsets]
        if kind is Kind.ABORT or outcome is Outcome.OK:
            self.current = None
        self._offsets = []
        return rows


def _row(kind: Kind, event: Event, outcome: Outcome, error: str | None, txn: str | None) -> Row:
    known = {"kind": kind, "outcome": outcome, "error": error, "txn": txn}
    return known | {"invoked_ns": event.invoked_ns, "completed_ns": event.completed_ns}


def _offsets(event: Event, error: str | None, outcome: Outcome, txn: str | None) -> list[Row]:
    row = _row(Kind.OFFSETS, event, outcome, error, txn)
    known = [where for where in event.partitions if where.offset >= 0]
    return [row | {"topic": where.topic, "partition": where.partition, "offset": where.offset} for where in known]
