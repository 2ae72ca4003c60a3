"""What the collectors make of an answer, without a broker: the same readings whatever the way, a name for each trouble."""

import json

import pytest

from exporters.collectors.agent import Origins, bean_of, parts
from exporters.collectors.asks import Ask, asks
from exporters.collectors.jmxquery import JmxLogin, failure, query_text, rows
from exporters.collectors.jolokia import readings
from exporters.readings import Reading
from exporters.selection import Partitions, selected
from exporters.translate import Translator
from kernel.errors import CollectionFailed
from kernel.metric_tables import FROM_JMX
from kernel.metrics import QUANTILES, Kind
from tests.pure.beans import NODES, recorded

EVERYTHING = selected(FROM_JMX, partitions=Partitions.EACH, details=True)


def test_every_bean_is_asked_for_once_with_all_its_attributes():
    wanted = asks(selected(FROM_JMX))

    assert len({ask.pattern for ask in wanted}) == len(wanted)
    by_pattern = {ask.pattern: ask.attributes for ask in wanted}
    assert by_pattern["java.lang:type=Memory"] == ("HeapMemoryUsage", "NonHeapMemoryUsage")
    timer = by_pattern["kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"]
    assert set(timer) == {"Count", "Mean", *QUANTILES.values()}
    assert "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=*" not in by_pattern, "93 requests are not asked for"
    assert Ask("kafka.server:type=KafkaServer,name=BrokerState", ("Value",)) in wanted


def test_jmxquery_is_asked_in_its_own_language():
    text = query_text([Ask("a:type=b", ("Value",)), Ask("c:type=*", ("One", "Two", "Three"))])

    assert text == "a:type=b/Value;c:type=*;"


def test_jmxquerys_answer_is_read():
    answer = [
        {"mBeanName": "a:type=b", "attribute": "Value", "attributeType": "Integer", "value": 3},
        {"mBeanName": "a:type=m", "attribute": "Heap", "attributeKey": "used", "attributeType": "Long", "value": 9},
        {"mBeanName": "a:type=n", "attribute": "Null", "attributeType": "Null"},
    ]

    assert rows(json.dumps(answer)) == [
        Reading("a:type=b", "Value", 3),
        Reading("a:type=m", "Heap.used", 9),
        Reading("a:type=n", "Null", None),
    ]
    with pytest.raises(CollectionFailed, match="no JSON"):
        rows("Exception in thread main")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("java.rmi.ConnectException: Connection refused to host: 10.0.0.1", "refused"),
        ("java.lang.SecurityException: Authentication failed! Invalid username or password", "unauthorised"),
        ("java.rmi.UnknownHostException: Unknown host: nowhere", "unknown-host"),
        ("javax.net.ssl.SSLHandshakeException: PKIX path building failed", "tls"),
        ("java.rmi.ConnectIOException: non-JRMP server at remote endpoint", "tls"),
        ("something nobody has seen: my-password", "error"),
    ],
)
def test_javas_complaints_get_a_reason_and_a_sentence_without_secrets(said: str, reason: str):
    trouble = failure("10.0.0.1:9999", said)

    assert trouble.reason == reason
    assert trouble.message.startswith("10.0.0.1:9999 ")
    assert "my-password" not in trouble.message + repr(JmxLogin("monitor", "my-password"))


def test_jolokias_answer_is_read_and_a_bean_that_is_not_there_is_no_error():
    asked = [Ask("a:type=b", ("Value", "Usage")), Ask("c:name=*", ("Count",)), Ask("d:type=gone", ("Value",))]
    answer = [
        {"status": 200, "value": {"Value": 3, "Usage": {"used": 9, "max": None}}},
        {"status": 200, "value": {"c:name=one": {"Count": 1}, "c:name=two": {"Count": "ERROR: it threw"}}},
        {"status": 404, "error": "InstanceNotFoundException"},
    ]

    assert list(readings(asked, json.dumps(answer).encode(), "http://node")) == [
        Reading("a:type=b", "Value", 3),
        Reading("a:type=b", "Usage.used", 9),
        Reading("a:type=b", "Usage.max", None),
        Reading("c:name=one", "Count", 1),
        Reading("c:name=two", "Count", "ERROR: it threw"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"<html>", "is not JSON"),
        (b"{}", "does not answer as Jolokia does"),
        (b"[]", "does not answer as Jolokia does"),
        (b'[{"status": 403}]', "refused to read a:type=b"),
    ],
)
def test_an_answer_that_is_not_jolokias_is_named(text: bytes, sentence: str):
    with pytest.raises(CollectionFailed, match=sentence) as caught:
        list(readings([Ask("a:type=b", ("Value",))], text, "http://node"))

    assert caught.value.reason == "bad-answer"


@pytest.mark.slow
@pytest.mark.parametrize("node", NODES)
def test_what_the_agent_shows_is_traced_back_to_where_it_came_from(node: str):
    """As the agent would show it, for every reading that feeds a metric; and back again."""
    translator, origins = Translator(EVERYTHING), Origins(EVERYTHING)
    checked = 0
    for reading in recorded(node):
        for metric, labels in translator.wanted(reading.bean):
            for name, attribute, factor in parts(metric):
                quantile = next((q for q, percentile in QUANTILES.items() if percentile == reading.attribute), "")
                if reading.attribute != attribute and not (attribute == "" and quantile):
                    continue
                if metric.kind is Kind.STATE:
                    shown = (name, labels | {metric.word: str(reading.value)}, 1.0)
                elif isinstance(reading.value, (int, float)):
                    shown = (name, labels | ({"quantile": quantile} if attribute == "" else {}), reading.value * factor)
                else:
                    continue
                (back,) = origins.readings([shown])
                assert Translator(EVERYTHING).wanted(back.bean) == translator.wanted(reading.bean)
                assert (back.attribute, back.value) == (reading.attribute, pytest.approx(reading.value, nan_ok=True))
                checked += 1
    assert checked > 100


def test_a_sample_with_other_labels_is_nobodys():
    (total,) = [
        metric for metric in FROM_JMX if metric.key == "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec/Count"
    ]

    assert bean_of(total, {}) == "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"
    assert bean_of(total, {"topic": "orders"}) is None
    assert bean_of(total, {"strange": "label"}) is None
