"""The exporter with nodes that answer, fail, hang and come back: nobody waits, and nothing old passes for new."""

import threading
from collections.abc import Callable

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporters.exporter import Exporter
from exporters.exposition import CONTENT_TYPES, Format, wanted_format
from exporters.readings import Reading
from exporters.selection import selected
from exporters.shaping import Shaper
from exporters.target import Target
from kernel.errors import CollectionFailed
from kernel.metric_tables import FROM_JMX
from kernel.waiting import wait_until
from tests.pure.beans import recorded, without

METRICS = selected(FROM_JMX)
URP = "kafka_server_replicamanager_underreplicatedpartitions"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Node:
    """A collector that does as it is told."""

    def __init__(self, readings: list[Reading] | None = None) -> None:
        self.answer: Callable[[], list[Reading]] = lambda: readings or []

    def collect(self) -> list[Reading]:
        return self.answer()

    def close(self) -> None:
        pass


def refuse(reason: str = "refused") -> list[Reading]:
    raise CollectionFailed("10.0.0.1:9999 refused the connection: nothing listens there.", reason=reason)


def target(node: Node, clock: Clock, name: str = "1", **options: int) -> Target:
    shaper = Shaper(METRICS, **options)  # type: ignore[arg-type]
    return Target({"cluster": "orders", "node": name}, node, shaper, interval=15, clock=clock)


def page(exporter: Exporter) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = parse_text(exporter.metrics(Format.TEXT).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def of(node: str, **more: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({"cluster": "orders", "node": node, **more}.items()))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_node_that_answers_is_up_and_shown(clock: Clock):
    one = target(Node(recorded("4.3.1-combined")), clock)
    one.collect()
    clock.now += 5

    shown = page(Exporter([one], max_age=60, clock=clock))

    assert shown["kafka_jmx_up", of("1")] == 1
    assert shown["kafka_jmx_age_seconds", of("1")] == 5
    assert shown["kafka_jmx_missing", of("1")] == 0
    assert shown[URP, of("1")] == 0
    assert shown["kafka_jmx_series", of("1")] == sum(name[:10] != "kafka_jmx_" for name, _ in shown)


def test_nothing_is_shown_before_the_first_answer_and_up_is_0(clock: Clock):
    exporter = Exporter([target(Node(), clock)], max_age=60, clock=clock)

    shown = page(exporter)

    assert shown["kafka_jmx_up", of("1")] == 0
    assert URP not in {name for name, _ in shown}
    assert not exporter.ready


def test_one_that_fails_loses_its_series_at_once_and_the_others_keep_theirs(clock: Clock):
    node = Node(recorded("4.3.1-combined"))
    one, two = target(node, clock), target(Node(recorded("4.3.1-broker")), clock, "2")
    for each in (one, two):
        each.collect()
    node.answer = refuse
    one.collect()
    one.collect()

    exporter = Exporter([one, two], max_age=60, clock=clock)
    shown = page(exporter)

    assert (shown["kafka_jmx_up", of("1")], shown["kafka_jmx_up", of("2")]) == (0, 1)
    assert shown["kafka_jmx_errors_total", of("1", reason="refused")] == 2
    assert (URP, of("1")) not in shown and (URP, of("2")) in shown
    assert exporter.ready


@pytest.mark.slow
def test_one_that_comes_back_is_shown_again(clock: Clock):
    node = Node()
    one = target(node, clock)
    node.answer = refuse
    one.collect()
    node.answer = lambda: recorded("4.3.1-combined")
    one.collect()

    shown = page(Exporter([one], max_age=60, clock=clock))

    assert (shown["kafka_jmx_up", of("1")], shown["kafka_jmx_collections_total", of("1")]) == (1, 1)


def test_what_is_older_than_max_age_vanishes(clock: Clock):
    one = target(Node(recorded("4.3.1-combined")), clock)
    one.collect()
    exporter = Exporter([one], max_age=60, clock=clock)
    assert (URP, of("1")) in page(exporter)

    clock.now += 61
    shown = page(exporter)

    assert {name for name, _ in shown if not name.startswith("kafka_jmx_")} == set()
    assert shown["kafka_jmx_up", of("1")] == 0
    assert ("kafka_jmx_age_seconds", of("1")) not in shown


@pytest.mark.slow
def test_a_node_that_hangs_keeps_nobody_waiting():
    let_go = threading.Event()
    hanging, well = Node(), Node(recorded("4.3.1-broker"))
    hanging.answer = lambda: [Reading("a:type=b", "c", let_go.wait(30))]
    one = Target({"node": "1"}, hanging, Shaper(METRICS), interval=0.05)
    two = Target({"node": "2"}, well, Shaper(METRICS), interval=0.05)

    with Exporter([one, two], max_age=60) as exporter:
        try:
            wait_until(lambda: two.standing.collections, lambda times: times >= 3, what="three rounds", timeout=10)
            shown = page(exporter)
        finally:
            let_go.set()

    assert (shown["kafka_jmx_up", (("node", "1"),)], shown["kafka_jmx_up", (("node", "2"),)]) == (0, 1)


def test_a_mistake_of_ours_is_an_error_and_not_the_end(clock: Clock, caplog: pytest.LogCaptureFixture):
    node = Node()
    one = target(node, clock)
    node.answer = lambda: 1 / 0  # type: ignore[assignment, return-value]
    one.collect()

    assert page(Exporter([one], max_age=60, clock=clock))["kafka_jmx_errors_total", of("1", reason="internal")] == 1
    assert "division by zero" in caplog.text


def test_a_trouble_is_told_once_and_its_end_too(clock: Clock, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    node = Node()
    one = target(node, clock)
    node.answer = refuse
    for _ in range(3):
        one.collect()
    node.answer = lambda: recorded("4.3.1-broker")
    one.collect()

    assert [record.getMessage() for record in caplog.records] == [
        "orders/1: 10.0.0.1:9999 refused the connection: nothing listens there.",
        "orders/1: answers again",
    ]


def test_what_a_node_lacks_and_what_does_not_fit_is_counted(clock: Clock):
    lacking = target(Node(without(recorded("4.3.1-broker"), "name=LeaderCount")), clock, max_series=50)
    lacking.collect()
    lacking.collect()

    shown = page(Exporter([lacking], max_age=60, clock=clock))

    assert shown["kafka_jmx_missing", of("1")] == 1
    assert shown["kafka_jmx_series", of("1")] <= 50
    assert shown["kafka_jmx_dropped_series_total", of("1")] > 200, "counted at each collection"


@pytest.mark.slow
def test_both_formats_are_read_by_prometheus_own_parsers_and_say_the_same(clock: Clock):
    targets = [target(Node(recorded(f"4.3.1-{name}")), clock, name) for name in ("combined", "broker", "controller")]
    for each in targets:
        each.collect()
    exporter = Exporter(targets, max_age=60, clock=clock)

    text = exporter.metrics(Format.TEXT).decode()
    openmetrics = exporter.metrics(Format.OPENMETRICS).decode()

    def samples(families) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}

    assert samples(parse_text(text)) == samples(parse_openmetrics(openmetrics))
    assert openmetrics.endswith("# EOF\n")
    helps = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    assert len(helps) == len(set(helps)), "all lines of a family stand together"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", Format.OPENMETRICS),
        ("text/plain;version=0.0.4", Format.TEXT),
        ("*/*", Format.TEXT),
        ("", Format.TEXT),
    ],
)
def test_prometheus_gets_the_format_it_asks_for(accept: str, form: Format):
    assert wanted_format(accept) is form
    assert ("openmetrics" in CONTENT_TYPES[form]) is (form is Format.OPENMETRICS)
