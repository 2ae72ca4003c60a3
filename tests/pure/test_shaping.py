"""What is made of a node's readings: only what was asked for, by topic, under other names, within a budget."""

import pytest

from exporters.aliases import Alias, aliased
from exporters.budget import within
from exporters.by_topic import by_topic
from exporters.handler_idle import RATIO, SECONDS, Idle, handler_idle
from exporters.readings import Reading
from exporters.selection import Partitions, missing, selected
from exporters.shaping import Shaper
from exporters.translate import Family, Translator
from kernel.metric_tables import FROM_JMX, METRICS
from kernel.metrics import EVERY_ROLE, Scope
from tests.pure.beans import recorded, without

BY_NAME = {metric.name: metric for metric in METRICS}
BROKER = frozenset({"broker"})


def test_single_partitions_are_told_only_when_asked_for():
    usual, by_topics, each = (selected(FROM_JMX, partitions=how) for how in Partitions)

    assert not [metric for metric in usual if metric.scope is Scope.PARTITION]
    assert {metric.by_topic for metric in by_topics if metric.scope is Scope.PARTITION} == {"sum", "max"}
    assert len(each) > len(by_topics) > len(usual)
    assert len(selected(FROM_JMX, details=True)) > len(usual)


def test_partitions_are_summed_up_by_topic():
    size, lag = BY_NAME["kafka_log_log_size"], BY_NAME["kafka_server_fetcherlagmetrics_consumerlag"]
    places = [
        (("partition", "0"), ("topic", "a")),
        (("partition", "1"), ("topic", "a")),
        (("partition", "0"), ("topic", "b")),
    ]

    sums = by_topic(Family(size, [("", place, value) for place, value in zip(places, (1.0, 2.0, 4.0), strict=True)]))
    largest = by_topic(Family(lag, [("", place, value) for place, value in zip(places, (1.0, 2.0, 4.0), strict=True)]))

    assert sums and sums.samples == [("", (("topic", "a"),), 3.0), ("", (("topic", "b"),), 4.0)]
    assert largest and largest.samples == [("", (("topic", "a"),), 2.0), ("", (("topic", "b"),), 4.0)]
    assert by_topic(Family(BY_NAME["kafka_log_log_logendoffset"], [("", places[0], 5.0)])) is None, "a sum that says nothing"
    other = Family(BY_NAME["kafka_server_replicamanager_leadercount"], [("", (), 5.0)])
    assert by_topic(other) is other


def test_other_peoples_names_hold_kafkas_own_numbers():
    idle = Family(SECONDS, [("_total", (), 2.5)])
    urp = Family(BY_NAME["kafka_server_replicamanager_underreplicatedpartitions"], [("", (), 3.0)])

    found = {family.metric.name: family.samples for family in aliased([idle, urp], [Alias.CONFLUENT, Alias.BITNAMI])}

    assert found == {
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent": [("", (), pytest.approx(2.5e9))],
        "kafka_server_kafkarequesthandlerpool_total_requesthandleravgidlepercent_count": [("", (), pytest.approx(2.5e9))],
        "kafka_server_replicamanager_total_underreplicatedpartitions_value": [("", (), 3.0)],
    }
    assert aliased([idle, urp], []) == []


def test_what_does_not_fit_is_counted_and_the_most_important_is_kept():
    star, plain = BY_NAME["kafka_server_replicamanager_underreplicatedpartitions"], BY_NAME["kafka_log_log_size"]
    topics = [("", (("topic", name),), 1.0) for name in "dcba"]

    kept, dropped = within([Family(star, [("", (), 0.0)]), Family(plain, topics)], 3)

    assert [(family.metric.name, len(family.samples)) for family in kept] == [(star.name, 1), (plain.name, 2)]
    assert [dict(labels)["topic"] for _, labels, _ in kept[1].samples] == ["a", "b"], "the same ones every time"
    assert dropped == 2


def test_half_a_summary_is_never_shown():
    timer = BY_NAME["kafka_network_requestmetrics_totaltimems"]
    whole = [("", (("quantile", "0.5"), ("request", name)), 1.0) for name in ("Fetch", "Produce")]
    whole += [("_count", (("request", name),), 1.0) for name in ("Fetch", "Produce")]

    kept, dropped = within([Family(timer, whole)], 3)

    assert dropped == 2
    assert {dict(labels)["request"] for _, labels, _ in kept[0].samples} == {"Fetch"}


def ratio(
    seconds: float, at: float, *, before: Idle | None, version: tuple[int, ...] = (4, 3, 1), roles: frozenset[str] = BROKER
):
    family, now = handler_idle(
        {SECONDS.name: Family(SECONDS, [("_total", (), seconds)])}, before, at, version=version, roles=roles
    )
    return (family.samples[0][2] if family else None), now


def test_idle_time_becomes_the_ratio_everybody_expects():
    first, look = ratio(100.0, 1000.0, before=None)
    second, _ = ratio(109.0, 1010.0, before=look)

    assert (first, second) == (None, pytest.approx(0.9))


def test_after_a_restart_there_is_no_ratio_until_the_next_look():
    _, look = ratio(100.0, 1000.0, before=None)

    assert ratio(3.0, 1010.0, before=look)[0] is None


def test_a_combined_node_before_4_2_counts_two_pools_in_one():
    _, look = ratio(100.0, 1000.0, before=None)

    assert ratio(118.0, 1010.0, before=look, version=(4, 1, 0), roles=EVERY_ROLE)[0] == pytest.approx(0.9)
    assert ratio(109.0, 1010.0, before=look, version=(4, 2, 0), roles=EVERY_ROLE)[0] == pytest.approx(0.9)
    assert ratio(109.0, 1010.0, before=look, version=(4, 1, 0))[0] == pytest.approx(0.9)


def test_a_node_that_does_not_tell_its_version_lacks_that():
    metrics = selected(FROM_JMX)
    told = Translator(metrics).translate(without(recorded("4.3.1-broker"), "app-info"))

    assert [metric.name for metric in missing(metrics, told, ())] == ["kafka_server_app_version"]


@pytest.mark.slow
def test_everything_together():
    shaper = Shaper(selected(FROM_JMX), aliases=[Alias.CONFLUENT], max_series=10_000)
    readings = recorded("4.3.1-combined")
    later = [
        Reading(reading.bean, reading.attribute, reading.value + 9_000_000_000)  # type: ignore[operator]
        if "name=RequestHandlerAvgIdlePercent" in reading.bean and reading.attribute == "Count"
        else reading
        for reading in readings
    ]

    first, second = shaper.shape(readings, 1000.0), shaper.shape(later, 1010.0)

    def names(shaped) -> set[str]:
        return {family.metric.name for family in shaped.families}

    assert RATIO.name not in names(first)
    (idle,) = [family for family in second.families if family.metric is RATIO]
    assert idle.samples == [("", (), pytest.approx(0.9))]
    assert "kafka_server_brokertopicmetrics_bytesinpersec" in names(first)
    assert (first.missing, first.dropped) == ([], 0)
    assert first.series == sum(len(family.samples) for family in first.families) > 300


def test_a_small_budget_keeps_what_is_singled_out():
    whole = Shaper(selected(FROM_JMX)).shape(recorded("4.3.1-combined"), 1.0)
    stars = sum(len(family.samples) for family in whole.families if family.metric.star)

    cut = Shaper(selected(FROM_JMX), max_series=stars).shape(recorded("4.3.1-combined"), 1.0)

    assert all(family.metric.star for family in cut.families)
    assert (cut.series, cut.dropped) == (stars, whole.series - stars)
