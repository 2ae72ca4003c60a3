"""Client quotas: set, taken away and read back. librdkafka has no call for them."""

from collections.abc import Mapping

from compose.asking import ask, send
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError

Entity = Mapping[str, str]  # Kafka's words: {"client-id": "noisy"}, {"user": "alice"}, or both
EXACT = 0  # of the protocol's ways to match a name


def alter_quotas(address: ClusterAddress, entity: Entity, limits: Mapping[str, float | None]) -> None:
    """Set limits such as producer_byte_rate (bytes a second, on each broker); None takes one away."""
    from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

    who = [(kind, name) for kind, name in entity.items()]
    changes = [(key, value or 0.0, value is None) for key, value in limits.items()]
    request = AlterClientQuotasRequest(entries=[(who, changes)], validate_only=False)
    (answer,) = ask(address, lambda admin: send(admin, request)).entries
    if answer.error_code:
        raise UsageError(f"quota {dict(limits)} of {dict(entity)} could not be set: {answer.error_message}")


def quotas(address: ClusterAddress, entity: Entity) -> dict[str, float]:
    """What is in force for exactly this entity."""
    from kafka.protocol.admin.client_quotas import DescribeClientQuotasRequest

    asked = [(kind, EXACT, name) for kind, name in entity.items()]
    request = DescribeClientQuotasRequest(components=asked, strict=True)
    answer = ask(address, lambda admin: send(admin, request))
    return {value.key: value.value for entry in answer.entries or [] for value in entry.values}
