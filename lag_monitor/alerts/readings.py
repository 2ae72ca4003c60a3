"""What of a verdict goes into a notice, as one judge or the other sees it. Pure."""

from dataclasses import dataclass
from typing import Literal

from lag_monitor.verdict import Burrow, Gravity, GroupVerdict, PartitionVerdict

Judge = Literal["own", "burrow"]
WORST = 5  # partitions that a notice names; whoever wants more asks the monitor
BURROW_GRAVITY = {Burrow.NOTFOUND: Gravity.OK, Burrow.OK: Gravity.OK, Burrow.WARN: Gravity.WARNING}  # the rest: ERROR


@dataclass(frozen=True, slots=True)
class Worst:
    topic: str
    partition: int
    status: str
    lag: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Kept with the incident, because there is something to tell also when the monitor is blind, or the group gone."""

    status: str  # the judge's own word: STALLED of ours, ERR of Burrow's
    rank: int  # of two, the greater is the graver, also of two judges
    gravity: Gravity
    reason: str
    lag: int
    seconds: float | None
    since: float
    partitions: tuple[Worst, ...] = ()


def gravity_of(verdict: GroupVerdict, judge: Judge) -> Gravity:
    return verdict.gravity if judge == "own" else BURROW_GRAVITY.get(verdict.burrow, Gravity.ERROR)


def reading(verdict: GroupVerdict, judge: Judge) -> Reading:
    gravity = gravity_of(verdict, judge)
    code = verdict.status if judge == "own" else verdict.burrow
    worst = tuple(_worst(part, judge) for part in verdict.partitions if _ill(part, judge))[:WORST]
    return Reading(
        status=code.name,
        rank=gravity * 100 + code,
        gravity=gravity,
        reason=verdict.reason if judge == "own" else _in_burrows_words(verdict, worst),
        lag=verdict.lag,
        seconds=verdict.seconds,
        since=verdict.since,
        partitions=worst,
    )


def _ill(part: PartitionVerdict, judge: Judge) -> bool:
    return part.status.gravity > Gravity.OK if judge == "own" else part.burrow > Burrow.OK


def _worst(part: PartitionVerdict, judge: Judge) -> Worst:
    name = part.status.name if judge == "own" else part.burrow.name
    return Worst(part.topic, part.partition, name, part.lag, part.reason)


def _in_burrows_words(verdict: GroupVerdict, worst: tuple[Worst, ...]) -> str:
    """Burrow gives codes and no reasons; the verdict's reason is our own judge's, and may say that all is well."""
    where = ", ".join(f"{part.status} on {part.topic}-{part.partition}" for part in worst)
    return f"Burrow's rules say {verdict.burrow.name}" + (f": {where}" if where else "")
