"""Sending as fast as it goes, and still writing every record down.

A record costs a microsecond or two here, so nothing may be kept for each of them: records are numbered in order and
handed over in batches of one size, each to one partition at one time. From its value alone follow a record's batch, and
with it operation, partition and time of sending; what is left to learn from a delivery report is the offset.
"""

import time
from array import array
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interceptors.ledger.valuing import SMALLEST, digits
from interceptors.outcomes import outcome_of_send
from kernel.ledger import Kind, Outcome

BATCH = 500
PLACES = 10 ** np.arange(SMALLEST - 1, -1, -1, dtype=np.int64)  # of the digits of a value


class FlatOut:
    def __init__(
        self, producer: Any, serve: Callable[[float], None], targets: list[tuple[str, int]], first: int, size: int
    ) -> None:
        self._producer, self._serve, self._targets, self._size = producer, serve, targets, size
        self._turn = cycle(range(len(targets)))
        self._first = self.next = first
        self._invoked, self._target = array("q"), array("i")  # by batch
        self._window = _Window(first)
        self._messages: list[Any] = []
        self._failed: list[tuple[str, Any, int]] = []
        self._polls: list[tuple[int, int]] = []  # how many had been reported when, so that a report costs no clock
        self.acked = np.zeros(len(targets), np.int64)

    def send(self) -> None:
        """One batch. Waits while the client's queue is full."""
        target = next(self._turn)
        topic, partition = self._targets[target]
        self._target.append(target)
        self._invoked.append(time.monotonic_ns())
        padding = b"." * (self._size - SMALLEST)
        left = [{"value": b"%016d%b" % (value, padding)} for value in range(self.next, self.next + BATCH)]
        self.next += BATCH
        refused = 0
        while left and refused < 1000:  # a producer that failed for good takes nothing any more
            self._producer.produce_batch(topic, left, partition=partition, on_delivery=self._delivered)
            left = [{"value": message["value"]} for message in left if "_error" in message]
            self.poll(0.01 if left else 0)
            refused += bool(left)

    def poll(self, timeout: float) -> None:
        self._serve(timeout)
        self._polls.append((len(self._messages), time.monotonic_ns()))

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self._messages.append(message)
        else:
            self._failed.append((str(error.name()), message, time.monotonic_ns()))

    @property
    def sent(self) -> int:
        return self.next - self._first

    def acked_by_partition(self) -> dict[tuple[str, int], int]:
        return dict(zip(self._targets, self.acked.tolist(), strict=True))

    @property
    def open(self) -> int:
        return self._window.open(self.next)

    def columns(self) -> tuple[int, dict[str, Any]]:
        """What was acknowledged since the last time, as ledger columns."""
        messages, self._messages = self._messages, []
        polls, self._polls = [*self._polls, (len(messages), time.monotonic_ns())], []
        if not messages:
            return 0, {}
        digits = np.frombuffer(b"".join([message.value()[:SMALLEST] for message in messages]), np.uint8)
        values: NDArray[np.int64] = (digits.reshape(-1, SMALLEST) - ord("0")).astype(np.int64) @ PLACES
        self._window.close(values)
        batches = (values - self._first) // BATCH
        targets = np.frombuffer(self._target, np.int32)[batches]
        self.acked += np.bincount(targets, minlength=len(self._targets))
        return len(messages), self._facts(values, batches, targets) | {
            "completed_ns": _spread(polls),
            "outcome": Outcome.OK,
            "offset": [message.offset() for message in messages],
        }

    def failures(self) -> Iterator[dict[str, Any]]:
        """What was refused since the last time, a row each: rare enough."""
        failed, self._failed = self._failed, []
        for name, message, completed in failed:
            value = digits(message.value())
            self._window.close(np.array([value]))
            yield self._row(value) | {"completed_ns": completed, "outcome": outcome_of_send(name), "error": name}

    def unknown(self) -> Iterator[dict[str, Any]]:
        """What was never reported."""
        for value in self._window.left(self.next):
            yield self._row(value) | {"outcome": Outcome.INFO, "error": "_DESTROY"}

    def _row(self, value: int) -> dict[str, Any]:
        batch = (value - self._first) // BATCH
        topic, partition = self._targets[self._target[batch]]
        facts = {"op": value - self._first + 1, "ix": 0, "kind": Kind.SEND, "invoked_ns": self._invoked[batch]}
        return facts | {"topic": topic, "partition": partition, "value": value}

    def _facts(self, values: NDArray[np.int64], batches: NDArray[np.int64], targets: NDArray[np.int32]) -> dict[str, Any]:
        import pyarrow as pa

        topics = list(dict.fromkeys(topic for topic, _ in self._targets))
        number = np.array([topics.index(topic) for topic, _ in self._targets], np.int32)
        partition = np.array([partition for _, partition in self._targets], np.int32)
        return {
            "op": values - self._first + 1,
            "ix": 0,
            "kind": Kind.SEND,
            "invoked_ns": np.frombuffer(self._invoked, np.int64)[batches],
            "topic": pa.DictionaryArray.from_arrays(pa.array(number[targets]), pa.array(topics)),
            "partition": partition[targets],
            "value": values,
        }


class _Window:
    """Which values are still without a report: those behind the last gap are forgotten, so that memory stays bounded."""

    def __init__(self, first: int) -> None:
        self._base = first
        self._open = np.ones(1 << 16, bool)

    def close(self, values: NDArray[np.int64]) -> None:
        highest = int(values.max()) - self._base
        while highest >= len(self._open):
            self._open = np.concatenate([self._open, np.ones(len(self._open), bool)])
        self._open[values - self._base] = False
        first = int(self._open.argmax())
        if first > len(self._open) // 2:
            self._base += first
            self._open = np.concatenate([self._open[first:], np.ones(first, bool)])

    def open(self, end: int) -> int:
        return int(self._open[: end - self._base].sum()) + max(0, end - self._base - len(self._open))

    def left(self, end: int) -> list[int]:
        inside = np.flatnonzero(self._open[: end - self._base]) + self._base
        return [*inside.tolist(), *range(self._base + len(self._open), end)]


def _spread(polls: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The time of the poll that brought each report."""
    upto = np.array([upto for upto, _ in polls], np.int64)
    when = np.array([when for _, when in polls], np.int64)
    return np.repeat(when, np.diff(upto, prepend=0))
