"""What the probe has seen, as families for Prometheus. Pure."""

from collections.abc import Iterator

from exporters.probe.certificates import REASONS
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
    yield "up", {}, float(seen.up)
    for partition, broker in sorted(seen.homes.items()):
        yield from _of_partition(seen, partition, {"broker": str(broker), "partition": str(partition)}, now)
    for broker in sorted({*seen.brokers, *seen.homes.values()}):
        if (available := _broker_available(seen, broker, now)) is not None:
            yield "broker_available", {"broker": str(broker)}, float(available)
    for error, count in seen.commit_errors.items():
        yield "commit_errors_total", {"error": error}, count
    yield "partitions", {}, len(seen.homes)
    yield "misplaced_partitions", {}, sum(seen.leaders.get(partition) != broker for partition, broker in seen.homes.items())
    yield "brokers_without_partition", {}, len(seen.brokers - set(seen.homes.values()))
    yield "placement_errors_total", {}, seen.placement_errors
    yield "restarts_total", {}, seen.restarts
    yield from _of_certificates(seen)


def _of_certificates(seen: Seen) -> Iterator[Figure]:
    """Of brokers that are there. Errors begin at 0, so that the first is an increase."""
    for broker in sorted(seen.certificates.keys() & seen.brokers):
        if (expiry := seen.certificates[broker]) is not None:
            yield "certificate_expiry_timestamp_seconds", {"broker": str(broker)}, expiry
        for reason in REASONS:
            labels = {"broker": str(broker), "reason": reason}
            yield "certificate_errors_total", labels, seen.certificate_errors[broker, reason]
    if seen.client_certificate is not None:
        yield "client_certificate_expiry_timestamp_seconds", {}, seen.client_certificate


def _of_partition(seen: Seen, partition: int, where: dict[str, str], now: float) -> Iterator[Figure]:
    tally = seen.tallies.get(partition)
    if tally is not None:
        yield from _counts(tally, where)
    if (available := _partition_available(seen, partition, now)) is not None:
        yield "partition_available", where, float(available)
    if tally is not None and (share := tally.availability(now)) is not None:
        yield "availability_ratio", where, share


def _counts(tally: Tally, where: dict[str, str]) -> Iterator[Figure]:
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


def _partition_available(seen: Seen, partition: int, now: float) -> bool | None:
    tally = seen.tallies.get(partition)
    known = tally.available(now) if tally is not None else None
    if known is None and seen.leaders.get(partition) is None:  # nothing was ever sent there, and nothing could be
        return False
    return known


def _broker_available(seen: Seen, broker: int, now: float) -> bool | None:
    """It leads a partition that is at home with it and takes records. What somebody else leads speaks against it; what was
    not asked for yet says nothing."""
    known = [
        _partition_available(seen, partition, now) if seen.leaders.get(partition) == broker else False
        for partition, at in seen.homes.items()
        if at == broker
    ]
    if True in known:
        return True
    return False if False in known else None
