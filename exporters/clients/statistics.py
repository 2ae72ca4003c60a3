"""librdkafka's statistics as values with types. Pure.

Times are microseconds of the last interval there, and seconds here; -1 means "not known" there, and is left out here. A
field that an older librdkafka lacks is not known either; one that is no number is an error, told at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# librdkafka's name → the quantile as Prometheus writes it.
QUANTILES = {"p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p99_99": "0.9999"}
LONGEST = "1"
TRANSACTIONS = "TxnCoordinator"
LOGICAL = {"GroupCoordinator": "coordinator", TRANSACTIONS: "transaction-coordinator"}
UP = ("UP", "UPDATE")  # the second: up, and learning a new address meanwhile
ACTIVE = "active"  # a partition that is fetched; of any other the figures are old
BEGINNING = -2


@dataclass(frozen=True, slots=True)
class Window:
    """Measured over one statistics interval."""

    count: int
    total: float  # seconds
    quantiles: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BrokerStatistics:
    up: bool
    requests: int
    errors: int
    retries: int
    timeouts: int
    connects: int  # attempts; 0 for a broker that the client has not needed yet
    disconnects: int
    latency: Window
    outbuf: Window
    internal: Window
    throttle: Window


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    state: str
    join_state: str
    rebalances: int
    rebalance_age: float | None
    assigned: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    idempotence: str
    transaction: str | None  # None: idempotent, without transactions
    epochs: int


@dataclass(frozen=True, slots=True)
class Statistics:
    client: str  # unique in its process
    kind: str  # producer or consumer
    queue_records: int
    queue_bytes: int
    queue_max_records: int
    queue_max_bytes: int
    records_sent: int
    bytes_sent: int
    records_received: int
    bytes_received: int
    fetch_queue: int
    connected: int
    brokers: Mapping[str, BrokerStatistics]
    lags: Mapping[tuple[str, int], int]
    group: GroupStatistics | None
    producer: ProducerState | None


def statistics(told: Mapping[str, Any]) -> Statistics:
    """Of the JSON that `stats_cb` is given, parsed."""
    brokers = list(told.get("brokers", {}).values())
    return Statistics(
        client=str(told["name"]),
        kind=str(told["type"]),
        queue_records=_int(told, "msg_cnt"),
        queue_bytes=_int(told, "msg_size"),
        queue_max_records=_int(told, "msg_max"),
        queue_max_bytes=_int(told, "msg_size_max"),
        records_sent=_int(told, "txmsgs"),
        bytes_sent=_int(told, "txmsg_bytes"),
        records_received=_int(told, "rxmsgs"),
        bytes_received=_int(told, "rxmsg_bytes"),
        # All partitions wait in one queue, and each of them tells its whole length.
        fetch_queue=max((_int(figures, "fetchq_cnt") for _, figures in _fetched(told)), default=0),
        connected=sum(_up(broker) for broker in brokers if broker.get("source") != "logical"),
        brokers={name: _broker(broker) for broker in brokers if (name := _name(broker))},
        lags={place: lag for place, figures in _fetched(told) if (lag := _lag(figures)) is not None},
        group=_group(told["cgrp"]) if told.get("cgrp") else None,
        producer=_producer(told["eos"], TRANSACTIONS in told.get("brokers", {})) if told.get("eos") else None,
    )


def _int(told: Mapping[str, Any], name: str, unknown: int = 0) -> int:
    return int(told.get(name, unknown))


def _fetched(told: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    for topic, facts in told.get("topics", {}).items():
        for partition, figures in facts.get("partitions", {}).items():
            if int(partition) >= 0 and figures.get("fetch_state") == ACTIVE:  # -1 holds what has no partition yet
                yield (topic, int(partition)), figures


def _name(broker: Mapping[str, Any]) -> str:
    """By its id; an address that is not known to be a broker yet has none and is left out."""
    if broker.get("source") == "logical":
        return LOGICAL.get(str(broker.get("name", "")), "")
    number = _int(broker, "nodeid", -1)
    return str(number) if number >= 0 else ""


def _up(broker: Mapping[str, Any]) -> bool:
    return broker.get("state") in UP


def _broker(told: Mapping[str, Any]) -> BrokerStatistics:
    return BrokerStatistics(
        up=_up(told),
        requests=_int(told, "tx"),
        errors=_int(told, "txerrs"),
        retries=_int(told, "txretries"),
        timeouts=_int(told, "req_timeouts"),
        connects=_int(told, "connects"),
        disconnects=_int(told, "disconnects"),
        latency=_window(told.get("rtt", {})),
        outbuf=_window(told.get("outbuf_latency", {})),
        internal=_window(told.get("int_latency", {})),
        throttle=_window(told.get("throttle", {}), unit=1e-3),  # the one that is in milliseconds
    )


def _window(told: Mapping[str, Any], unit: float = 1e-6) -> Window:
    """Count, sum and maximum are of all values. Quantiles are of those that fit librdkafka's histogram: requests of more
    than half a second do not, and where all are slower, it tells quantiles of 0. So they count only if none was left out.
    """
    count, quantiles = _int(told, "cnt"), {}
    if count and not _int(told, "outofrange"):
        quantiles = {label: _int(told, name) * unit for name, label in QUANTILES.items() if name in told}
    if count and "max" in told:
        quantiles[LONGEST] = _int(told, "max") * unit
    return Window(count, _int(told, "sum") * unit, quantiles)


def _lag(told: Mapping[str, Any]) -> int | None:
    """Behind what the application was handed; where offsets are not stored, behind what was committed; where neither is
    there yet and reading starts at the beginning, all of the partition.
    """
    for name in ("consumer_lag_stored", "consumer_lag"):
        if (lag := _int(told, name, -1)) >= 0:
            return lag
    end = _int(told, "ls_offset", -1)  # of an isolation level that reads everything, this is the end of the log
    taken, first = _int(told, "app_offset", -1), _int(told, "lo_offset", -1)
    if taken >= 0:
        return max(0, end - taken)
    return end - first if _int(told, "query_offset", -1) == BEGINNING and 0 <= first <= end else None


def _group(told: Mapping[str, Any]) -> GroupStatistics:
    age, count = _int(told, "rebalance_age", -1), _int(told, "rebalance_cnt")
    return GroupStatistics(
        state=str(told.get("state", "")),
        join_state=str(told.get("join_state", "")),
        rebalances=count,
        rebalance_age=age / 1000 if age >= 0 and count else None,
        assigned=_int(told, "assignment_size"),
    )


def _producer(told: Mapping[str, Any], transactional: bool) -> ProducerState:
    return ProducerState(
        idempotence=str(told.get("idemp_state", "")),
        transaction=str(told.get("txn_state", "")) if transactional else None,
        epochs=_int(told, "epoch_cnt"),
    )
