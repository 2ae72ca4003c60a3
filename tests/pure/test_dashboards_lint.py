"""Every check of a query fires on the mistake it is for, and stays quiet on what only looks like it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.lint.checks import CHECKS
from dashboards.lint.known import of_catalogue
from dashboards.lint.linting import lint
from dashboards.lint.tree import parsed
from dashboards.reading import Dashboard, Panel, Target
from kernel.metric_tables import METRICS

KNOWN = of_catalogue(METRICS)
OFFLINE = "kafka_controller_kafkacontroller_offlinepartitionscount"
CAPITALS = "kafka_controller_KafkaController_OfflinePartitionsCount"
ACTIVE = "kafka_controller_kafkacontroller_activecontrollercount"
UNCLEAN = "kafka_controller_controllerstats_uncleanleaderelections_total"
BYTES = "kafka_server_brokertopicmetrics_bytesin_total"
URP = "kafka_server_replicamanager_underreplicatedpartitions"
SHRINKS = "kafka_server_replicamanager_isrshrinks_total"
TOTAL_TIME = "kafka_network_requestmetrics_totaltimems"
POOL = "kafka_server_kafkarequesthandlerpool"
ACK = "kafka_probe_ack_seconds"


def checks_that_fire(expression: str, **panel: object) -> set[str]:
    shown = Panel(1, "a panel", "timeseries", **panel)
    return {finding.check for check in CHECKS for finding in check(shown, parsed(expression), KNOWN)}


FIRES = {
    "a sum over controllers": ("sum-of-replicated", f"sum({OFFLINE})"),
    "a sum over controllers by cluster": ("sum-of-replicated", f"sum by (cluster) ({OFFLINE})"),
    "a sum without the instance": ("sum-of-replicated", f"sum without (instance) ({OFFLINE})"),
    "an average over controllers": ("sum-of-replicated", f"avg({OFFLINE})"),
    "a count of what controllers repeat": ("sum-of-replicated", f"count({OFFLINE})"),
    "a sum of controllers' increases": ("sum-of-replicated", f"sum(increase({UNCLEAN}[1h]))"),
    "a sum over controllers inside arithmetic": ("sum-of-replicated", f"1 - sum({OFFLINE}) / 3"),
    "a sum of each controller's greatest": ("sum-of-replicated", f"sum(max by (instance) ({OFFLINE}))"),
    "a sum over controllers in Bitnami's name": ("sum-of-replicated", f"sum({OFFLINE}_value)"),
    "a sum over controllers in Kafka's capitals": ("sum-of-replicated", f"sum({CAPITALS})"),
    "a sum over heartbeats": ("sum-of-replicated", "sum(kafka_controller_kafkacontroller_timesincelastheartbeatreceivedms)"),
    "an average of leaders' ids": ("sum-of-ids", "avg(kafka_server_raftmetrics_current_leader)"),
    "a sum of ids by their count": (
        "sum-of-ids",
        "sum(kafka_server_raft_metrics_current_leader) / count(kafka_server_raft_metrics_current_leader)",
    ),
    "a sum of broker states": ("sum-of-ids", "sum(kafka_server_kafkaserver_brokerstate)"),
    "the rate of a gauge": ("rate-of-gauge", f"rate({URP}[5m])"),
    "the increase of a gauge": ("rate-of-gauge", f"sum(increase({URP}[5m]))"),
    "the rate of a gauge in a subquery": ("rate-of-gauge", f"irate({URP}[5m:30s])"),
    "the rate of a percentile": ("rate-of-gauge", f'rate({TOTAL_TIME}{{quantile="0.99"}}[5m])'),
    "a counter as it stands": ("raw-counter", UNCLEAN),
    "a sum of counters": ("raw-counter", f"sum({SHRINKS})"),
    "a counter above nothing": ("raw-counter", f"{UNCLEAN} > 0"),
    "the greatest of a counter over time": ("raw-counter", f"max_over_time({SHRINKS}[1h])"),
    "a share of two counters": (
        "raw-counter",
        f"kafka_server_brokertopicmetrics_failedproducerequests_total{{topic=''}} / {BYTES}{{topic=''}}",
    ),
    "a mean since the start": ("raw-counter", f"{TOTAL_TIME}_sum / {TOTAL_TIME}_count"),
    "a counter in Confluent's name": ("raw-counter", "kafka_server_brokertopicmetrics_bytesinpersec{topic=''}"),
    "a counter on one side of or": ("raw-counter", f"rate({SHRINKS}[5m]) or {SHRINKS}"),
    "a counter by its ending": ("raw-counter", "http_requests_total"),
    "a percentile of buckets since the start": ("raw-counter", f"histogram_quantile(0.99, sum by (le) ({ACK}_bucket))"),
    "the delta of a counter": ("delta-of-counter", f"delta({SHRINKS}[5m])"),
    "the slope of a counter": ("delta-of-counter", f"deriv({BYTES}{{topic=''}}[5m])"),
    "a rate over a sum": ("rate-after-sum", f"rate(sum({SHRINKS})[5m:30s])"),
    "an increase over the greatest": ("rate-after-sum", f"increase((max by (node) ({SHRINKS}))[5m:])"),
    "a sum over topics and their total": ("total-and-parts", f"sum(rate({BYTES}[5m]))"),
    "a sum by instance over topics and their total": ("total-and-parts", f"sum by (instance) (rate({BYTES}[5m]))"),
    "a sum without the topic": ("total-and-parts", f"sum without (topic) (rate({BYTES}[5m]))"),
    "the same in Confluent's name": ("total-and-parts", "sum(rate(kafka_server_brokertopicmetrics_bytesinpersec[5m]))"),
    "an average of percentiles": ("average-of-quantiles", f'avg({TOTAL_TIME}{{quantile="0.99"}})'),
    "an average of a broker's requests": ("average-of-quantiles", f"avg by (instance, quantile) ({TOTAL_TIME})"),
    "an average of histograms' percentiles": (
        "average-of-quantiles",
        f"avg(histogram_quantile(0.9, rate({ACK}_bucket[5m])))",
    ),
    "a percentile without a question": ("quantile-without-traffic", f'max({TOTAL_TIME}{{quantile="0.99"}})'),
    "a percentile in a name": ("quantile-without-traffic", "kafka_network_requestmetrics_totaltimems_99thpercentile"),
    "a percentile with another condition": (
        "quantile-without-traffic",
        f'{TOTAL_TIME}{{quantile="0.99"}} and on (instance) {ACTIVE} == 1',
    ),
    "a mean rate": ("since-boot", "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_meanrate"),
    "a mean rate in snake case": ("since-boot", "avg(kafka_server_kafkarequesthandlerpool_requesthandleravgidle_mean_rate)"),
    "a one-minute rate": ("since-boot", "kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate"),
}


@pytest.mark.parametrize("wrong", FIRES, ids=lambda words: words.replace(" ", "-"))
def test_it_fires_on(wrong):
    check, expression = FIRES[wrong]

    assert check in checks_that_fire(expression)


QUIET = {
    "the greatest over controllers": f"max({OFFLINE})",
    "the greatest by cluster": f"max by (cluster) ({OFFLINE})",
    "a sum over clusters of the greatest": f"sum(max by (cluster) ({OFFLINE}))",
    "each controller by itself": f"sum by (instance) ({OFFLINE})",
    "each pod by itself": f"sum by (namespace, pod) ({OFFLINE})",
    "a sum that leaves the instance": f"sum without (job) ({OFFLINE})",
    "the active controller's alone": f"sum({OFFLINE} and on (instance) {ACTIVE} == 1)",
    "times whether it is active": f"sum({OFFLINE} * on (instance) {ACTIVE})",
    "one controller by its name": f'sum({OFFLINE}{{instance="c1:9404"}})',
    "a sum of who is active": f"sum({ACTIVE})",
    "a sum with what is repeated as a condition": f"sum(rate({SHRINKS}[5m]) and on () {OFFLINE} > 0)",
    "a sum of absence": f"sum(absent({OFFLINE}))",
    "the leaders' ids beside each other": "max by (instance) (kafka_server_raftmetrics_current_leader)",
    "the sum of states by instance": "sum by (instance) (kafka_server_kafkaserver_brokerstate)",
    "how many say which leader": 'count_values("leader", kafka_server_raftmetrics_current_leader)',
    "a sum of counted ids": 'sum(count_values("leader", kafka_server_raftmetrics_current_leader))',
    "a rate of a counter": f"rate({SHRINKS}[5m])",
    "a sum of rates": f"sum(rate({SHRINKS}[5m]))",
    "an increase in Confluent's name": 'increase(kafka_server_brokertopicmetrics_bytesinpersec{topic=""}[5m])',
    "records written by the log's end": "sum(rate(kafka_server_raftmetrics_log_end_offset[1m]))",
    "kafka_exporter's records written": "sum(rate(kafka_topic_partition_current_offset[1m]))",
    "how a gauge changes": f"delta({URP}[5m])",
    "a gauge": f"sum({URP})",
    "restarts of a counter": f"resets({SHRINKS}[1h])",
    "changes of a counter": f"changes({SHRINKS}[1h])",
    "when a counter was told": f"time() - timestamp({SHRINKS})",
    "no counter at all": f"absent({SHRINKS})",
    "how many tell a counter": f"count({SHRINKS})",
    "whether there ever was one": f"max({UNCLEAN}) > bool 0",
    "begun less done": "kafka_client_records_sent_total - kafka_client_records_received_total",
    "a counter as a condition": f"{URP} and on (instance) {SHRINKS} > 0",
    "the greatest rate over time": f"max_over_time(sum(rate({SHRINKS}[1m]))[1h:1m])",
    "a rate in a subquery of a counter": f"rate({SHRINKS}[5m:30s])",
    "the total of all topics": f'sum(rate({BYTES}{{topic=""}}[5m]))',
    "the sum of topics": f'sum(rate({BYTES}{{topic!=""}}[5m]))',
    "the topics a reader chose": f'sum(rate({BYTES}{{topic=~"orders|bills"}}[5m]))',
    "topics beside each other": f"sum by (topic) (rate({BYTES}[5m]))",
    "a sum that leaves the topics": f"sum without (node) (rate({BYTES}[5m]))",
    "the greatest of total and topics": f"max(rate({BYTES}[5m]))",
    "a name that is never by topic": "sum(rate(kafka_server_brokertopicmetrics_replicationbytesin_total[5m]))",
    "the worst percentile with traffic": (
        f'max({TOTAL_TIME}{{quantile="0.99"}} and ignoring (quantile) rate({TOTAL_TIME}_count[5m]) > 0)'
    ),
    "a percentile unless nothing comes": f"{TOTAL_TIME} unless ignoring (quantile) rate({TOTAL_TIME}_count[5m]) == 0",
    "each request's percentile with traffic": (
        f'sum by (instance, request) ({TOTAL_TIME}{{quantile="0.99"}} and ignoring (quantile) '
        f"rate({TOTAL_TIME}_count[5m]) > 0)"
    ),
    "a percentile of a histogram": f"histogram_quantile(0.99, sum by (le) (rate({ACK}_bucket[5m])))",
    "a mean of a window": f"rate({TOTAL_TIME}_sum[5m]) / rate({TOTAL_TIME}_count[5m])",
    "a comment with an apostrophe": f"sum( # don't\n{URP} )",
    "garbage collections, which have no percentiles": 'jvm_gc_collection_seconds{quantile="0.5"}',
    "a summary that is not Kafka's": 'go_gc_duration_seconds{quantile="1"}',
    "garbage collections": "rate(jvm_gc_collection_seconds_sum[5m])",
    "a rate in a name that is a count": "rate(kafka_server_addpartitionstotxnmanager_verificationfailurerate_total[5m])",
    "a number": "42",
    "a metric that nobody knows": "sum(something_else)",
}


@pytest.mark.parametrize("right", QUIET, ids=lambda words: words.replace(" ", "-"))
def test_it_stays_quiet_on(right):
    assert checks_that_fire(QUIET[right]) == set()


_SELECTORS = st.sampled_from([OFFLINE, ACTIVE, UNCLEAN, BYTES, f'{BYTES}{{topic!=""}}', URP, TOTAL_TIME, f"{ACK}_bucket"])
_QUERIES = st.recursive(
    _SELECTORS,
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["sum", "avg", "max by (instance)", "count", "abs", "absent"]), inner),
        st.builds("{}(({})[5m:30s])".format, st.sampled_from(["rate", "delta", "max_over_time", "resets"]), inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["+", "/", "> bool", ">", "and", "or", "unless"]), inner),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(query=_QUERIES, unit=st.sampled_from(["", "bytes", "s", "percent"]))
def test_brackets_and_blanks_change_nothing_of_what_is_told(query, unit):
    told = lint(board(query, unit=unit), KNOWN).findings

    assert lint(board(f" ( ( {query} ) ) ", unit=unit), KNOWN).findings == told
    assert "does-not-parse" not in {one.check for one in told}


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (
            f"{POOL}_requesthandleravgidlepercent_meanrate",
            f"rate({POOL}_requesthandleravgidle_seconds_total[$__rate_interval])",
        ),
        (
            f"{POOL}_requesthandleravgidle_percent_mean_rate",
            f"rate({POOL}_requesthandleravgidle_seconds_total[$__rate_interval])",
        ),
        ("kafka_server_brokertopicmetrics_bytesinpersec_oneminuterate", f"rate({BYTES}[$__rate_interval])"),
        ("kafka_server_replicamanager_isrshrinks_fifteenminuterate", f"rate({SHRINKS}[$__rate_interval])"),
        ("somebody_elses_oneminuterate", "rate(somebody_elses_total[$__rate_interval])"),
    ],
)
def test_in_the_place_of_an_average_stands_the_rate_of_the_count(name, right):
    (finding,) = lint(board(name), KNOWN).findings

    assert finding.hint == f"the rate() of its count: {right}"


def test_a_stat_that_shows_by_how_much_a_counter_rose_may_have_the_counter():
    shows_the_difference = {"reduceOptions": {"calcs": ["diff"]}}
    shows_the_last = {"reduceOptions": {"calcs": ["lastNotNull"]}}

    assert checks_that_fire(f"max({UNCLEAN})", options=shows_the_difference) == set()
    assert checks_that_fire(f"max({UNCLEAN})", options=shows_the_last) == {"raw-counter"}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("sum(rate(x[5m])", "parenthesis"),
        ("rate(x)", "expected type"),
        ("+".join(["x"] * 5000), "more than 300 operators"),  # the parser ends the whole process on it
        ("(" * 400 + "x" + ")" * 400, "more than 300 operators"),
    ],
)
def test_what_does_not_parse_is_told_with_the_reason(expression, words):
    report = lint(board(expression), KNOWN)

    assert [(one.check, words in one.sentence) for one in report.findings] == [("does-not-parse", True)]


def test_what_is_nested_as_deep_as_may_be_is_judged():
    report = lint(board("(" * 290 + f"sum({OFFLINE})" + ")" * 290), KNOWN)

    assert [one.check for one in report.findings] == ["sum-of-replicated"]


def test_hidden_queries_are_not_judged_and_those_that_need_a_value_are_named():
    panel = Panel(1, "p", "stat", (Target("A", f"sum({OFFLINE})", hidden=True), Target("B", f"topk($count, {URP})")))

    report = lint(Dashboard("u", "b", (panel,)), KNOWN)

    assert (report.queries, report.findings) == (1, ())
    assert "$count" in report.skipped[0].sentence


def board(*expressions: str, **panel: object) -> Dashboard:
    targets = tuple(Target("ABCDEF"[at], one) for at, one in enumerate(expressions))
    return Dashboard("uid", "A board", (Panel(1, "A panel", "timeseries", targets, **panel),))
