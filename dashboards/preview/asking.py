"""Asks a Prometheus everything a dashboard wants to know: a few questions at a time, each once, none for ever.

Nothing that goes wrong with one question spoils the page: the panel gets the sentence instead of the answer.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from dashboards.preview.values import Answer, Asked, Line, Question
from dashboards.preview.window import Window
from dashboards.reading import Dashboard, Panel, Target
from dashboards.variables import filled, unfilled
from kernel.errors import SuiteError

AT_ONCE = 4
PATIENCE = 8  # unanswered questions in a row, after which the rest is not asked
OVER_TIME = ("timeseries", "graph", "state-timeline", "status-history")
AT_THE_END = ("table", "table-old")


class Value(Protocol):
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def value(self) -> float: ...


class Course(Protocol):
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def points(self) -> Sequence[tuple[float, float]]: ...


class Client(Protocol):
    """`dashboards.prometheus.Prometheus`, or who answers like it. A question it refuses by the error `refused`."""

    def query(self, expression: str, at: float | None = None) -> Sequence[Value]: ...
    def query_range(self, expression: str, start: float, end: float, step: float) -> Sequence[Course]: ...


def ask(client: Client, dashboard: Dashboard, values: Mapping[str, str], window: Window) -> dict[int, tuple[Asked, ...]]:
    """By the panel's place in the dashboard."""
    wanted = {
        place: [(target, question(panel, target, values, window)) for target in panel.queries]
        for place, panel in enumerate(dashboard.panels)
    }
    answers = answered(client, {one for asked in wanted.values() for _, one in asked}, window)
    return {place: tuple(Asked(target, one, answers[one]) for target, one in asked) for place, asked in wanted.items()}


def question(panel: Panel, target: Target, values: Mapping[str, str], window: Window) -> Question:
    """Over time or at its end, as the panel draws it."""
    instant = panel.type in AT_THE_END or (panel.type not in OVER_TIME and (target.instant or target.format == "table"))
    expression = filled(
        target.expression,
        values,
        rate_interval=window.rate_interval,
        interval=f"{window.step}s",
        range_seconds=round(window.length),
    )
    return Question(expression, instant)


def answered(client: Client, questions: Iterable[Question], window: Window) -> dict[Question, Answer]:
    unanswered, lock = 0, threading.Lock()

    def asked(one: Question) -> Answer:
        nonlocal unanswered
        missing = unfilled(one.expression)
        if missing:
            return Answer(trouble=f"It needs a value for {', '.join(missing)}: say --var {missing[0]}=…")
        if unanswered >= PATIENCE:
            return Answer(trouble=f"Not asked: the Prometheus had not answered {PATIENCE} questions before.")
        try:
            answer = Answer(_lines(client, one, window))
        except SuiteError as trouble:
            refused = trouble.facts.get("reason")  # it was understood: the next may well be answered
            with lock:
                unanswered = 0 if refused else unanswered + 1
            return Answer(trouble=trouble.message)
        with lock:
            unanswered = 0
        return answer

    ordered = sorted(set(questions), key=lambda one: (one.expression, one.instant))
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="preview") as pool:
        return dict(zip(ordered, pool.map(asked, ordered), strict=True))


def on_grid(points: Iterable[tuple[float, float]], window: Window) -> tuple[float | None, ...]:
    """A value for every point of the window: what is missing stays missing."""
    values: list[float | None] = [None] * window.points
    for at, value in points:
        place = window.place(at)
        if 0 <= place < len(values):
            values[place] = value
    return tuple(values)


def _lines(client: Client, one: Question, window: Window) -> tuple[Line, ...]:
    if one.instant:
        return tuple(Line(dict(sample.labels), (sample.value,)) for sample in client.query(one.expression, window.latest))
    found = client.query_range(one.expression, window.start, window.end, window.step)
    return tuple(Line(dict(course.labels), on_grid(course.points, window)) for course in found)
