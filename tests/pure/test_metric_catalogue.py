"""The catalogue itself: every row says what a row must say, and no two rows get in each other's way."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from exporters.agent_yaml import agent_yaml
from exporters.catalogue_page import page
from exporters.object_names import parse
from exporters.selection import selected
from exporters.translate import Translator
from kernel.metric_tables import FROM_JMX, METRICS
from kernel.metric_tables.rows import family_a, family_b, family_c
from kernel.metrics import BROKER, Kind, Scope, as_version
from tests.pure.beans import NODES, recorded

TOP = Path(__file__).parent.parent.parent


def test_every_row_is_whole():
    for metric in METRICS:
        assert metric.help.endswith((".", "…")), metric.key
        assert metric.name == metric.name.lower(), metric.key
        ends_so = metric.name.endswith("_total") and metric.kind is not Kind.UNTYPED  # as one of Burrow's, by its own name
        assert (metric.kind is Kind.COUNTER) == ends_so, f"{metric.key}: a counter ends in _total, alone"
        reserved = ("_info", "_created", "_bucket", "_sum")
        assert not metric.name.endswith(reserved), f"{metric.key}: Prometheus keeps these endings for itself"
        assert not re.search("_ms(_|$)", metric.name), f"{metric.key}: Prometheus wants whole words for units"
        assert metric.kind in (Kind.SUMMARY, Kind.HISTOGRAM) or not metric.name.endswith("_count"), metric.key
        assert all(re.fullmatch("[a-z][a-z_]*", label) for label in metric.label_names), metric.key
        assert metric.roles or not metric.bean, metric.key


def test_a_bean_and_attribute_is_asked_for_once():
    keys = [metric.key for metric in METRICS]

    assert len(keys) == len(set(keys))


def test_one_name_is_one_kind_with_one_meaning_for_each_set_of_labels():
    families = defaultdict(list)
    for metric in METRICS:
        families[metric.name.removesuffix("_total")].append(metric)
    for name, rows in families.items():
        assert len({row.kind for row in rows}) == 1, name
        shapes = [(row.label_names, tuple(sorted(row.fixed.items()))) for row in rows]
        assert len(shapes) == len(set(shapes)), f"{name}: two rows would make the same series"


def test_what_is_singled_out_comes_first():
    stars = [metric.star for metric in METRICS]

    assert stars == sorted(stars, reverse=True)
    assert {
        "kafka_server_replicamanager_underreplicatedpartitions",
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "kafka_controller_kafkacontroller_activecontrollercount",
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        "kafka_server_replicamanager_isrshrinks_total",
        "kafka_server_replicamanager_isrexpands_total",
        "kafka_server_replicamanager_underminisrpartitioncount",
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_ratio",
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        "kafka_network_requestmetrics_totaltimems",
        "kafka_server_brokertopicmetrics_bytesin_total",
        "kafka_server_brokertopicmetrics_messagesin_total",
        "jvm_memory_used_bytes",
        "jvm_gc_collection_seconds",
        "jvm_threads_current",
        "process_open_fds",
        "java_lang_operatingsystem_freeswapspacesize",
        "kafka_log_dir_free_bytes",
    } <= {metric.name for metric in METRICS if metric.star}


def test_the_one_that_kafka_4_lost_says_so_and_names_what_to_use():
    (gone,) = [metric for metric in METRICS if "leaderelectionrate" in metric.name]

    assert gone.in_version((3, 9, 1)) and not gone.in_version((4, 0, 0))
    assert "raft election latency" in gone.note


def test_what_controllers_repeat_is_never_a_brokers_own():
    repeated = {metric.name for metric in METRICS if metric.scope in (Scope.CONTROLLERS, Scope.ACTIVE)}

    assert "kafka_controller_kafkacontroller_offlinepartitionscount" in repeated
    assert "kafka_controller_kafkacontroller_activecontrollercount" not in repeated, "its sum must be 1"
    assert "kafka_server_replicamanager_underreplicatedpartitions" not in repeated
    assert "kafka_controller_controllerstats_uncleanleaderelections_total" in repeated, "every controller counts it"
    assert not [metric.key for metric in METRICS if metric.scope is Scope.BROKER and BROKER not in metric.roles]


@pytest.mark.parametrize(
    ("bean", "a", "b", "c"),
    [
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
            "kafka_server_brokertopicmetrics_bytesin_total",
            "kafka_server_brokertopicmetrics_bytesinpersec",
            "kafka_server_brokertopicmetrics_total_bytesinpersec_count",
        ),
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic={topic}",
            "kafka_server_brokertopicmetrics_bytesin_total",
            "kafka_server_brokertopicmetrics_bytesinpersec",
            "kafka_server_brokertopicmetrics_bytesinpersec_count",
        ),
    ],
)
def test_three_families_of_names(bean: str, a: str, b: str, c: str):
    made = [family(bean, "Count", Kind.COUNTER) for family in (family_a, family_b, family_c)]

    assert made == [a, b, c]


def test_versions_are_compared_as_numbers():
    assert as_version("4.10.0") > as_version("4.9.1")
    assert as_version("4.3.1-SNAPSHOT") == (4, 3, 1)
    assert as_version("trunk") == ()


def test_the_page_of_metrics_is_what_the_catalogue_says():
    assert (TOP / "docs" / "metrics.md").read_text() == page(METRICS), "run: kafka-trial catalogue page > docs/metrics.md"


def test_the_agents_of_our_brokers_are_set_up_as_the_catalogue_says():
    written = (TOP / "compose" / "java" / "agent.yaml").read_text()

    assert written == agent_yaml(selected(FROM_JMX)), "run: kafka-trial catalogue agent-yaml > compose/java/agent.yaml"


@pytest.mark.parametrize("node", NODES)
def test_a_beans_keys_stand_in_the_order_in_which_kafka_registers_them(node: str):
    """The agent's rules see the name as it was registered, and match nothing if the order is another."""
    translator = Translator(FROM_JMX)
    for reading in recorded(node):
        for metric in (metric for metric, _ in translator.wanted(reading.bean) if not metric.native):
            assert list(metric.keys) == [key for key, _ in parse(reading.bean).keys], reading.bean
