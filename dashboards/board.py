"""A dashboard as a value: rows of panels, each with the queries it shows. Grafana's own form is made of it elsewhere.

So that what is shown can be read, tested and changed without knowing how Grafana writes it down.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Form(StrEnum):
    """How a panel draws what it asked for."""

    LINES = "timeseries"
    NUMBER = "stat"
    TABLE = "table"
    STATES = "state-timeline"


Unit = Literal["short", "bytes", "Bps", "cps", "s", "ms", "µs", "percent", "percentunit", "dateTimeFromNow", "none"]


@dataclass(frozen=True, slots=True)
class Query:
    expression: str
    legend: str = ""
    column: str = ""  # of a table: what the value is called,
    unit: Unit | None = None  # and what it is measured in, where that differs from the panel's


@dataclass(frozen=True, slots=True)
class Step:
    """From this value on, a colour."""

    value: float
    color: str


@dataclass(frozen=True, slots=True)
class Word:
    """What to show instead of a value."""

    value: float
    text: str
    color: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    queries: tuple[Query, ...]
    form: Form = Form.LINES
    unit: Unit = "short"
    description: str = ""
    width: int = 8  # of 24
    height: int = 7
    stacked: bool = False
    least: float | None = None
    most: float | None = None
    steps: tuple[Step, ...] = ()  # colours by value; green below the first
    words: tuple[Word, ...] = ()
    # What the panel says when there is nothing to show, and so why that may be. A panel without it must always have data.
    empty: str = ""
    hidden: tuple[str, ...] = ()  # of a table: labels and values that are no column


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a dashboard: the values of one label."""

    name: str
    label: str
    metric: str  # whose label it is
    within: str = '{cluster=~"$cluster"}'  # of what was chosen before

    @property
    def source(self) -> str:
        return f"label_values({self.metric}{'' if self.name == 'cluster' else self.within}, {self.name})"


@dataclass(frozen=True, slots=True)
class Board:
    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...] = ()

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(panel for row in self.rows for panel in row.panels)
