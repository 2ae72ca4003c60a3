"""How a cluster is named and what it looks like from outside.

Every part takes a `ClusterAddress`, never a container or a process, so every part also works on a cluster
that somebody else started.
"""

from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where a cluster is and how to be let in. Prints without its password."""

    bootstrap: str
    protocol: str = "PLAINTEXT"  # Kafka's own words: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = field(default=None, repr=False)
    sasl_mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def librdkafka(self) -> dict[str, str]:
        """Configuration for confluent-kafka, kcat and everything else that stands on librdkafka."""
        return _present(
            {
                "bootstrap.servers": self.bootstrap,
                "security.protocol": self.protocol,
                "ssl.ca.location": self.ca_file,
                "ssl.certificate.location": self.certificate_file,
                "ssl.key.location": self.key_file,
                "sasl.mechanism": self.sasl_mechanism,
                "sasl.username": self.username,
                "sasl.password": self.password,
            }
        )

    def java(self) -> dict[str, str]:
        """Configuration for Java clients and Kafka's own command-line tools (PEM stores, no keytool)."""
        properties = _present(
            {
                "bootstrap.servers": self.bootstrap,
                "security.protocol": self.protocol,
                "ssl.truststore.type": "PEM" if self.ca_file else None,
                "ssl.truststore.location": self.ca_file,
                "sasl.mechanism": self.sasl_mechanism,
            }
        )
        if self.key_file:  # Java wants key and certificate chain in one file, and ours hold both
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.key_file}
        if self.username and self.password:
            module = "org.apache.kafka.common.security." + (
                "plain.PlainLoginModule" if self.sasl_mechanism == "PLAIN" else "scram.ScramLoginModule"
            )
            properties["sasl.jaas.config"] = f'{module} required username="{self.username}" password="{self.password}";'
        return properties

    def kafka_python(self) -> dict[str, object]:
        """Configuration for kafka-python, which speaks the admin calls that librdkafka lacks."""
        return _present(
            {
                "bootstrap_servers": self.bootstrap.split(","),
                "security_protocol": self.protocol,
                "ssl_cafile": self.ca_file,
                "ssl_certfile": self.certificate_file,
                "ssl_keyfile": self.key_file,
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }
        )


def _present(settings: dict[str, T | None]) -> dict[str, T]:
    return {key: value for key, value in settings.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition as the cluster's metadata has it. `leader` is None while nobody leads."""

    topic: str
    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()

    @property
    def fully_replicated(self) -> bool:
        return self.leader is not None and self.isr == set(self.replicas)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} leader {self.leader} isr {sorted(self.isr)} of {list(self.replicas)}"


@dataclass(frozen=True, slots=True)
class Quorum:
    """The controllers: who is active, and how far every node (voters and brokers) lags behind, in metadata records."""

    leader: int
    epoch: int
    voters: tuple[int, ...]
    lag: dict[int, int] = field(default_factory=dict)
