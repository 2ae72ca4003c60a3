"""The panel's unit against the query's: followed through rates, sums and constants, and silent where it is not certain."""

import pytest

from dashboards.lint.known import of_catalogue
from dashboards.lint.quantities import quantity
from dashboards.lint.tree import parsed
from dashboards.lint.unit import UNITS, contradiction, unit
from dashboards.reading import Panel
from kernel.metric_tables import METRICS

KNOWN = of_catalogue(METRICS)
BYTES_IN = 'kafka_server_brokertopicmetrics_bytesin_total{topic=""}'
HEAP = "jvm_memory_used_bytes"
HEARTBEAT = "kafka_controller_kafkacontroller_timesincelastheartbeatreceivedms"  # milliseconds
AGE = "kafka_client_statistics_age_seconds"
IDLE = "kafka_network_socketserver_networkprocessoravgidle_percent"  # a share of one, whatever its name says
HANDLERS = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total"
HANDLERS_IN_NANOSECONDS = "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent"  # Confluent's name
TOTAL_TIME = "kafka_network_requestmetrics_totaltimems"
ACK = "kafka_probe_ack_seconds"
URP = "kafka_server_replicamanager_underreplicatedpartitions"
STARTED = "process_start_time_seconds"


def complaint(expression: str, shown: str, **panel: object) -> str:
    found = list(unit(Panel(1, "p", "timeseries", unit=shown, **panel), parsed(expression), KNOWN))
    return found[0].sentence + " → " + found[0].hint if found else ""


@pytest.mark.parametrize(
    ("expression", "shown", "words"),
    [
        (HEAP, "short", "bytes, the panel's unit is short"),
        (HEAP, "s", "bytes, the panel's unit is s"),
        (HEAP, "Bps", "the panel's unit is Bps, for bytes per second"),
        (f"{HEAP} / 1024 / 1024", "bytes", "1.04858e+06 times too small"),
        (f"sum(rate({BYTES_IN}[5m]))", "bytes", "bytes per second, the panel's unit is bytes"),
        (f"rate({BYTES_IN}[5m])", "bps", "8 times too small"),
        (f"rate({BYTES_IN}[5m])", "none", "set the panel's unit to Bps"),
        (HEARTBEAT, "s", "milliseconds, the panel's unit is s: the number shown is 1000 times too large"),
        (f"max({HEARTBEAT}) / 1000", "ms", "1000 times too small"),
        (f"{HEARTBEAT} > 3000", "s", "1000 times too large"),
        (f"3000 < {HEARTBEAT}", "s", "1000 times too large"),
        (AGE, "ms", "seconds, the panel's unit is ms"),
        (STARTED, "dateTimeAsIso", "1000 times too small"),
        (f"time() - {STARTED}", "ms", "1000 times too small"),
        (IDLE, "percent", "a share of 1, the panel's unit is percent: the number shown is 100 times too small"),
        (f"{IDLE} * 100", "percentunit", "100 times too large"),
        (f"rate({HANDLERS}[5m])", "percent", "100 times too small"),
        (f"rate({HANDLERS_IN_NANOSECONDS}[5m])", "percentunit", "1e+09 times too large"),
        (f"{HEAP} / jvm_memory_max_bytes", "percent", "100 times too small"),
        (f"rate({TOTAL_TIME}_sum[5m]) / rate({TOTAL_TIME}_count[5m])", "s", "1000 times too large"),
        (f"histogram_quantile(0.99, sum by (le) (rate({ACK}_bucket[5m])))", "ms", "1000 times too small"),
        (f"sum({URP})", "bytes", "a plain number, the panel's unit is bytes"),
        ("rate(kafka_server_replicamanager_isrshrinks_total[5m])", "ms", "so many per second, the panel's unit is ms"),
        ("rate(kafka_server_replicamanager_isrshrinks_total[5m])", "opm", "60 times too small"),
    ],
)
def test_a_contradiction_is_told(expression, shown, words):
    assert words in complaint(expression, shown)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (HEAP, "bytes"),
        (HEAP, "decbytes"),
        (HEAP, ""),
        (HEAP, "suffix:B"),
        (f"{HEAP} * 8", "bits"),
        (f"{HEAP} / 1024 / 1024", "decmbytes"),
        (f"{HEAP} / (1024 * 1024 * 1024)", "gbytes"),
        (f"sum(rate({BYTES_IN}[5m]))", "Bps"),
        (f"8 * rate({BYTES_IN}[5m])", "bps"),
        (f"sum(rate({BYTES_IN}[5m])) or vector(0)", "binBps"),
        (f"increase({BYTES_IN}[1h])", "bytes"),
        (f"increase({BYTES_IN}[1m]) / 60", "Bps"),
        (HEARTBEAT, "ms"),
        (f"max by (broker) ({HEARTBEAT}) / 1000", "s"),
        (f"{HEARTBEAT} > 3000", "ms"),
        (f"{HEARTBEAT} > bool 3000", "none"),
        (f"{STARTED} * 1000", "dateTimeAsIso"),
        (f"time() - {STARTED}", "s"),
        (f"(time() - {STARTED}) / 3600", "h"),
        (IDLE, "percentunit"),
        (f"100 * (1 - {IDLE})", "percent"),
        (f"1 - avg({IDLE})", "percentunit"),
        (f"rate({HANDLERS}[5m])", "percentunit"),
        (f"rate({HANDLERS}[5m])", "short"),
        (f"rate({HANDLERS_IN_NANOSECONDS}[5m]) / 1e9", "percentunit"),
        (f"100 * {HEAP} / jvm_memory_max_bytes", "percent"),
        (f"rate({TOTAL_TIME}_sum[5m]) / rate({TOTAL_TIME}_count[5m])", "ms"),
        (f"histogram_quantile(0.99, sum by (le) (rate({ACK}_bucket[5m])))", "s"),
        (f"count({HEAP})", "short"),
        ("process_open_fds / process_max_fds", "percentunit"),
        ("process_open_fds / process_max_fds", "percent"),
        ("increase(kafka_server_replicamanager_isrshrinks_total[1m])", "cpm"),
        ("avg(avg_over_time(kafka_probe_broker_available[1h]))", "percentunit"),
        ("rate(kafka_server_replicamanager_isrshrinks_total[5m])", "cps"),
        ("sum(rate(kafka_server_brokertopicmetrics_messagesin_total{topic=''}[5m])) * 60", "cpm"),
        ("kafka_server_quota_produce_byte_rate", "Bps"),
        ("something_nobody_knows", "bytes"),
        (f"{HEAP} * something_nobody_knows", "s"),
        (f"{HEAP} + {AGE}", "s"),
        (f"{HEAP} ^ 2", "s"),
        ("42", "bytes"),
    ],
)
def test_what_fits_or_is_not_certain_is_let_be(expression, shown):
    assert complaint(expression, shown) == ""


@pytest.mark.parametrize(
    "panel",
    [
        {"overrides": ({"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "unit", "value": "bytes"}]},)},
        {"transformations": ({"id": "calculateField"},)},
        {"options": {"reduceOptions": {"calcs": ["changeCount"]}}},
    ],
)
def test_a_panel_that_makes_something_else_of_the_value_is_let_be(panel):
    assert complaint(HEAP, "s")
    assert complaint(HEAP, "s", **panel) == ""


def test_every_unit_of_grafana_that_is_listed_is_of_a_known_quantity():
    for name in UNITS:
        for expression in (HEAP, f"rate({BYTES_IN}[5m])", AGE, IDLE, URP, f"rate({HANDLERS}[5m])"):
            contradiction(quantity(parsed(expression), KNOWN), name)
