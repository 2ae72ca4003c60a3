"""From beans to samples: labels, kinds, factors; and nothing that is not a number, or means nothing yet."""

import math

import pytest

from exporters.object_names import parse
from exporters.readings import Reading
from exporters.translate import Translated, Translator
from kernel.metric_tables import FROM_JMX
from tests.pure.beans import recorded

POOL = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"


def translated(*readings: tuple[str, str, object]) -> Translated:
    return Translator(FROM_JMX).translate([Reading(*reading) for reading in readings])  # type: ignore[arg-type]


def samples(told: Translated, name: str) -> list[tuple[str, dict[str, str], float]]:
    family = told.families.get(name)
    return [(suffix, dict(labels), value) for suffix, labels, value in family.samples] if family else []


def test_a_gauge_a_counter_and_a_factor():
    told = translated(
        ("kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", "Value", 3),
        ("kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", "Count", 7),
        (POOL, "Count", 187_920_344_139),
    )

    assert samples(told, "kafka_server_replicamanager_underreplicatedpartitions") == [("", {}, 3.0)]
    assert samples(told, "kafka_server_replicamanager_isrshrinks_total") == [("_total", {}, 7.0)]
    name = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total"
    ((_, _, seconds),) = samples(told, name)
    assert seconds == pytest.approx(187.920344139)


def test_the_total_and_the_topics_share_a_name_and_are_told_apart_by_the_label():
    bean = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"
    told = translated((bean, "Count", 30), (f"{bean},topic=orders", "Count", 10), (f'{bean},topic="odd,one"', "Count", 20))

    assert samples(told, "kafka_server_brokertopicmetrics_bytesin_total") == [
        ("_total", {}, 30.0),
        ("_total", {"topic": "orders"}, 10.0),
        ("_total", {"topic": "odd,one"}, 20.0),
    ]


def test_a_timer_becomes_a_summary_whose_sum_is_count_times_mean():
    bean = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"
    told = translated((bean, "Count", 4), (bean, "Mean", 2.5), (bean, "50thPercentile", 2.0), (bean, "99thPercentile", 9.0))

    found = samples(told, "kafka_network_requestmetrics_totaltimems")
    assert ("_count", {"request": "Produce"}, 4.0) in found
    assert ("_sum", {"request": "Produce"}, 10.0) in found
    assert ("", {"request": "Produce", "quantile": "0.99"}, 9.0) in found
    assert told.unusable == 4, "four quantiles were not told"


def test_requests_that_are_not_worth_their_series_are_left_out():
    told = translated(("kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Vote", "Count", 4))

    assert told.families == {}


def test_a_word_is_a_label():
    told = translated(("kafka.server:type=raft-metrics", "current-state", "leader"))

    assert samples(told, "kafka_server_raftmetrics_current_state") == [("", {"state": "leader"}, 1.0)]


@pytest.mark.parametrize(
    ("bean", "attribute", "value"),
    [
        ("kafka.server:type=raft-metrics", "election-latency-avg", math.nan),
        ("kafka.server:type=raft-metrics", "election-latency-avg", "NaN"),
        ("kafka.server:type=raft-metrics", "election-latency-avg", math.inf),
        ("kafka.log:type=LogCleaner,name=max-clean-time-secs", "Value", -1794786969),
        ("kafka.network:type=SocketServer,name=MemoryPoolAvailable", "Value", 2**63 - 1),
        ("java.lang:type=Memory", "NonHeapMemoryUsage.max", -1),
        ("kafka.server:type=ReplicaManager,name=LeaderCount", "Value", None),
        ("kafka.server:type=ReplicaManager,name=LeaderCount", "Value", "ERROR: it threw"),
    ],
)
def test_what_is_no_number_or_means_nothing_yet_is_counted_and_not_shown(bean: str, attribute: str, value: object):
    told = translated((bean, attribute, value))

    assert (told.families, told.unusable) == ({}, 1)
    assert told.seen, "it was there: nothing is missing"


def test_numbers_that_arrive_as_text_are_numbers():
    told = translated(("kafka.server:type=KafkaServer,name=BrokerState", "Value", "3"))

    assert samples(told, "kafka_server_kafkaserver_brokerstate") == [("", {}, 3.0)]


def test_memory_by_area_and_collections_by_collector():
    told = Translator(FROM_JMX).translate(recorded("4.3.1-broker"))

    assert {labels["area"] for _, labels, _ in samples(told, "jvm_memory_used_bytes")} == {"heap", "nonheap"}
    suffixes = {suffix for suffix, _, _ in samples(told, "jvm_gc_collection_seconds")}
    assert suffixes == {"_count", "_sum"}


def test_families_come_in_the_order_of_the_catalogue_stars_first():
    stars = [family.metric.star for family in Translator(FROM_JMX).translate(recorded("4.3.1-combined")).families.values()]

    assert stars == sorted(stars, reverse=True)


def test_a_name_in_quotes_is_unquoted():
    name = parse(r'kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="C:\\data,\"one\"\*"')

    assert name.get("logDirectory") == r'C:\data,"one"*'
