"""What is said of records, as attributes by the messaging conventions. Pure: from plain values to dictionaries."""

from collections.abc import Iterable, Sequence
from typing import Any

from interceptors.tracing import names
from interceptors.tracing.context import TraceContext
from interceptors.tracing.spans import Failure, LinkTo

MOST_LINKS = 128  # what an SDK keeps by default; a poll may bring thousands
LONGEST_KEY = 256

Seat = tuple[str, int, int]  # topic, partition, offset


def operation(client: dict[str, Any], name: str, kind: str) -> dict[str, Any]:
    return {**client, names.OPERATION_NAME: name, names.OPERATION_TYPE: kind}


def titled(name: str, topics: Iterable[str]) -> str:
    """`poll orders`; a span over several topics names none."""
    known = set(topics)
    return f"{name} {known.pop()}" if len(known) == 1 else name


def key_text(key: Any) -> str | None:
    """Keys that have one spelling; others are left out, as the conventions ask. Long ones are cut."""
    if isinstance(key, bytes):
        try:
            return key[: LONGEST_KEY * 4].decode()[:LONGEST_KEY] if len(key) <= LONGEST_KEY * 4 else None
        except UnicodeDecodeError:
            return None
    if isinstance(key, str):
        return key[:LONGEST_KEY]
    return str(key) if isinstance(key, int) and not isinstance(key, bool) else None


def add_record(facts: dict[str, Any], key: Any, value: Any) -> None:
    if key is not None and (text := key_text(key)) is not None:
        facts[names.KEY] = text
    if value is None:
        facts[names.TOMBSTONE] = True


def add_seats(facts: dict[str, Any], seats: Sequence[Seat]) -> None:
    """What all of them share: a topic, a partition, an offset."""
    if len({topic for topic, _, _ in seats}) == 1:
        facts[names.DESTINATION] = seats[0][0]
        if len({partition for _, partition, _ in seats}) == 1:
            add_place(facts, seats[0][1], seats[0][2] if len(seats) == 1 else None)


def add_place(facts: dict[str, Any], partition: int | None, offset: int | None) -> None:
    if partition is not None and partition >= 0:
        facts[names.PARTITION] = str(partition)
    if offset is not None and offset >= 0:
        facts[names.OFFSET] = offset


def links_to(contexts: Sequence[TraceContext | None], seats: Sequence[Seat]) -> tuple[LinkTo, ...]:
    """One for each record that tells its context, up to a bound; a link says which record it is, if there are several."""
    links: dict[tuple[str, str], LinkTo] = {}
    for context, (topic, partition, offset) in zip(contexts, seats, strict=True):
        if context is None or not context.span_id or len(links) == MOST_LINKS:
            continue
        facts: dict[str, Any] = {}
        if len(seats) > 1:
            facts[names.DESTINATION] = topic
            add_place(facts, partition, offset)
        links.setdefault((context.trace_id, context.span_id), LinkTo(context, facts))
    return tuple(links.values())


def was_sent(failure: Failure | None) -> bool:
    """Whether a record was on its way to a broker: errors of librdkafka's own begin with a line, and few come after that."""
    return failure is None or not failure.type.startswith("_") or failure.type in ON_THE_WAY


def measured(facts: dict[str, Any], failure: Failure | None) -> dict[str, Any]:
    """The few of them that a metric may carry: a series for each key would be the end of any store."""
    kept = {name: facts[name] for name in MEASURED if name in facts}
    if failure is not None:
        kept[names.ERROR] = failure.type
    return kept


ON_THE_WAY = ("_MSG_TIMED_OUT", "_PURGE_INFLIGHT", "_TIMED_OUT", "_TRANSPORT")
MEASURED = (
    names.SYSTEM,
    names.OPERATION_NAME,
    names.DESTINATION,
    names.PARTITION,
    names.GROUP,
    names.SERVER,
    names.PORT,
)
