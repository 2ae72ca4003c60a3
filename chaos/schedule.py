"""What is done when: a list of faults with their times, drawn from a seed or read from a file.

A schedule may name roles; each step is resolved when it is injected and saved as it was, so that the file replays the run
and not merely the intention. Drawn schedules never break more nodes at once than quorum and min ISR survive: whatever
they find is a finding, not the price of too much force.
"""

import json
import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaos.faults import catalogue
from chaos.faults.by_chance import FAMILIES, World, busy_period, survivable
from chaos.faults.target import CanBeAsked
from kernel.errors import UsageError

FORMAT = 1
PERIOD_S = 30.0  # of a drawn schedule: faults begin in its first fifth, are over by three fifths; the rest is for recovery
QUIET = 0.25  # of the periods: only a cluster that is left alone shows that it recovers


@dataclass(frozen=True, slots=True)
class Step:
    """`fault` is its JSON form, with ids or roles; `at_s` counts from the moment the traffic is steady."""

    at_s: float
    fault: dict[str, Any]
    hold_s: float

    def resolved(self, cluster: CanBeAsked, chance: random.Random | None = None) -> "Step":
        return replace(self, fault=catalogue.resolved(self.fault, cluster, chance))

    def to_json(self) -> dict[str, Any]:
        return {"at_s": self.at_s, "hold_s": self.hold_s, **self.fault}


@dataclass(frozen=True, slots=True)
class Schedule:
    seed: int
    steps: tuple[Step, ...] = field(default=())

    @staticmethod
    def random(
        seed: int,
        *,
        brokers: Sequence[int],
        partitions: Sequence[tuple[str, int]],
        duration_s: float,
        families: Collection[str] = FAMILIES,
        clients: Sequence[str] = (),
        voters: int | None = None,
        replication: int = 3,
        min_isr: int = 2,
        period_s: float = PERIOD_S,
    ) -> "Schedule":
        """The same seed and the same cluster give the same schedule."""
        if not (duration_s > 0 and period_s > 0):
            raise UsageError(f"duration {duration_s:g} s in periods of {period_s:g} s is no time: give more than 0.")
        bearable = survivable(len(brokers), voters=voters, replication=replication, min_isr=min_isr)
        world = World(tuple(brokers), tuple(partitions), tuple(clients), bearable)
        usable = world.usable(families)
        chance, period = random.Random(seed), min(period_s, duration_s)
        steps: list[Step] = []
        for number in range(int(duration_s / period)):
            quiet = chance.random() < QUIET
            if quiet and number:  # the first is never quiet: a trial without any fault would prove nothing
                continue
            for fault in busy_period(usable, world, chance):
                at, hold = period * (number + chance.uniform(0, 0.2)), period * chance.uniform(0.2, 0.4)
                steps.append(Step(round(at, 3), fault, round(hold, 3)))
        return Schedule(seed, tuple(sorted(steps, key=lambda step: step.at_s)))

    @staticmethod
    def load(file: Path, *, nodes: Collection[int] = ()) -> "Schedule":
        """A schedule from its file, checked whole. `nodes`, if given, are all that the cluster has."""
        try:
            content = json.loads(file.read_text())
        except FileNotFoundError:
            raise UsageError(f"{file} is missing: give the schedule.json of a run.", file=file)
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read as JSON: {error}.", file=file)
        return Schedule.from_json(content, where=str(file), nodes=nodes)

    @staticmethod
    def from_json(content: Any, *, where: str = "schedule", nodes: Collection[int] = ()) -> "Schedule":
        _top(content, where)
        steps = tuple(_step(step, f"{where}: step {number}", nodes) for number, step in enumerate(content["steps"], 1))
        return Schedule(content["seed"], steps)

    def with_step(self, number: int, step: Step) -> "Schedule":
        """With one step (counted from 0) as it really was."""
        return replace(self, steps=(*self.steps[:number], step, *self.steps[number + 1 :]))

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "seed": self.seed, "steps": [step.to_json() for step in self.steps]}

    def save(self, file: Path) -> None:
        """Whole or not at all."""
        draft = file.with_name(f".{file.name}.new")
        draft.write_text(json.dumps(self.to_json(), indent=1) + "\n")
        draft.rename(file)


def _top(content: Any, where: str) -> None:
    known = ("format", "seed", "steps")
    if not isinstance(content, dict):
        raise UsageError(f"{where} holds {type(content).__name__}, not an object with {', '.join(known)}.")
    for name in content:
        if name not in known:
            raise UsageError(f"{where}: field {name!r} is not known: a schedule has {', '.join(known)}.", field=name)
    _must(content.get("format") == FORMAT, where, "format", content.get("format"), f"{FORMAT}, which this version reads")
    _must(type(content.get("seed")) is int, where, "seed", content.get("seed"), "a whole number")
    _must(isinstance(content.get("steps"), list), where, "steps", content.get("steps"), "a list")


def _step(step: Any, where: str, nodes: Collection[int]) -> Step:
    if not isinstance(step, dict):
        raise UsageError(f"{where} is {step!r}, not an object with at_s, hold_s, fault and the fault's own fields.")
    for name in ("at_s", "hold_s"):
        _must(_is_time(step.get(name)), where, name, step.get(name), "a number of seconds, 0 or more")
    fault = {name: value for name, value in step.items() if name not in ("at_s", "hold_s")}
    try:
        catalogue.check(fault, nodes=nodes)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", **error.facts) from error
    return Step(float(step["at_s"]), fault, float(step["hold_s"]))


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _must(good: bool, where: str, name: str, value: Any, be: str) -> None:
    if not good:
        raise UsageError(f"{where}: {name} is {value!r}, not {be}.", field=name, value=value)
