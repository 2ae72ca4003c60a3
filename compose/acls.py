"""Who may do what: rules given to a principal and taken away, and users that are forgotten again."""

from typing import Any

from compose.admin import _admin
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError


def allow(address: ClusterAddress, user: str, operation: str, kind: str, name: str) -> None:
    """`allow(address, "alice", "WRITE", "TOPIC", "orders")`: in Kafka's words, literally this name, from every host."""
    admin = _admin(address)
    _settled(admin.create_acls([_rule(user, operation, kind, name)]))


def disallow(address: ClusterAddress, user: str, operation: str = "ANY", kind: str = "ANY", name: str | None = None) -> int:
    """Take rules away, by default all that the user has. Returns how many went."""
    from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    wanted = AclBindingFilter(
        ResourceType[kind], name, ResourcePatternType.ANY, f"User:{user}", None, AclOperation[operation],
        AclPermissionType.ANY,
    )  # fmt: skip
    admin = _admin(address)
    return sum(len(gone) for gone in _settled(admin.delete_acls([wanted])))


def forget_user(address: ClusterAddress, user: str) -> None:
    """Take a SCRAM user's password away: nobody gets in by that name any more."""
    from confluent_kafka.admin import ScramMechanism, UserScramCredentialDeletion

    admin = _admin(address)
    _settled(admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512)]))


def _rule(user: str, operation: str, kind: str, name: str) -> Any:
    from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    return AclBinding(
        ResourceType[kind], name, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation[operation],
        AclPermissionType.ALLOW,
    )  # fmt: skip


def _settled(answers: dict[Any, Any]) -> list[Any]:
    from confluent_kafka import KafkaException

    try:
        return [answer.result() for answer in answers.values()]
    except KafkaException as error:
        raise UsageError(f"who may do what could not be changed: {error.args[0].str()}") from error
