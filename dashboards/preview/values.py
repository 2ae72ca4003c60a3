"""What is asked and what came back, as plain values: the border between asking a Prometheus and drawing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboards.preview.window import Window
from dashboards.reading import Dashboard, Panel, Target


@dataclass(frozen=True, slots=True)
class Question:
    expression: str  # with every variable filled in
    instant: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One series. A value for each point of the window, None where there is none; one value of an instant question."""

    labels: Mapping[str, str]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    lines: tuple[Line, ...] = ()
    trouble: str = ""  # why there is none, in a sentence


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of a panel with what Prometheus said to it."""

    target: Target
    question: Question
    answer: Answer


@dataclass(frozen=True, slots=True)
class Region:
    """Something that happened: a stretch of time, or without an end a moment. Milliseconds since 1970."""

    start_ms: int
    end_ms: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A dashboard and all that is needed to draw it."""

    dashboard: Dashboard
    window: Window
    now: float
    asked: Mapping[int, tuple[Asked, ...]]  # by the panel's place in the dashboard
    variables: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """What one panel is drawn of."""

    panel: Panel
    asked: tuple[Asked, ...]
    window: Window
    now: float
    variables: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
