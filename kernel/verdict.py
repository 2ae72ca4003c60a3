"""What a trial ends in: a verdict, the findings it rests on, and the names of everything that can be found."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MOST_FINDINGS = 100  # per anomaly; the count is of all

# Every anomaly, in the order in which they are reported: what explains others comes first.
ANOMALIES: dict[str, str] = {
    "inconsistent-offsets": "one offset holds two values",
    "duplicate": "one value is in the log twice",
    "lost-write": "an acknowledged record is gone, and later ones are there",
    "unseen-write": "an acknowledged record lies beyond the end of the log",
    "aborted-read": "a record that was never to be seen was read",
    "phantom-read": "a record was read that nobody sent",
    "nonmonotonic-poll": "a reader went back inside one assignment",
    "poll-skip": "a reader passed over a record inside one assignment",
    "nonmonotonic-send": "an ordered producer's records are out of order",
    "torn-transaction": "a part of a transaction is visible, another is not",
    "precommitted-read": "a client read its own transaction before it ended",
    "write-read-cycle": "transactions read each other's writes in a ring",
    "commit-ahead": "a group committed past a record it had not read",
}


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105  (a verdict, no password)
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"

    @property
    def exit_code(self) -> int:
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 3}[self]

    @staticmethod
    def worst(verdicts: Iterable["Verdict"]) -> "Verdict":
        return max(verdicts, key=list(Verdict).index, default=Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly that was found, and where. `sentence` says it in words."""

    name: str
    sentence: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    value: int | None = None
    txn: str | None = None
    client: str | None = None
    op: int | None = None

    def facts(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Examined:
    """What an engine found in a ledger, whatever it counts with: all that the rule of the verdict asks for."""

    rows: int
    acknowledged: int  # send rows that are ok
    read: int  # values that somebody read
    undrained: list[tuple[str, int]]  # partitions that were written and not read to their end
    counts: dict[str, int]  # every anomaly, zeros too
    findings: list[Finding]
    troubles: list[str] = field(default_factory=list)  # sentences about what could not be judged
