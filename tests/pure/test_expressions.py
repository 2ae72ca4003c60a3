"""PromQL made of the catalogue: what it refuses to make, and, asked of promtool on made series, what it comes to."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from dashboards import panels
from dashboards.expressions import (
    each,
    each_rate,
    increase,
    known,
    labels,
    mean,
    percentile,
    quantile,
    select,
    total,
    total_rate,
)
from dashboards.lint.tree import name_of, parsed, selectors
from dashboards.variables import filled
from kernel.metric_tables import METRICS
from kernel.metrics import Kind, Scope
from tests.promtool import needed

OFFLINE = "kafka_controller_kafkacontroller_offlinepartitionscount"
UNCLEAN = "kafka_controller_controllerstats_uncleanleaderelections_total"
BEHIND = "kafka_server_replicamanager_underreplicatedpartitions"
SHRINKS = "kafka_server_replicamanager_isrshrinks_total"
BYTES = "kafka_server_brokertopicmetrics_bytesin_total"
PRODUCE = "kafka_network_requestmetrics_totaltimems"
REQUESTS = "kafka_network_requestmetrics_requests_total"
SIZE = "kafka_log_log_size"
FOLLOWERS = "kafka_server_fetcherlagmetrics_consumerlag"
ACK = "kafka_probe_ack_seconds"
SENT = "kafka_probe_sent_total"

Answers = set[tuple[frozenset[tuple[str, str]], float]]


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [each, total])
@pytest.mark.parametrize("name", [SHRINKS, f"{PRODUCE}_count", f"{ACK}_sum"])
def test_a_counter_is_not_shown_by_its_height(made, name):
    with pytest.raises(ValueError, match=f"{name} is counted up: show its rate"):
        made(name)


@pytest.mark.parametrize("made", [each_rate, total_rate, increase])
@pytest.mark.parametrize("name", [OFFLINE, PRODUCE, ACK])
def test_what_is_no_counter_has_no_rate(made, name):
    with pytest.raises(ValueError, match=f"{name} is a {known(name).kind}: its rate means nothing"):
        made(name)


@pytest.mark.parametrize("made", [each, total])
@pytest.mark.parametrize("name", [PRODUCE, ACK])
def test_a_summary_or_a_histogram_is_not_one_level(made, name):
    with pytest.raises(ValueError, match="show a quantile or its mean"):
        made(name)


@pytest.mark.parametrize("name", [OFFLINE, SHRINKS, ACK, "jvm_gc_collection_seconds"])
def test_what_has_no_quantiles_is_not_asked_for_one(name):
    with pytest.raises(ValueError, match=f"{name} has no quantiles"):
        quantile(name, "0.99")


@pytest.mark.parametrize("name", [OFFLINE, PRODUCE])
def test_a_percentile_is_of_a_histogram_alone(name):
    with pytest.raises(ValueError, match=f"{name} is no histogram"):
        percentile(name, "0.99")


@pytest.mark.parametrize("name", ["kafka_no_such_metric", f"{OFFLINE}_count", "", "ALERTS"])
@pytest.mark.parametrize(
    "made", [each, total, each_rate, total_rate, increase, select, labels, mean, lambda name: quantile(name, "0.5")]
)
def test_a_name_that_is_not_in_the_catalogue_is_refused(made, name):
    with pytest.raises(LookupError, match="is not in the catalogue"):
        made(name)


@pytest.mark.parametrize(
    "panel",
    [
        lambda: panels.level("Shrinks", SHRINKS),
        lambda: panels.number("Shrinks", SHRINKS),
        lambda: panels.rates("Offline", OFFLINE),
        lambda: panels.events("Offline", OFFLINE),
        lambda: panels.quantiles("Offline", OFFLINE),
        lambda: panels.percentiles("Produce", PRODUCE),
        lambda: panels.means("Shrinks", SHRINKS),
        lambda: panels.level("Nothing", "kafka_nothing"),
        lambda: panels.lines("Nothing", of=("kafka_nothing",)),
    ],
)
def test_a_panel_that_would_mislead_cannot_even_be_made(panel):
    with pytest.raises((ValueError, LookupError)):
        panel()


def test_panels_that_are_right_are_made():
    made = [
        panels.level("Offline", OFFLINE),
        panels.rates("Shrinks", SHRINKS),
        panels.events("Unclean", UNCLEAN),
        panels.quantiles("Produce", PRODUCE),
        panels.percentiles("Acknowledged", ACK),
        panels.means("Acknowledged", ACK),
    ]

    assert all(panel.queries and panel.description for panel in made)


# How it is written ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_metric_of_the_catalogue_has_an_expression_that_parses_and_names_it(metric):
    made = {
        Kind.COUNTER: (each_rate, total_rate, increase),
        Kind.SUMMARY: (mean,),
        Kind.HISTOGRAM: (mean, lambda name: percentile(name, "0.99")),
    }.get(metric.kind, (each, total))

    for expression in (one(metric.name) for one in made):
        names = {name_of(one) for one in selectors(parsed(filled(expression, {})))}
        assert names and all(name.startswith(metric.name) for name in names)


@pytest.mark.parametrize("name", sorted({row.name for row in METRICS if row.scope in (Scope.CONTROLLERS, Scope.ACTIVE)}))
def test_what_controllers_repeat_is_never_added_up(name):
    made = total_rate if known(name).kind is Kind.COUNTER else total
    assert "sum" not in made(name)


def test_what_brokers_tell_is_added_up():
    assert total(BEHIND).startswith("sum by (cluster) (max by (cluster, node) (")
    assert total_rate(SHRINKS).startswith("sum by (cluster) (max by (cluster, node) (rate(")


def test_the_total_of_all_topics_and_the_parts_are_never_asked_for_together():
    assert 'topic=""' in select(BYTES)
    assert 'topic=""' not in select(BYTES, 'topic!=""')
    assert "topic" not in select(OFFLINE)


# What it comes to, on made series -------------------------------------------------------------------------------------


def answers(tmp_path: Path, series: Mapping[str, str], expression: str, *, at: str = "10m", expected: Answers) -> None:
    """promtool evaluates it; steps of 15 s. It says itself what it found instead."""
    asked = filled(expression, {}, rate_interval="1m", range_seconds=300)
    samples = [
        {"labels": "{" + ", ".join(f'{name}="{text}"' for name, text in sides) + "}", "value": value}
        for sides, value in expected
    ]
    test = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": asked, "eval_time": at, "exp_samples": samples}],
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"rule_files": [], "evaluation_interval": "15s", "tests": [test]}))
    ran = subprocess.run([needed("promtool"), "test", "rules", str(file)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, f"{asked}\n{ran.stdout}{ran.stderr}"


def of(value: float, **sides: str) -> tuple[frozenset[tuple[str, str]], float]:
    return frozenset({"cluster": "c", **sides}.items()), value


def steady(name: str, value: float, **sides: str) -> dict[str, str]:
    return {series(name, **sides): f"{value}x100"}


def rising(name: str, each_step: float, **sides: str) -> dict[str, str]:
    return {series(name, **sides): f"0+{each_step}x100"}


def series(name: str, **sides: str) -> str:
    return name + "{" + ", ".join(f'{label}="{text}"' for label, text in {"cluster": "c", **sides}.items()) + "}"


def test_three_controllers_that_repeat_one_offline_partition_tell_of_one(tmp_path):
    told = steady(OFFLINE, 1, node="1") | steady(OFFLINE, 1, node="2") | steady(OFFLINE, 1, node="3")

    answers(tmp_path, told, total(OFFLINE), expected={of(1)})
    answers(tmp_path, told, f"sum by (cluster) ({OFFLINE})", expected={of(3)})  # the mistake it guards against


def test_an_election_that_three_controllers_count_is_one(tmp_path):
    told = rising(UNCLEAN, 1, node="1") | rising(UNCLEAN, 1, node="2") | rising(UNCLEAN, 1, node="3")

    answers(tmp_path, told, increase(UNCLEAN, window="5m"), expected={of(20)})


def test_what_three_brokers_tell_is_added_up(tmp_path):
    told = steady(BEHIND, 1, node="1") | steady(BEHIND, 2, node="2") | steady(BEHIND, 4, node="3")

    answers(tmp_path, told, total(BEHIND), expected={of(7)})


def test_two_exporters_that_watch_one_cluster_count_once(tmp_path):
    told = {}
    for exporter in ("a:1", "b:1"):
        told |= steady(BEHIND, 3, node="1", instance=exporter) | steady(BEHIND, 4, node="2", instance=exporter)
        told |= rising(SHRINKS, 15, node="1", instance=exporter) | rising(SHRINKS, 30, node="2", instance=exporter)

    answers(tmp_path, told, total(BEHIND), expected={of(7)})
    answers(tmp_path, told, total_rate(SHRINKS), expected={of(3)})
    answers(tmp_path, told, each(BEHIND), expected={of(3, node="1"), of(4, node="2")})


def test_two_clusters_are_told_apart(tmp_path):
    told = steady(BEHIND, 3, node="1") | {f'{BEHIND}{{cluster="d", node="1"}}': "5x100"}

    answers(tmp_path, told, total(BEHIND), expected={of(3), of(5, cluster="d")})


def test_bytes_of_all_topics_are_not_counted_again_by_topic(tmp_path):
    told = rising(BYTES, 30, node="1") | rising(BYTES, 15, node="1", topic="a") | rising(BYTES, 15, node="1", topic="b")

    answers(tmp_path, told, total_rate(BYTES), expected={of(2)})
    answers(tmp_path, told, total_rate(BYTES, 'topic!=""', "topic"), expected={of(1, topic="a"), of(1, topic="b")})
    answers(tmp_path, told, total_rate(BYTES, 'topic=~"a|b"'), expected={of(2)})


def test_partitions_are_added_up_and_not_the_greatest_of_them_taken(tmp_path):
    told = steady(SIZE, 10, node="1", topic="t", partition="0") | steady(SIZE, 20, node="1", topic="t", partition="1")
    by_topic = steady(SIZE, 30, node="1", topic="t")  # as the exporter has it when it is asked for topics alone

    answers(tmp_path, told, total(SIZE, 'topic!=""', "topic"), expected={of(30, topic="t")})
    answers(tmp_path, by_topic, total(SIZE, 'topic!=""', "topic"), expected={of(30, topic="t")})


def test_of_followers_the_furthest_behind_is_told(tmp_path):
    told = steady(FOLLOWERS, 10, node="1", topic="t", partition="0") | steady(
        FOLLOWERS, 20, node="2", topic="t", partition="1"
    )

    answers(tmp_path, told, total(FOLLOWERS, 'topic!=""', "topic"), expected={of(20, topic="t")})


def test_a_probe_s_partition_that_falls_silent_is_seen_in_the_sum(tmp_path):
    told = rising(SENT, 15, broker="1", partition="0") | rising(SENT, 15, broker="2", partition="1")
    told[series(SENT, broker="3", partition="2")] = "0+0x100"

    answers(tmp_path, told, total_rate(SENT), expected={of(2)})
    answers(
        tmp_path, told, total_rate(SENT, by="broker"), expected={of(1, broker="1"), of(1, broker="2"), of(0, broker="3")}
    )


def test_requests_of_all_versions_are_added_up(tmp_path):
    told = rising(REQUESTS, 15, node="1", request="Fetch", version="4") | rising(
        REQUESTS, 30, node="1", request="Fetch", version="17"
    )

    answers(tmp_path, told, each_rate(REQUESTS, by="request"), expected={of(3, node="1", request="Fetch")})


def test_a_quantile_is_there_with_traffic_and_vanishes_when_it_stops(tmp_path):
    where = 'request="Produce"'
    told = steady(PRODUCE, 80, node="1", request="Produce", quantile="0.99")
    busy = told | rising(f"{PRODUCE}_count", 10, node="1", request="Produce")
    idle = told | {series(f"{PRODUCE}_count", node="1", request="Produce"): "0+10x20 200x80"}

    answers(tmp_path, busy, quantile(PRODUCE, "0.99", where), expected={of(80, node="1")})
    answers(tmp_path, idle, quantile(PRODUCE, "0.99", where), at="4m", expected={of(80, node="1")})
    answers(tmp_path, idle, quantile(PRODUCE, "0.99", where), expected=set())


def test_a_mean_is_of_what_came_in_and_is_nothing_where_nothing_did(tmp_path):
    sides = {"node": "1", "request": "Produce"}
    busy = rising(f"{PRODUCE}_sum", 45, **sides) | rising(f"{PRODUCE}_count", 15, **sides)
    idle = steady(f"{PRODUCE}_sum", 50, **sides) | steady(f"{PRODUCE}_count", 10, **sides)

    answers(tmp_path, busy, mean(PRODUCE, 'request="Produce"'), expected={of(3, node="1")})
    answers(tmp_path, idle, mean(PRODUCE, 'request="Produce"'), expected=set())


def test_a_percentile_is_over_all_that_tell_it_and_no_number_is_no_point(tmp_path):
    busy: dict[str, str] = {}
    idle: dict[str, str] = {}
    for instance in ("a", "b"):
        for edge, count in (("1", 15), ("2", 30), ("+Inf", 30)):
            busy |= rising(f"{ACK}_bucket", count, broker="1", instance=instance, le=edge)
            idle |= steady(f"{ACK}_bucket", count, broker="1", instance=instance, le=edge)

    answers(tmp_path, busy, percentile(ACK, "0.5"), expected={of(1)})
    answers(tmp_path, busy, percentile(ACK, "0.75", by="broker"), expected={of(1.5, broker="1")})
    answers(tmp_path, idle, percentile(ACK, "0.5"), expected=set())
