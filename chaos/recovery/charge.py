"""Which fault has to answer for a dark moment of a partition, and up to which length it may.

Faults overlap, and a gap does not say who made it. Each moment is charged to one fault only, so that no gap is counted
twice and none is dropped:

1. The latest fault that touches the partition (or may: its `affected` is unknown) answers, from its begin on.
2. A fault that should not touch the partition answers only once those before it are over there: healed, and the
   partition not dark.
   And only until it is healed: what bringing a broker back costs the machine says nothing of where its fault reached.
3. While an earlier fault is not over, the later of the two deadlines counts; if either has none, nothing is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chaos.bounds import Bound
from chaos.recovery.attempts import NEVER
from chaos.recovery.gaps import SECOND
from kernel.errors import UsageError

UNTOUCHED = "the fault should not have touched it"


@dataclass(frozen=True)
class Fault:
    id: str
    begin: int
    healed: int
    affected: frozenset[tuple[str, int]] | None
    bounds: dict[str, Bound]
    noise: Bound | None

    def touches(self, place: tuple[str, int]) -> bool | None:
        return None if self.affected is None else place in self.affected

    def bound(self, kind: str, place: tuple[str, int]) -> Bound | None:
        touched = self.touches(place)
        return None if touched is None else self.bounds.get(kind) if touched else self.noise


@dataclass(frozen=True)
class Charge:
    """A fault answers for the partition's darkness between `begin` and `end`."""

    fault: Fault
    begin: int
    end: int
    touched: bool | None
    bound: Bound | None


def faults_in(events: list[dict[str, Any]]) -> list[Fault]:
    healed = {event.get("id"): int(event["t_ns"]) for event in reversed(events) if event["event"] == "heal"}
    return [_fault(event, healed) for event in events if event["event"] == "fault"]


def charges(faults: list[Fault], kind: str, place: tuple[str, int], dark_at: Callable[[int], bool]) -> list[Charge]:
    """At most one for each fault, in order; none for a fault that another one covers on this partition."""
    found: list[Charge] = []
    for fault in faults:
        dark = dark_at(fault.begin)
        running = [c for c in found if c.touched is not False and (c.fault.healed > fault.begin or dark)]
        touched = fault.touches(place)
        if touched is False and running:
            continue
        if found:
            found[-1] = replace(found[-1], end=min(found[-1].end, fault.begin))
        bound = _later_deadline(fault, fault.bound(kind, place), running)
        found.append(Charge(fault, fault.begin, fault.healed if touched is False else NEVER, touched, bound))
    return found


def _later_deadline(fault: Fault, bound: Bound | None, running: list[Charge]) -> Bound | None:
    for charge in running:
        if bound is None or charge.bound is None:
            return None
        left = charge.bound.seconds - (fault.begin - charge.begin) / SECOND
        if left > bound.seconds:
            bound = Bound(left, f"what is left of {charge.fault.id}: {charge.bound.why}")
    return bound


def _fault(event: dict[str, Any], healed: dict[Any, int]) -> Fault:
    try:
        return _read(event, healed)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        wanted = "id, affected as [[topic, partition], …], bounds and noise_s in seconds"
        raise UsageError(f"events.jsonl: the fault at t_ns {event['t_ns']} cannot be read ({error!r}): give {wanted}.")


def _read(event: dict[str, Any], healed: dict[Any, int]) -> Fault:
    bounds, affected, noise = event.get("bounds") or {}, event.get("affected"), event.get("noise_s")
    why = str(bounds.get("why", "no reason given"))
    return Fault(
        id=str(event["id"]),
        begin=int(event["t_ns"]),
        healed=healed.get(event["id"], NEVER),
        affected=None if affected is None else frozenset((str(topic), int(partition)) for topic, partition in affected),
        bounds={kind: Bound(float(bounds[kind]), why) for kind in ("send", "poll") if bounds.get(kind) is not None},
        noise=None if noise is None else Bound(float(noise), UNTOUCHED),
    )
