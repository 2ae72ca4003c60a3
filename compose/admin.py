"""The few administrative calls a cluster needs of its own, through confluent-kafka's admin client."""

from typing import Any

from kernel.cluster import ClusterAddress
from kernel.errors import NotReady, SuiteError, UsageError

TIMEOUT = 30.0


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
    for last in (False, False, True):
        admin = _admin(address)  # kept in a name: a client that is collected ends its own calls
        try:
            admin.create_topics([new], operation_timeout=TIMEOUT, request_timeout=TIMEOUT)[topic].result()
            return True
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            # librdkafka drops the connection it began with once it knows the brokers by name, at times with our question
            # on it (seen with Kafka 3.9.1). Whether the topic was created then shows when it is asked for again.
            if last or code != KafkaError._DESTROY_BROKER:
                raise UsageError(f"topic {topic!r} could not be created: {error.args[0].str()}", topic=topic) from error
    return False


def describe_configs(address: ClusterAddress, kind: str, name: str) -> dict[str, str]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    admin = _admin(address)
    resource = ConfigResource(ResourceType[kind.upper()], name)
    try:
        entries = admin.describe_configs([resource], request_timeout=TIMEOUT)[resource].result()
    except KafkaException as error:
        raise NotReady(f"the configuration of {kind} {name} could not be read: {error.args[0].str()}") from error
    return {key: entry.value for key, entry in sorted(entries.items()) if entry.value is not None}


def alter_configs(address: ClusterAddress, kind: str, name: str, config: dict[str, str]) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    admin = _admin(address)
    changes = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in config.items()]
    resource = ConfigResource(ResourceType[kind.upper()], name, incremental_configs=changes)
    try:
        admin.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource].result()
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
    return {(where.topic, where.partition): where.offset for where in answer.topic_partitions if where.offset >= 0}


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


def _admin(address: ClusterAddress) -> Any:
    from confluent_kafka.admin import AdminClient

    # Errors are answered by whoever asked; librdkafka's own log would only fill the terminal with refused connections.
    quiet = {"log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}
    return AdminClient(address.librdkafka() | quiet)
