"""What the probe has seen, as families for Prometheus. Pure."""

from collections.abc import Iterator

from exporters.probe.seen import Seen
from exporters.probe.tallying import Tally
from exporters.translate import Family
from kernel.metric_tables import METRICS
from kernel.metrics import Kind

_OWN = {metric.name.removeprefix("kafka_probe_"): metric for metric in METRICS if metric.name.startswith("kafka_probe_")}
Figure = tuple[str, dict[str, str], float]


def families(seen: Seen, now: float) -> list[Family]:
    found: dict[str, Family] = {}

    def add(name: str, suffix: str, labels: dict[str, str], value: float) -> None:
        metric = _OWN[name]
        suffix = suffix or ("_total" if metric.kind is Kind.COUNTER else "")
        found.setdefault(name, Family(metric)).samples.append((suffix, tuple(labels.items()), float(value)))

    with seen.lock:
        for name, labels, value in _figures(seen, now):
            add(name, "", labels, value)
        for name, by_broker in (("ack_seconds", seen.acks), ("roundtrip_seconds", seen.roundtrips)):
            for broker, histogram in by_broker.items():
                for suffix, labels, value in histogram.samples({"broker": str(broker)}):
                    add(name, suffix, labels, value)
        for suffix, labels, value in seen.commits.samples({}):
            add("commit_seconds", suffix, labels, value)
    return list(found.values())


def _figures(seen: Seen, now: float) -> Iterator[Figure]:
    for partition, tally in seen.tallies.items():
        where = {"broker": str(seen.homes.get(partition, "")), "partition": str(partition)}
        yield from _of_partition(where, tally, now)
    for broker in sorted({*seen.brokers, *seen.homes.values()}):
        yield "broker_available", {"broker": str(broker)}, float(_available(seen, broker, now))
    for error, count in seen.commit_errors.items():
        yield "commit_errors_total", {"error": error}, count
    yield "partitions", {}, len(seen.homes)
    yield "misplaced_partitions", {}, sum(seen.leaders.get(partition) != broker for partition, broker in seen.homes.items())
    yield "brokers_without_partition", {}, len(seen.brokers - set(seen.homes.values()))
    yield "placement_errors_total", {}, seen.placement_errors
    yield "restarts_total", {}, seen.restarts


def _of_partition(where: dict[str, str], tally: Tally, now: float) -> Iterator[Figure]:
    yield "sent_total", where, tally.sent
    yield "acknowledged_total", where, tally.acknowledged
    yield "received_total", where, tally.received
    for error, count in tally.failed.items():
        yield "failed_total", where | {"error": error}, count
    yield "late_records", where, tally.late_now
    yield "late_total", where, tally.late
    yield "lost_total", where, tally.lost
    yield "duplicated_total", where, tally.duplicated
    yield "out_of_order_total", where, tally.out_of_order
    available, share = tally.available(now), tally.availability(now)
    if available is not None and share is not None:
        yield "partition_available", where, float(available)
        yield "availability_ratio", where, share


def _available(seen: Seen, broker: int, now: float) -> bool:
    """Its partition is led by it, and takes records. A partition that somebody else leads says nothing for its home."""
    own = [partition for partition, at in seen.homes.items() if at == broker and seen.leaders.get(partition) == broker]
    return any(seen.tallies[partition].available(now) for partition in own if partition in seen.tallies)
