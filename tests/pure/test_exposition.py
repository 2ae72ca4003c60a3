"""What is remembered of how a series is written must never show: every page is as Prometheus' own library writes it."""

import math

import pytest
from prometheus_client import exposition as text
from prometheus_client.metrics_core import Metric as Prometheus
from prometheus_client.openmetrics import exposition as openmetrics

from exporters.exposition import Format, Renderer, end, join
from exporters.selection import Partitions, selected
from exporters.shaping import Shaper
from exporters.translate import Family
from kernel.metric_tables import FROM_JMX
from kernel.metric_tables.rows import gauge
from kernel.metrics import Kind
from tests.pure.beans import NODES, recorded

NODE = {"cluster": "orders", "node": "1"}
LOAD = gauge("java.lang:type=OperatingSystem", "Load of the machine.", "SystemLoadAverage")


class Registry:
    """The whole page at once, without us."""

    def __init__(self, families: list[Family]) -> None:
        self.families = families

    def collect(self) -> list[Prometheus]:
        made = []
        for family in self.families:
            metric = family.metric
            name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
            one = Prometheus(name, metric.help, "gauge" if metric.kind is Kind.STATE else metric.kind.value)
            for suffix, labels, value in family.samples:
                one.add_sample(name + suffix, {**NODE, **dict(labels)}, value)
            made.append(one)
        return made


def ours(renderer: Renderer, families: list[Family], form: Format) -> str:
    return (join([renderer.render(families)], form) + end(form)).decode()


@pytest.mark.parametrize("node", NODES)
def test_every_page_is_as_prometheus_library_writes_it(node: str):
    shaper, renderer = Shaper(selected(FROM_JMX, partitions=Partitions.EACH, details=True)), Renderer(NODE)
    for at in (0.0, 1.0, 2.0):  # the second and third time from memory
        families = shaper.shape(recorded(node), at).families
        assert ours(renderer, families, Format.TEXT) == text.generate_latest(Registry(families)).decode()
        assert ours(renderer, families, Format.OPENMETRICS) == openmetrics.generate_latest(Registry(families)).decode()


def test_series_come_and_go_and_change():
    renderer = Renderer(NODE)
    for samples in (
        [("", (("topic", "a"),), 1.0)],
        [("", (("topic", "b"),), 2.0), ("", (("topic", "a"),), math.inf)],
        [("", (("topic", "b"),), 1e21)],
        [],
        [("", (("topic", "a"),), -0.5)],
    ):
        families = [Family(LOAD, samples)] if samples else []
        assert ours(renderer, families, Format.TEXT) == text.generate_latest(Registry(families)).decode()


def test_a_label_may_hold_anything():
    odd = 'a "quoted\\ path"\nand a line } 3.0'
    families = [Family(LOAD, [("", (("topic", odd),), 7.0)])]
    renderer = Renderer(NODE)

    pages = [ours(renderer, families, Format.TEXT) for _ in range(2)]

    assert pages == [text.generate_latest(Registry(families)).decode()] * 2


def test_nodes_are_joined_by_family():
    one = Renderer({"node": "1"}).render([Family(LOAD, [("", (), 1.0)])])
    two = Renderer({"node": "2"}).render([Family(LOAD, [("", (), 2.0)])])

    assert join([one, two], Format.TEXT).decode() == (
        "# HELP java_lang_operatingsystem_systemloadaverage Load of the machine.\n"
        "# TYPE java_lang_operatingsystem_systemloadaverage gauge\n"
        'java_lang_operatingsystem_systemloadaverage{node="1"} 1.0\n'
        'java_lang_operatingsystem_systemloadaverage{node="2"} 2.0\n'
    )
