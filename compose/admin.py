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


def create_topic(address: ClusterAddress, topic: str, partitions: int, replication: int, config: dict[str, str]) -> bool:
    """Whether it was created; False if a topic of that name is there already."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    admin = _admin(address)  # kept in a name: a client that is collected ends its own calls
    new = NewTopic(topic, num_partitions=partitions, replication_factor=replication, config=config)
    try:
        admin.create_topics([new], operation_timeout=TIMEOUT, request_timeout=TIMEOUT)[topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise UsageError(f"topic {topic!r} could not be created: {error.args[0].str()}", topic=topic) from error
    return True


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
