"""librdkafka's statistics as values with types. Pure.

Times are microseconds of the last interval there, and seconds here; -1 means "not known" there, and None here. A field that
an older librdkafka lacks is not known either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# librdkafka's name → the quantile as Prometheus writes it.
QUANTILES = {"p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p99_99": "0.9999"}
LOGICAL = {"GroupCoordinator": "coordinator", "TxnCoordinator": "transaction-coordinator"}
ACTIVE = "active"  # a partition that is fetched; of any other the figures are old


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
    disconnects: int
    latency: Window
    outbuf: Window
    internal: Window
    throttle: Window


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    lag: int | None
    fetched: int  # and not yet polled


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
    transaction: str
    epochs: int


@dataclass(frozen=True, slots=True)
class Statistics:
    client: str  # unique in its process
    kind: str  # producer or consumer
    queue_records: int
    queue_bytes: int
    queue_max_records: int
    records_sent: int
    bytes_sent: int
    records_received: int
    bytes_received: int
    brokers: Mapping[str, BrokerStatistics]
    partitions: Mapping[tuple[str, int], PartitionStatistics]
    group: GroupStatistics | None
    producer: ProducerState | None


def statistics(told: Mapping[str, Any]) -> Statistics:
    """Of the JSON that `stats_cb` is given, parsed."""
    number = told.get
    return Statistics(
        client=str(told["name"]),
        kind=str(told.get("type", "")),
        queue_records=number("msg_cnt", 0),
        queue_bytes=number("msg_size", 0),
        queue_max_records=number("msg_max", 0),
        records_sent=number("txmsgs", 0),
        bytes_sent=number("txmsg_bytes", 0),
        records_received=number("rxmsgs", 0),
        bytes_received=number("rxmsg_bytes", 0),
        brokers={name: _broker(broker) for broker in told.get("brokers", {}).values() if (name := _name(broker))},
        partitions={
            (topic, int(partition)): PartitionStatistics(_lag(figures), figures.get("fetchq_cnt", 0))
            for topic, facts in told.get("topics", {}).items()
            for partition, figures in facts.get("partitions", {}).items()
            if int(partition) >= 0 and figures.get("fetch_state") == ACTIVE  # -1 holds what has no partition yet
        },
        group=_group(told["cgrp"]) if told.get("cgrp") else None,
        producer=_producer(told["eos"]) if told.get("eos") else None,
    )


def _name(broker: Mapping[str, Any]) -> str:
    """By its id; an address that is not known to be a broker yet has none and is left out."""
    if broker.get("source") == "logical":
        return LOGICAL.get(str(broker.get("name", "")).partition("/")[0], "")
    return str(broker["nodeid"]) if broker.get("nodeid", -1) >= 0 else ""


def _broker(told: Mapping[str, Any]) -> BrokerStatistics:
    return BrokerStatistics(
        up=told.get("state") == "UP",
        requests=told.get("tx", 0),
        errors=told.get("txerrs", 0),
        retries=told.get("txretries", 0),
        timeouts=told.get("req_timeouts", 0),
        disconnects=told.get("disconnects", 0),
        latency=_window(told.get("rtt", {})),
        outbuf=_window(told.get("outbuf_latency", {})),
        internal=_window(told.get("int_latency", {})),
        throttle=_window(told.get("throttle", {}), unit=1e-3),  # the one that is in milliseconds
    )


def _window(told: Mapping[str, Any], unit: float = 1e-6) -> Window:
    count = told.get("cnt", 0)
    quantiles = {label: told[name] * unit for name, label in QUANTILES.items() if name in told} if count else {}
    return Window(count, told.get("sum", 0) * unit, quantiles)


def _lag(told: Mapping[str, Any]) -> int | None:
    """Behind what the application was handed; where offsets are not stored, behind what was committed."""
    for name in ("consumer_lag_stored", "consumer_lag"):
        if told.get(name, -1) >= 0:
            return int(told[name])
    return None


def _group(told: Mapping[str, Any]) -> GroupStatistics:
    age = told.get("rebalance_age", -1)
    return GroupStatistics(
        state=str(told.get("state", "")),
        join_state=str(told.get("join_state", "")),
        rebalances=told.get("rebalance_cnt", 0),
        rebalance_age=age / 1000 if age >= 0 and told.get("rebalance_cnt", 0) else None,
        assigned=told.get("assignment_size", 0),
    )


def _producer(told: Mapping[str, Any]) -> ProducerState:
    return ProducerState(
        idempotence=str(told.get("idemp_state", "")),
        transaction=str(told.get("txn_state", "")),
        epochs=told.get("epoch_cnt", 0),
    )
