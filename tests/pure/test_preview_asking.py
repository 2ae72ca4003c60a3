"""What a preview asks of a Prometheus: each question once, a few at a time, none after it stopped answering."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from dashboards.preview.asking import AT_ONCE, PATIENCE, answered, ask, on_grid, question
from dashboards.preview.values import Question
from dashboards.prometheus import BadExpression, Sample, Series
from dashboards.reading import Panel, Target, dashboard_of
from kernel.errors import UsageError
from tests.pure.preview_example import START, WINDOW


@dataclass
class Recorder:
    """Answers everything with one series, or with an error; remembers what it was asked, and how many were waiting."""

    error: Exception | None = None
    slow: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)
    most: int = 0
    _waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def query(self, expression: str, at: float | None = None) -> Sequence[Sample]:
        self._note("instant", expression)
        assert at == WINDOW.latest
        return [Sample({"node": "1"}, 7.0, WINDOW.end)]

    def query_range(self, expression: str, start: float, end: float, step: float) -> Sequence[Series]:
        self._note("range", expression)
        assert (start, end, step) == (WINDOW.start, WINDOW.end, WINDOW.step)
        return [Series({"node": "1"}, ((start, 1.0), (end, 2.0)))]

    def _note(self, how: str, expression: str) -> None:
        with self._lock:
            self.asked.append((how, expression))
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        time.sleep(self.slow)
        with self._lock:
            self._waiting -= 1
        if self.error:
            raise self.error


def _questions(count: int) -> list[Question]:
    return [Question(f"q{number:03}", False) for number in range(count)]


def test_a_question_of_two_panels_is_asked_once():
    target = {"refId": "A", "expr": "sum(up)"}
    board = dashboard_of(
        {"panels": [{"type": "timeseries", "targets": [target, target]}, {"type": "graph", "targets": [target]}]}
    )
    client = Recorder()
    found = ask(client, board, {}, WINDOW)

    assert client.asked == [("range", "sum(up)")]
    assert [[len(one.answer.lines) for one in found[place]] for place in (0, 1)] == [[1, 1], [1]]


def test_a_few_are_asked_at_a_time():
    client = Recorder(slow=0.02)
    answered(client, _questions(20), WINDOW)

    assert len(client.asked) == 20 and 1 < client.most <= AT_ONCE


def test_a_prometheus_that_does_not_answer_is_left_alone_after_a_while():
    client = Recorder(UsageError("nobody answers"))
    found = answered(client, _questions(50), WINDOW)

    assert PATIENCE <= len(client.asked) < PATIENCE + AT_ONCE
    assert {one.trouble for one in found.values()} == {
        "nobody answers",
        f"Not asked: the Prometheus had not answered {PATIENCE} questions before.",
    }


def test_a_refused_expression_does_not_keep_others_from_being_asked():
    client = Recorder(BadExpression("Prometheus refuses it.", reason="parse error"))
    answered(client, _questions(50), WINDOW)

    assert len(client.asked) == 50


def test_a_variable_without_a_value_is_named_and_not_sent():
    client = Recorder()
    found = answered(client, [Question("topk($count, up)", False)], WINDOW)

    assert client.asked == [] and next(iter(found.values())).trouble == "It needs a value for count: say --var count=…"


def test_what_is_missing_in_the_answer_is_missing_on_the_line():
    points = [(START + 10 * place, float(place)) for place in (0, 1, 4)] + [(START - 50, 9.0), (START + 99_999, 9.0)]
    line = on_grid(points, WINDOW)

    assert line[:6] == (0.0, 1.0, None, None, 4.0, None) and len(line) == WINDOW.points == 361


@pytest.mark.parametrize(
    ("kind", "instant", "form", "expected"),
    [
        ("timeseries", False, "time_series", False),
        ("timeseries", True, "time_series", False),
        ("state-timeline", False, "time_series", False),
        ("stat", True, "time_series", True),
        ("stat", False, "time_series", False),
        ("bargauge", False, "table", True),
        ("table", False, "time_series", True),
    ],
)
def test_over_time_or_at_its_end_as_the_panel_draws_it(kind: str, instant: bool, form: str, expected: bool):
    target = Target("A", "up", instant=instant, format=form)

    assert question(Panel(1, "x", kind, (target,)), target, {}, WINDOW).instant is expected


def test_a_single_value_is_asked_for_at_the_very_end():
    late = replace(WINDOW, asked_for=WINDOW.end + 7.5)
    times: list[float | None] = []

    class Clock(Recorder):
        def query(self, expression: str, at: float | None = None) -> Sequence[Sample]:
            times.append(at)
            return []

    answered(Clock(), [Question("up", True)], late)

    assert times == [WINDOW.end + 7.5]


def test_variables_are_filled_in_with_the_window():
    target = Target("A", 'rate(x{cluster=~"$cluster"}[$__rate_interval]) + y[$__range:$__interval]')

    assert question(Panel(1, "x", "timeseries", (target,)), target, {"cluster": "main"}, WINDOW).expression == (
        'rate(x{cluster=~"main"}[60s]) + y[3600s:10s]'
    )
