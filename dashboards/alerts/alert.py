"""One alert rule as a value, and the situation that proves it.

A rule without a proof cannot be written: the fields that say what makes it fire have no default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["critical", "warning"]  # critical wakes somebody; warning waits for the morning


@dataclass(frozen=True, slots=True)
class Rise:
    """A counter that goes up by so much each step, for as long as it is broken."""

    each: float


@dataclass(frozen=True, slots=True)
class Event:
    """A counter that goes up by so much, once."""

    by: float


@dataclass(frozen=True, slots=True)
class Gone:
    """No series, for as long as it is broken."""


Change = float | Rise | Event | Gone
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Alert:
    name: str
    expression: str
    hold: str  # how long it must be so before it fires; "0s": at once
    severity: Severity
    summary: str  # one sentence with the labels in it
    description: str  # what it means, for whoever is woken

    # The proof: how a healthy cluster's series change while it is broken (see healthy.py), and what must come of it.
    broken: Mapping[str, Change]
    labels: Labels  # the alert's, besides its severity
    fires: str  # so long after it broke, at the latest
    clears: str  # so long after it healed, at the latest
    also: Mapping[str, Labels] = field(default_factory=dict)  # alerts that rightly fire too: name → labels

    @property
    def runbook(self) -> str:
        return f"{self.name}.md"
