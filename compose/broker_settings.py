"""Dynamic configuration of brokers: of one, or of all by the cluster's default."""

from collections.abc import Mapping

from compose.asking import ask, send
from kernel.cluster import ClusterAddress

BROKER, SET, DELETE = 4, 0, 1  # of the protocol: the kind of resource, and what to do with a value


def alter_brokers(address: ClusterAddress, broker: int | None, config: Mapping[str, str | None]) -> str | None:
    """Change one broker, or with None the default of all; a value of None goes back to what is below. Returns what Kafka
    said if it refused."""
    from kafka.protocol.admin.configs import IncrementalAlterConfigsRequest

    changes = [(key, DELETE if value is None else SET, value) for key, value in config.items()]
    name = "" if broker is None else str(broker)
    request = IncrementalAlterConfigsRequest(resources=[(BROKER, name, changes)])
    (answer,) = ask(address, lambda admin: send(admin, request), broker=broker).responses  # it checks its own, no other's
    return str(answer.error_message or f"error {answer.error_code}") if answer.error_code else None
