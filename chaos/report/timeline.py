"""Events as stretches of time: phases, faults, who led a partition when, which consumer held it. Pure.

Every time here is in seconds since the first row of the ledger; what came before is cut at zero.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chaos.report.buckets import Change
from chaos.report.words import place

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stretch:
    begin: float
    end: float
    what: Any


@dataclass(frozen=True, slots=True)
class Fault:
    id: str
    kind: str
    sentence: str
    begin: float
    bite: float | None
    bitten: str  # what was seen of it
    end: float
    healed: bool


@dataclass(frozen=True, slots=True)
class Leadership:
    """One partition: who led it, and how many of its replicas were in sync."""

    leaders: list[Stretch]  # what: node, or None while it had no leader
    in_sync: list[Stretch]  # what: (in sync, replicas)


@dataclass(frozen=True, slots=True)
class Clock:
    """From the run's nanoseconds to the page's seconds."""

    begin_ns: int
    end_s: float

    def seconds(self, t_ns: int) -> float:
        return (t_ns - self.begin_ns) / 1e9

    def stretch(self, begin: float, end: float, what: Any) -> Stretch | None:
        begin, end = max(begin, 0.0), min(end, self.end_s)
        return Stretch(begin, end, what) if end > begin else None


def phases(events: Iterable[Event], clock: Clock) -> list[Stretch]:
    return _stretches([(clock.seconds(event["t_ns"]), event.get("phase")) for event in _of(events, "phase")], clock)


def faults(events: list[Event], clock: Clock) -> list[Fault]:
    return [
        _fault(event, [other for other in events if other.get("id") == event.get("id")], clock)
        for event in _of(events, "fault")
    ]


def leaderships(events: Iterable[Event], clock: Clock) -> dict[tuple[str, int], Leadership]:
    known: dict[tuple[str, int], list[Event]] = {}
    for event in _of(events, "partition"):
        if isinstance(event.get("partition"), int):
            known.setdefault((str(event.get("topic")), event["partition"]), []).append(event)
    return {key: _leadership(told, clock) for key, told in sorted(known.items())}


def leader_changes(leads: dict[tuple[str, int], Leadership]) -> list[tuple[float, str]]:
    return sorted(
        (later.begin, f"{place(*key)}: {_led(earlier.what)} → {_led(later.what)}")
        for key, lead in leads.items()
        for earlier, later in pairwise(lead.leaders)
    )


def controller_changes(events: Iterable[Event], clock: Clock) -> list[tuple[float, str]]:
    told = [(clock.seconds(event["t_ns"]), event.get("node")) for event in _of(events, "controller")]
    changed = [(when, node) for (_, before), (when, node) in pairwise(told) if node != before]
    return [(when, f"controller: broker {node}") for when, node in changed if 0 <= when <= clock.end_s]


def holdings(changes: Iterable[Change], clock: Clock) -> dict[str, list[Stretch]]:
    """Per consumer, what it held when; what: the partitions' names, sorted. While it held none there is no stretch."""
    held: dict[str, set[str]] = {}
    told: dict[str, list[tuple[float, Any]]] = {}
    for change in sorted(changes, key=lambda change: change.t_ns):
        mine = held.setdefault(change.client, set())
        if change.kind == "assign":
            mine.add(place(change.topic, change.partition))
        elif change.kind == "crash":
            mine.clear()
        else:
            mine.discard(place(change.topic, change.partition))
        told.setdefault(change.client, []).append((clock.seconds(change.t_ns), tuple(sorted(mine))))
    rows = {client: [one for one in _stretches(steps, clock) if one.what] for client, steps in sorted(told.items())}
    return {client: row for client, row in rows.items() if row}


def _fault(event: Event, same: list[Event], clock: Clock) -> Fault:
    begin = clock.seconds(event["t_ns"])
    bites, heals = (
        [other for other in same if other["event"] == name and other["t_ns"] >= event["t_ns"]] for name in ("bite", "heal")
    )
    return Fault(
        id=str(event.get("id")),
        kind=str(event.get("fault") or "fault"),
        sentence=str(event.get("sentence") or ""),
        begin=begin,
        bite=clock.seconds(bites[0]["t_ns"]) if bites else None,
        bitten=str(bites[0].get("sentence") or "") if bites else "",
        end=clock.seconds(heals[0]["t_ns"]) if heals else clock.end_s,
        healed=bool(heals),
    )


def _leadership(told: list[Event], clock: Clock) -> Leadership:
    times = [clock.seconds(event["t_ns"]) for event in told]
    sizes = [(_length(event.get("isr")), _length(event.get("replicas"))) for event in told]
    leaders = [node if isinstance(node := event.get("leader"), int) else None for event in told]
    return Leadership(
        _stretches(list(zip(times, leaders, strict=True)), clock), _stretches(list(zip(times, sizes, strict=True)), clock)
    )


def _stretches(steps: list[tuple[float, Any]], clock: Clock) -> list[Stretch]:
    """Each step lasts until the next; neighbours that say the same are one."""
    merged = [step for number, step in enumerate(steps) if number == 0 or step[1] != steps[number - 1][1]]
    pairs = pairwise([*merged, (clock.end_s, None)])
    drawn = (clock.stretch(begin, end, what) for (begin, what), (end, _) in pairs)
    return [one for one in drawn if one]


def _of(events: Iterable[Event], name: str) -> list[Event]:
    return [event for event in events if event["event"] == name]


def _length(nodes: object) -> int:
    return len(nodes) if isinstance(nodes, list) else 0


def _led(node: object) -> str:
    return "no leader" if node is None or node == -1 else f"broker {node}"
