"""A run's result on its way to the results topic; whatever becomes of it, the run's own verdict stands.

The topic is compacted and keyed by run: it keeps the newest word on every run for as long as nobody deletes it, so that a
report can be made anew from the topic alone, and a run that is judged again takes no second place.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernel.errors import SuiteError
from kernel.results import TOPIC, encode, key

WITHIN = 20.0  # seconds
LARGEST = 16 << 20  # bytes; a hundred findings of each anomaly are far below, zstd makes a tenth of it
TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "max.message.bytes": str(LARGEST),
    "message.timestamp.type": "LogAppendTime",  # by one clock, so that the last word on a run is known by its time too
}
USUAL = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "zstd",
    "message.max.bytes": LARGEST,
    "linger.ms": 0,
    "log_level": 0,  # what is wrong is said once, in a sentence
    "client.id": "kafka-trial-results",
}
TELLING = ("_AUTHENTICATION", "_SSL", "_RESOLVE", "SASL_AUTHENTICATION_FAILED")
MAY_NOT = ("TOPIC_ALREADY_EXISTS", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "POLICY_VIOLATION")


def published(
    document: Mapping[str, Any],
    connection: Mapping[str, Any],
    topic: str = TOPIC,
    *,
    warn: Callable[[str], None],
    within: float = WITHIN,
) -> bool:
    """Whether it has arrived. If not, `warn` hears why; nothing is raised, because the run is over and judged."""
    try:
        publish(document, connection, topic, within=within)
    except SuiteError as trouble:
        warn(f"{trouble.message} The verdict stands; publish it later with kafka-trial check --results-to.")
        return False
    return True


def publish(
    document: Mapping[str, Any], connection: Mapping[str, Any], topic: str = TOPIC, *, within: float = WITHIN
) -> None:
    """Returns once every in-sync replica has it. `connection` is librdkafka's: `ClusterAddress.librdkafka()` and more."""
    from confluent_kafka import KafkaException, Producer

    told: list[Any] = []
    heard: list[Any] = []
    try:
        producer = Producer(USUAL | {"message.timeout.ms": int(within * 1000), "error_cb": heard.append} | dict(connection))
        try:
            _make(topic, connection, within)
            producer.produce(topic, encode(document), key(document).encode(), on_delivery=lambda e, _: told.append(e))
            producer.flush(within + 1)
        finally:
            producer.poll(0)  # why nobody answers, if librdkafka knows
    except (KafkaException, BufferError, TimeoutError, ValueError, TypeError) as trouble:
        told = [trouble]
    if not told or told[0] is not None:
        where = f"{topic} on {connection.get('bootstrap.servers', 'no cluster')}"
        raise SuiteError(f"The result could not be written to {where}: {_why(told, heard, within)}.")


def _make(topic: str, connection: Mapping[str, Any], within: float) -> None:
    """Before the first record: a broker that creates topics by itself would have it forget old runs.
    Whoever may not create topics may still write to one."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"log_level": 0, **connection})
    new = NewTopic(topic, num_partitions=1, replication_factor=-1, config=TOPIC_CONFIG)
    made = admin.create_topics([new], request_timeout=within)[topic]
    try:
        made.result(within + 1)
    except KafkaException as trouble:
        if trouble.args[0].name() not in MAY_NOT:
            raise


def _why(told: Sequence[Any], heard: Sequence[Any], within: float) -> str:
    """A login that is refused is told as it happens; afterwards all that is left of it is a time that ran out."""
    telling = [error for error in heard if error.name() in TELLING]
    if telling:
        return _words(telling[-1])
    return _words(told[0]) if told else f"nobody acknowledged it in {within:g} s"


def _words(trouble: Any) -> str:
    """librdkafka's own, without its numbers; a password is in none of them."""
    error = trouble.args[0] if isinstance(trouble, Exception) and trouble.args else trouble
    return str(error.str() if hasattr(error, "str") else error).strip().rstrip(".") or "no reason was given"
