"""A report: what one life of one tier has counted since its last one. JSON, so that Spark reads the same topic.

A *life* is one client from its making to its end. Its reports are numbered without a gap, so that an auditor can drop what
it has already, and knows what it never got. A report is a delta: a record that comes late adds to its old bucket again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from interceptors.audit.sketch import Sketch, as_row, from_row

VERSION = 1
MOST_BYTES = 900_000  # of a message: below what a broker takes by default
Key = tuple[str, int, int]  # topic, partition, start of the bucket in ms


class Stretch(NamedTuple):
    """Offsets of a partition, from the first to before the end, that are accounted for with this report."""

    topic: str
    partition: int
    begin: int
    end: int


class Unsure(NamedTuple):
    """Records that may stand in the log without having been counted: sent, and nobody knows."""

    topic: str
    partition: int
    from_ms: int
    to_ms: int
    records: int


@dataclass(frozen=True, slots=True)
class Report:
    tier: str
    role: str
    life: str
    seq: int
    begins: int  # the number of its first part, if it had to be cut into several
    at_ms: int  # by the clock of the one who reports
    every_ms: int
    bucket_ms: int
    client: str = ""
    host: str = ""
    identity: str = "offset"
    count_at: str = "commit"  # when a consumer's record counts
    closed: bool = False  # the life has ended well, and this is its last
    left: bool = False  # found after the life was over: what came after it is not known
    unaudited: int = 0  # records that could not be counted
    rows: Mapping[Key, Sketch] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()
    unsure: tuple[Unsure, ...] = ()

    @property
    def records(self) -> int:
        return sum(sketch.count for sketch in self.rows.values())

    @property
    def key(self) -> bytes:
        return f"{self.tier}/{self.life}".encode()


def encode(report: Report) -> bytes:
    plain = {name: getattr(report, name) for name in _PLAIN}
    rows = [
        {"topic": topic, "partition": partition, "start_ms": start, **as_row(sketch)}
        for (topic, partition, start), sketch in report.rows.items()
    ]
    stretches = [one._asdict() for one in report.stretches]
    unsure = [one._asdict() for one in report.unsure]
    whole = {"version": VERSION, **plain, "rows": rows, "positions": stretches, "unsure": unsure}
    return json.dumps(whole, separators=(",", ":")).encode()


_PLAIN = (
    "tier", "role", "life", "seq", "begins", "at_ms", "every_ms", "bucket_ms", "client", "host", "identity", "count_at",
    "closed", "left", "unaudited",
)  # fmt: skip
_NUMBERS = {"seq", "begins", "at_ms", "every_ms", "bucket_ms", "unaudited"}
_WORDS = {"tier", "role", "life", "client", "host", "identity", "count_at"}


class NoReport(ValueError):
    """A message that is none of ours, or of a version to come."""


def decode(message: bytes | None) -> Report:
    try:
        told = json.loads(message or b"")
        if told["version"] != VERSION:
            raise NoReport(f"version {told['version']}")
        plain = {name: _checked(name, told[name]) for name in _PLAIN}
        rows: dict[Key, Sketch] = {}
        for row in told["rows"]:
            key = (str(row["topic"]), int(row["partition"]), int(row["start_ms"]))
            rows[key] = rows.get(key, Sketch()) + from_row(row)
        stretches = tuple(
            Stretch(str(s["topic"]), int(s["partition"]), int(s["begin"]), int(s["end"])) for s in told["positions"]
        )
        unsure = tuple(
            Unsure(str(u["topic"]), int(u["partition"]), int(u["from_ms"]), int(u["to_ms"]), int(u["records"]))
            for u in told["unsure"]
        )
    except NoReport:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as trouble:
        raise NoReport(f"{type(trouble).__name__}: {trouble}") from None
    return Report(**plain, rows=rows, stretches=stretches, unsure=unsure)


def _checked(name: str, value: Any) -> Any:
    wanted = int if name in _NUMBERS else str if name in _WORDS else bool
    if type(value) is not wanted:
        raise NoReport(f"{name} is {value!r:.60}")
    return value


def parts(report: Report, most: int = MOST_BYTES) -> list[tuple[Report, bytes]]:
    """The same in messages that a broker takes, numbered on from its number. The last has what they account for."""
    whole = encode(report)
    if len(whole) <= most or len(report.rows) < 2:
        return [(report, whole)]
    pieces = list(_pieces(list(report.rows.items()), -(-2 * len(whole) // most)))
    split = [
        replace(report, seq=report.seq + n, rows=dict(piece), closed=False, stretches=(), unsure=(), unaudited=0)
        for n, piece in enumerate(pieces)
    ]
    split[-1] = replace(
        split[-1], closed=report.closed, stretches=report.stretches, unsure=report.unsure, unaudited=report.unaudited
    )
    return [(part, encode(part)) for part in split]


def _pieces(rows: Sequence[tuple[Key, Sketch]], count: int) -> Iterator[Sequence[tuple[Key, Sketch]]]:
    size = max(1, -(-len(rows) // count))
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
