"""The few administrative calls a cluster needs of its own, through confluent-kafka's admin client."""

from collections.abc import Callable, Mapping
from typing import Any

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, SuiteError, UsageError

TIMEOUT = 30.0
LOOK = 6.0  # seconds for one answer to a question that is asked again


def live_brokers(address: ClusterAddress) -> frozenset[int]:
    """The brokers in the metadata, or none while nobody answers."""
    from confluent_kafka import KafkaException

    try:
        admin = _admin(address)
        return frozenset(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return frozenset()


def create_topic(
    address: ClusterAddress,
    topic: str,
    partitions: int,
    replication: int,
    config: dict[str, str],
    assignment: list[list[int]] | None = None,
) -> bool:
    """Whether it was created; False if a topic of that name is there already."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    # librdkafka takes either a replication factor or an assignment.
    how = {"replica_assignment": assignment} if assignment else {"replication_factor": replication}
    new = NewTopic(topic, num_partitions=partitions, config=config, **how)
    try:
        _asked(address, lambda admin: admin.create_topics([new], operation_timeout=TIMEOUT, request_timeout=TIMEOUT)[topic])
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise UsageError(f"topic {topic!r} could not be created: {error.args[0].str()}", topic=topic) from error
    return True


def describe_configs(address: ClusterAddress, kind: str, name: str) -> dict[str, str]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    resource = ConfigResource(ResourceType[kind.upper()], name)
    try:
        entries = _asked(
            address, lambda admin: admin.describe_configs([resource], request_timeout=LOOK)[resource], look=True
        )
    except KafkaException as error:
        raise NotReady(f"the configuration of {kind} {name} could not be read: {error.args[0].str()}") from error
    return {key: entry.value for key, entry in sorted(entries.items()) if entry.value is not None}


def alter_configs(address: ClusterAddress, kind: str, name: str, config: Mapping[str, str | None]) -> None:
    """None takes a key off, so that what is beneath it counts again."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    how = {True: AlterConfigOpType.DELETE, False: AlterConfigOpType.SET}
    changes = [ConfigEntry(key, value, incremental_operation=how[value is None]) for key, value in config.items()]
    resource = ConfigResource(ResourceType[kind.upper()], name, incremental_configs=changes)
    try:
        _asked(address, lambda admin: admin.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource])
    except KafkaException as error:
        raise UsageError(f"{kind} {name!r} could not be changed to {config}: {error.args[0].str()}") from error


def delete_topics(address: ClusterAddress, topics: list[str]) -> None:
    from confluent_kafka import KafkaError, KafkaException

    admin = _admin(address)
    for topic, done in (admin.delete_topics(topics, operation_timeout=TIMEOUT) if topics else {}).items():
        try:
            done.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise SuiteError(f"topic {topic!r} could not be deleted: {error.args[0].str()}", topic=topic) from error


def elect_leader(address: ClusterAddress, topic: str, partition: int, *, unclean: bool) -> str | None:
    """What an operator's election ended in: the name of its error, or None if there was none."""
    from confluent_kafka import ElectionType, KafkaException, TopicPartition

    admin = _admin(address)
    where = TopicPartition(topic, partition)
    try:  # without a timeout: confluent-kafka 2.16 refuses every one that is given
        answer = admin.elect_leaders(ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED, [where]).result()
    except KafkaException as error:
        return str(error.args[0].name())
    trouble = answer.get(where)
    if trouble is None:
        return None
    return str((trouble.args[0] if isinstance(trouble, KafkaException) else trouble).name())


def elect_preferred(address: ClusterAddress) -> dict[tuple[str, int], str]:
    """Of all partitions, those whose preferred leader could not be elected, with the error's name."""
    from confluent_kafka import ElectionType, KafkaError, KafkaException

    admin = _admin(address)
    try:
        answer = admin.elect_leaders(ElectionType.PREFERRED).result()
    except KafkaException as error:
        raise NotReady(f"preferred leaders could not be elected: {error.args[0].str()}") from error
    refused = {where: trouble for where, trouble in answer.items() if trouble is not None}
    errors = {(w.topic, w.partition): e.args[0] if isinstance(e, KafkaException) else e for w, e in refused.items()}
    return {where: str(e.name()) for where, e in errors.items() if e.code() != KafkaError.ELECTION_NOT_NEEDED}


def describe_group(address: ClusterAddress, group: str) -> tuple[str, int]:
    """A consumer group's state in Kafka's words, and how many members it has."""
    from confluent_kafka import KafkaException

    admin = _admin(address)
    try:
        answer = admin.describe_consumer_groups([group], request_timeout=5)[group].result()
    except KafkaException as error:
        raise NotReady(f"group {group!r} could not be described: {error.args[0].str()}") from error
    return str(answer.state.name), len(answer.members)


def committed_offsets(address: ClusterAddress, group: str) -> dict[tuple[str, int], int]:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    admin = _admin(address)
    try:
        answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    except KafkaException as error:
        raise NotReady(f"the offsets of group {group!r} could not be read: {error.args[0].str()}") from error
    if wrong := [where for where in answer.topic_partitions if where.error]:
        said = ", ".join(f"{where.topic}-{where.partition} {where.error.name()}" for where in wrong)
        raise NotReady(f"the offsets of group {group!r} could not all be read: {said}.")
    return {(where.topic, where.partition): where.offset for where in answer.topic_partitions if where.offset >= 0}


def append_time(address: ClusterAddress, topic: str) -> float:
    """The time that the leader of a topic with LogAppendTime puts on a record which it is sent now."""
    from confluent_kafka import Producer

    heard: list[float] = []
    producer = Producer(address.librdkafka() | {"log_level": 0, "message.timeout.ms": 10_000})

    def delivered(error: Any, record: Any) -> None:
        if error is None:
            heard.append(record.timestamp()[1])

    producer.produce(topic, b"what time is it?", on_delivery=delivered)
    producer.flush(12)
    if not heard:
        raise NotReady(f"no record could be written to {topic!r}: its leader's time cannot be told.", topic=topic)
    return heard[0] / 1000


def set_password(address: ClusterAddress, user: str, password: str) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

    admin = _admin(address)
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(user, how, password.encode())
    try:
        admin.alter_user_scram_credentials([change])[user].result()
    except KafkaException as error:
        raise SuiteError(f"the password of {user!r} could not be set: {error.args[0].str()}") from error


def _asked(address: ClusterAddress, question: Callable[[Any], Any], *, look: bool = False) -> Any:
    """The answer to a question that may be asked again. librdkafka drops the connection it began with once it knows the
    brokers by name, at times with our question on it, and at times waits in vain for a broker that another client reaches at
    once (both seen with Kafka 3.9.1): a mere `look` is then taken again, too."""
    from confluent_kafka import KafkaError, KafkaException

    lost = (KafkaError._DESTROY_BROKER, *((KafkaError._TIMED_OUT,) if look else ()))
    for last in (False, False, False, True):
        admin = _admin(address)  # kept in a name: a client that is collected ends its own calls
        try:
            return question(admin).result()
        except KafkaException as error:
            if last or error.args[0].code() not in lost:
                raise
    return None


def _admin(address: ClusterAddress) -> Any:
    from confluent_kafka.admin import AdminClient

    # Errors are answered by whoever asked; librdkafka's own log would only fill the terminal with refused connections.
    quiet = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}
    return AdminClient(address.librdkafka() | quiet)
