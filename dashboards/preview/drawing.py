"""What came of drawing a panel, and what all kinds of panels share: series with their names, and one value of each."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from dashboards.preview.fields import Field, field
from dashboards.preview.naming import names, natural
from dashboards.preview.values import Scene

GREATEST = 1e200
MOST_LINES = 60  # that are drawn
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Drawing:
    body: Markup
    empty: bool = False  # there is nothing to see
    readout: Mapping[str, Any] | None = None  # what the page's script needs to say values where one points
    notes: tuple[str, ...] = ()  # what the reader should know of it


NOTHING = Drawing(Markup(""), empty=True)


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    field: Field
    values: tuple[float | None, ...]
    labels: Mapping[str, str]

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]


def series(scene: Scene) -> list[Series]:
    """Those that have a value, by query and then by name; what cannot be drawn, as NaN, is no value."""
    found = []
    for asked in scene.asked:
        own = []
        for line, name in zip(asked.answer.lines, names(asked, scene.variables), strict=True):
            look = field(scene.panel, name, ref=asked.target.ref)
            values = tuple(finite(value, negative=look.negative) for value in line.values)
            if not look.hidden and any(value is not None for value in values):
                own.append(Series(look.name or name, look, values, line.labels))
        found += sorted(own, key=lambda one: natural(one.name))
    return found


def finite(value: float | None, *, negative: bool = False) -> float | None:
    """What is no number, or so great that the distance of two would be none."""
    return None if value is None or math.isnan(value) or abs(value) > GREATEST else -value if negative else value


def bounded(found: list[Series]) -> tuple[list[Series], tuple[str, ...]]:
    left_out = len(found) - MOST_LINES
    return found[:MOST_LINES], (f"{left_out} more series are not drawn.",) if left_out > 0 else ()


def reduced(values: Values, how: str) -> float | None:
    """One value of many, by Grafana's name for the way."""
    known = [value for value in values if value is not None]
    if how == "last":
        return values[-1] if values else None
    if how == "count":
        return float(len(known))
    return _WAYS.get(how, _last)(known) if known else None


def calculation(options: Mapping[str, Any]) -> str:
    chosen = options.get("reduceOptions")
    calcs = chosen.get("calcs") if isinstance(chosen, Mapping) else None
    return str(calcs[0]) if isinstance(calcs, list) and calcs else "lastNotNull"


def _last(values: list[float]) -> float:
    return values[-1]


_WAYS: dict[str, Callable[[list[float]], float]] = {
    "lastNotNull": _last,
    "first": lambda values: values[0],
    "firstNotNull": lambda values: values[0],
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
    "total": sum,
    "range": lambda values: max(values) - min(values),
    "delta": lambda values: sum(max(0.0, after - before) for before, after in pairwise(values)),
    "diff": lambda values: values[-1] - values[0],
}


def single(scene: Scene) -> Iterator[tuple[Series, float]]:
    """Every series with the one value that a panel of numbers shows of it."""
    how = calculation(scene.panel.options)
    for one in series(scene):
        value = reduced(one.values, how)
        if value is not None:
            yield one, value
