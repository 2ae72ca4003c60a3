"""Four lost neighbours are one line, not four: consecutive offsets of one anomaly and partition become a range."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chaos.report.words import listed, place
from kernel.verdict import ANOMALIES

# What is said of several neighbours; of one alone, its own sentence is better.
TOGETHER = {
    "inconsistent-offsets": "{n} offsets hold two values each",
    "duplicate": "{n} records are in the log more than once",
    "lost-write": "{n} records acknowledged to {clients}, never read",
    "unseen-write": "{n} records acknowledged to {clients}, beyond the end of the log",
    "aborted-read": "{n} records read that were never to be seen",
    "phantom-read": "{n} records read that nobody sent",
    "nonmonotonic-poll": "{clients} went back {n} times",
    "poll-skip": "{clients} passed over records {n} times",
    "nonmonotonic-send": "{n} records of {clients} out of order",
    "precommitted-read": "{clients} read {n} records before their transaction ended",
    "commit-ahead": "{clients} committed {n} times past what it had read",
}


@dataclass(frozen=True, slots=True)
class Fold:
    """Findings that are neighbours in one partition; one alone where there is no offset."""

    findings: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        return str(self.findings[0].get("name", ""))

    @property
    def where(self) -> str:
        first, last = self.findings[0], self.findings[-1]
        if first.get("topic") is None or first.get("partition") is None:
            return _nowhere(first)
        here = place(first["topic"], first["partition"])
        if first.get("offset") is None:
            return here
        ends = (first["offset"], last["offset"])
        return f"{here} @ {ends[0]}" if ends[0] == ends[1] else f"{here} @ {ends[0]}-{ends[1]}"

    @property
    def values(self) -> str:
        known = [int(finding["value"]) for finding in self.findings if finding.get("value") is not None]
        if len(known) > 2 and known == list(range(known[0], known[-1] + 1)):
            return f"{known[0]}-{known[-1]}"
        return listed(known) or "–"

    @property
    def sentence(self) -> str:
        if len(self.findings) == 1 or self.name not in TOGETHER:
            return str(self.findings[0].get("sentence") or ANOMALIES.get(self.name, ""))
        clients = sorted({str(finding["client"]) for finding in self.findings if finding.get("client")})
        return TOGETHER[self.name].format(n=len(self.findings), clients=listed(clients) or "a client")


def fold(findings: Iterable[dict[str, Any]]) -> list[Fold]:
    """In the order in which anomalies are reported, then by partition and offset."""
    folds: list[Fold] = []
    for finding in sorted(findings, key=_order):
        if folds and _neighbours(folds[-1].findings[-1], finding):
            folds[-1] = Fold((*folds[-1].findings, finding))
        else:
            folds.append(Fold((finding,)))
    return folds


def _order(finding: dict[str, Any]) -> tuple[Any, ...]:
    names = list(ANOMALIES)
    name = finding.get("name")
    rank = names.index(name) if name in ANOMALIES else len(names)
    numbers = (finding.get("partition"), finding.get("offset"), finding.get("op"))
    return (rank, str(name), str(finding.get("topic") or ""), *(-1 if number is None else number for number in numbers))


def _neighbours(one: dict[str, Any], other: dict[str, Any]) -> bool:
    same = all(one.get(key) == other.get(key) for key in ("name", "topic", "partition"))
    if not same or one.get("offset") is None or other.get("offset") is None:
        return False
    return bool(0 <= other["offset"] - one["offset"] <= 1)


def _nowhere(finding: dict[str, Any]) -> str:
    if finding.get("txn"):
        return f"transaction {finding['txn']}"
    if finding.get("client"):
        return f"{finding['client']} op {finding.get('op')}"
    return "the run"
