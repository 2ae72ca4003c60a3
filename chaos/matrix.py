"""Delivery under every combination of settings: what the contract permits, what a schedule decides, what was seen.

Idempotence needs acks=all, so a producer has four ways to send; with min ISR 1 or 2 and unclean election on or off that
makes sixteen. Pure: the scenario runs them, the page prints them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from chaos.contract import LOSS, permitted_by

FAULTS = ("kill-exposed", "clean-kill", "unclean", "lost-acks")
CLAIMS = ("kafka", "acks-1-is-safe")  # whose word on what may happen a run is held to


@dataclass(frozen=True, slots=True)
class Combination:
    acks: str
    idempotence: bool
    min_isr: int
    unclean: bool

    @property
    def producer(self) -> str:
        """Combinations that differ in their topic alone are written by one producer."""
        return "producer-idempotent" if self.idempotence else f"producer-acks-{self.acks}"

    @property
    def topic(self) -> str:
        sent = "idempotent" if self.idempotence else f"acks-{self.acks}"
        return f"{sent}-isr-{self.min_isr}-unclean-{'on' if self.unclean else 'off'}"

    @property
    def settings(self) -> dict[str, str]:
        """By Kafka's names."""
        return {
            "acks": self.acks,
            "enable.idempotence": str(self.idempotence).lower(),
            "min.insync.replicas": str(self.min_isr),
            "unclean.leader.election.enable": str(self.unclean).lower(),
        }

    @property
    def sentence(self) -> str:
        said = f"acks={self.acks}" + (" with idempotence" if self.idempotence else "")
        return f"{said}, min ISR {self.min_isr}, unclean election {'on' if self.unclean else 'off'}"


SENDING = (("0", False), ("1", False), ("all", False), ("all", True))
COMBINATIONS = tuple(
    Combination(acks, idempotence, min_isr, unclean)
    for (acks, idempotence), min_isr, unclean in product(SENDING, (1, 2), (False, True))
)


@dataclass(frozen=True, slots=True)
class Decided:
    """Whether exactly the exposed records are lost, or there twice (True), or none is (False); None: a matter of chance."""

    lost: bool | None
    twice: bool | None


def permitted(combination: Combination, claim: str = "kafka") -> frozenset[str]:
    """The anomalies that the contract leaves room for; or a claim that is held against it, to see that it is found out."""
    room = frozenset(permitted_by(combination.settings))
    return room - LOSS if claim == "acks-1-is-safe" and combination.acks == "1" else room


def decided(fault: str, combination: Combination, *, elr: bool) -> Decided:
    """What the schedule of a fault makes of the records it exposes. `elr`: are there eligible leader replicas?"""
    every, retried = combination.acks == "all", combination.acks != "0"
    if fault == "kill-exposed":
        return Decided(lost=not every, twice=False)
    if fault == "lost-acks":
        return Decided(lost=False, twice=retried and not combination.idempotence)
    if fault == "unclean":
        # At min ISR 2 acks=all is refused by a leader alone, so nothing was promised that could be lost.
        acknowledged = not every or combination.min_isr == 1
        return Decided(lost=acknowledged and taken_over(combination, elr=elr), twice=False)
    # A plain kill exposes nothing on purpose. What is in flight at that moment is lost or sent again by chance.
    return Decided(lost=False if every else None, twice=False if combination.idempotence or not retried else None)


def taken_over(combination: Combination, *, elr: bool) -> bool:
    """May the follower that was last in sync lead once the leader is gone? By an unclean election, or as a member of the
    ELR, which a partition has only while its ISR is below min ISR."""
    return combination.unclean or (elr and combination.min_isr > 1)


@dataclass(frozen=True, slots=True)
class Row:
    """One combination in one run."""

    combination: Combination
    topic: str
    permitted: tuple[str, ...]
    observed: Mapping[str, int]
    acknowledged: int
    exposed: int
    lost: int
    twice: int
    decided: Decided
    exact: bool  # lost and twice are the very sets that the schedule decides, where it does

    @property
    def forbidden(self) -> dict[str, int]:
        return {name: count for name, count in self.observed.items() if count and name not in self.permitted}

    def facts(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the closed ledger has of one topic: sets of values, and what the checkers found."""

    acknowledged: frozenset[int]
    exposed: frozenset[int]
    lost: frozenset[int]
    twice: frozenset[int]
    observed: Mapping[str, int]


def row(combination: Combination, topic: str, seen: Seen, *, fault: str, claim: str, elr: bool) -> Row:
    outcome = decided(fault, combination, elr=elr)
    return Row(
        combination=combination,
        topic=topic,
        permitted=tuple(sorted(permitted(combination, claim))),
        observed={name: count for name, count in seen.observed.items() if count},
        acknowledged=len(seen.acknowledged),
        exposed=len(seen.exposed),
        lost=len(seen.lost),
        twice=len(seen.twice),
        decided=outcome,
        exact=_exactly(outcome.lost, seen.lost, seen.exposed) and _exactly(outcome.twice, seen.twice, seen.exposed),
    )


def room_in_any(claim: str = "kafka") -> list[str]:
    """What some combination permits, for the manifest. Whether it was the right one `within_contract` says, one by one."""
    return sorted({name for combination in COMBINATIONS for name in permitted(combination, claim)})


def within_contract(rows: Iterable[Row]) -> tuple[bool, str]:
    rows = list(rows)
    broken = [f"{row.combination.sentence}: {_in_words(row.forbidden)}" for row in rows if row.forbidden]
    words = f"In none of {len(rows)} combinations is anything seen that its settings do not permit"
    return not broken, f"{words}; {_list(broken) if broken else 'so it is'}."


def as_decided(rows: Iterable[Row]) -> tuple[bool, str]:
    rows = list(rows)
    wrong = [
        f"{row.combination.sentence}: {row.lost} lost and {row.twice} twice of {row.exposed}"
        for row in rows
        if not row.exact
    ]
    lose, double = _count(rows, lambda row: row.decided.lost), _count(rows, lambda row: row.decided.twice)
    known = sum(outcome is not None for row in rows for outcome in (row.decided.lost, row.decided.twice))
    where = f"Where the schedule decides, {known} times of {2 * len(rows)},"
    words = f"{where} exactly the exposed records are lost in {lose} combinations, there twice in {double}, else none"
    return not wrong, f"{words}; {_list(wrong) if wrong else 'so it is'}."


def _exactly(outcome: bool | None, found: frozenset[int], exposed: frozenset[int]) -> bool:
    return outcome is None or found == (exposed if outcome else frozenset())


def _count(rows: Iterable[Row], which: Callable[[Row], bool | None]) -> int:
    return sum(which(row) is True for row in rows)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _list(words: list[str]) -> str:
    return (
        f"{len(words)} are otherwise: " + "; ".join(words[:4]) + (f"; and {len(words) - 4} more" if len(words) > 4 else "")
    )
