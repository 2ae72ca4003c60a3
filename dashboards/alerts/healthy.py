"""A healthy cluster as promtool sees it: three combined nodes, two groups, a probe, an audit; and its rolling restart.

Every rule is tried against this background, so that one which fires on a healthy cluster, or on its orderly restart, is
found. One value each quarter of a minute, as Prometheus scrapes; None where there is no sample.
"""

from collections.abc import Mapping
from itertools import pairwise

from dashboards.alerts.alert import Change, Event, Gone, Rise

STEP = 15  # seconds
MINUTE = 60 // STEP
BROKEN, HEALED, END = 20 * MINUTE, 60 * MINUTE, 110 * MINUTE
NODES = ("1", "2", "3")
DAY = 86_400.0

CONTROLLER = "kafka_controller_kafkacontroller_"
STATS = "kafka_controller_controllerstats_"
MANAGER = "kafka_server_replicamanager_"
IDLE = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_ratio"
PRODUCE = "kafka_network_requestmetrics_totaltimems"
HEARTBEAT = f"{CONTROLLER}timesincelastheartbeatreceivedms"
ACTIVE = f"{CONTROLLER}activecontrollercount"
COMMITTED = "kafka_server_raftmetrics_high_watermark"  # of the metadata log
UP = "kafka_jmx_up"

Values = list[float | None]
Series = dict[str, Values]


def named(name: str, **labels: str) -> str:
    told = ", ".join(f'{label}="{value}"' for label, value in {"cluster": "c", **labels}.items())
    return f"{name}{{{told}}}"


def healthy() -> Series:
    """Every series that a rule looks at."""
    series = {name: values for node in NODES for name, values in _of_node(node).items()}
    for group in ("reader", "writer"):
        series[named("kafka_lag_group_gravity", group=group)] = _steady(0)
        series[named("kafka_lag_group_status", group=group, status="OK")] = _steady(1)
        series[named("kafka_lag_group_seconds", group=group)] = _steady(2)
        series[named("kafka_lag_group_slo_seconds", group=group)] = _steady(60)
    for monitor in ("lag", "audit"):
        series[named(f"kafka_{monitor}_up")] = _steady(1)
        series[named(f"kafka_{monitor}_judged_timestamp_seconds")] = _rising(STEP)
    series[named("kafka_probe_up")] = _steady(1)
    for outcome, many in (("complete", 1000.0), ("missing", 0.0)):
        series[named("kafka_audit_records", topic="t", source="a", tier="b", outcome=outcome)] = _steady(many)
    return series


def _of_node(node: str) -> Series:
    of_node = {
        UP: _steady(1),
        ACTIVE: _steady(float(node == "1")),
        f"{CONTROLLER}offlinepartitionscount": _steady(0),
        f"{CONTROLLER}fencedbrokercount": _steady(0),
        f"{STATS}uncleanleaderelections_total": _steady(0),
        f"{MANAGER}underminisrpartitioncount": _steady(0),
        f"{MANAGER}underreplicatedpartitions": _steady(0),
        f"{MANAGER}isrshrinks_total": _steady(7),
        "kafka_log_logmanager_offlinelogdirectorycount": _steady(0),
        IDLE: _steady(0.9),
        "process_open_fds": _steady(400),
        "process_max_fds": _steady(1000),
    }
    series = {named(name, node=node): values for name, values in of_node.items()}
    series[named(PRODUCE, node=node, request="Produce", quantile="0.99")] = _steady(20)
    series[named(f"{PRODUCE}_count", node=node, request="Produce")] = _rising(100)
    series[named(f"{PRODUCE}_sum", node=node, request="Produce")] = _rising(100 * 5)  # milliseconds
    series[named("kafka_log_dir_free_bytes", node=node, dir="/data")] = _steady(60)
    series[named("kafka_log_dir_total_bytes", node=node, dir="/data")] = _steady(100)
    series[named(COMMITTED, node=node)] = _rising(2 * STEP)
    series[named(HEARTBEAT, broker=node)] = _steady(1500)  # whichever node is active tells it
    series[named("kafka_probe_broker_available", broker=node)] = _steady(1)
    series[named("kafka_probe_lost_total", broker=node, partition=node)] = _steady(0)
    # promtool's clock starts at the beginning of 1970.
    series[named("kafka_probe_certificate_expiry_timestamp_seconds", broker=node)] = _steady(400 * DAY)
    return series


def broken(changes: Mapping[str, Change], start: int = BROKEN, end: int = HEALED) -> Series:
    """What is not in a healthy cluster is there for as long as it is broken."""
    series = healthy()
    for name, change in changes.items():
        series[name] = _changed(series.get(name, [None] * END), change, start, end)
    return series


def restarting(away: int = MINUTE, pause: int = 2 * MINUTE) -> Series:
    """One node after the other is stopped in order, is away for `away` steps, and catches up for as long again."""
    series = healthy()
    begins = {node: 4 * MINUTE + place * (2 * away + pause) for place, node in enumerate(NODES)}
    for node, begin in begins.items():
        back = begin + away
        for name in series:
            if f'node="{node}"' in name:
                series[name] = _restarted(series[name], begin, back)
        _put(series[named(UP, node=node)], 0, begin, back)
        _put(series[named(HEARTBEAT, broker=node)], 9000, begin, back)
        _put(series[named("kafka_probe_broker_available", broker=node)], 0, begin, back)
        for other in (other for other in NODES if other != node):
            _put(series[named(f"{MANAGER}underreplicatedpartitions", node=other)], 20, begin, back + away)
            _put(series[named(f"{CONTROLLER}fencedbrokercount", node=other)], 1, begin, back)
            # The few requests that waited for an election; Kafka's percentiles forget them slowly.
            _put(series[named(PRODUCE, node=other, request="Produce", quantile="0.99")], 2500, begin, back + 5 * MINUTE)
            shrinks = series[named(f"{MANAGER}isrshrinks_total", node=other)]
            shrinks[begin:] = [None if one is None else one + 20 for one in shrinks[begin:]]
    _hand_on(series, begins, away)
    return series


def _hand_on(series: Series, begins: Mapping[str, int], away: int) -> None:
    """The active controller is another one as soon as it goes."""
    turns = [0, *begins.values(), END]
    for active, (start, end) in zip((*NODES, "1"), pairwise(turns), strict=False):
        for node in NODES:
            values = series[named(ACTIVE, node=node)]
            values[start:end] = [None if one is None else float(node == active) for one in values[start:end]]


def _steady(value: float) -> Values:
    return [value] * END


def _rising(each: float) -> Values:
    return [each * place for place in range(END)]


def _put(values: Values, value: float, start: int, end: int) -> None:
    values[start:end] = [value] * (end - start)


def _restarted(values: Values, begin: int, back: int) -> Values:
    """Away, and then from its first value on: a counter begins anew."""
    return [*values[:begin], *[None] * (back - begin), *values[: END - back]]


def _changed(values: Values, change: Change, start: int, end: int) -> Values:
    match change:
        case Gone():
            return [*values[:start], *[None] * (end - start), *values[end:]]
        case Event(by):
            return [*values[:start], *((one or 0) + by for one in values[start:])]
        case Rise(each):
            first = values[start] or 0
            high = [first + each * place for place in range(end - start)]
            later = [high[-1] + (one or 0) - (values[end] or 0) for one in values[end:]]
            return [*values[:start], *high, *later]
        case _:
            return [*values[:start], *[float(change)] * (end - start), *values[end:]]
