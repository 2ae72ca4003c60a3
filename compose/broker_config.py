"""The broker configuration of one node: Kafka's defaults, what a small cluster needs, and what the plan decides.

Both providers start brokers from the very same lines; only addresses and paths differ. Pure: text in, text out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from compose.spec import ClusterSpec

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCRAM = "SCRAM-SHA-512"
# The two principals that may do everything: the nodes among themselves, and whoever started the cluster.
NODE_PRINCIPAL, ADMIN_PRINCIPAL = "node", "admin"


@dataclass(frozen=True, slots=True)
class Ports:
    """`client` is where clients connect (Toxiproxy), `behind` where the broker really listens for them.

    `direct` bypasses Toxiproxy: the cluster watches itself over it, so that a fault never blinds the observer.
    """

    client: int
    behind: int
    direct: int
    replication: int
    controller: int
    jmx: int
    agent: int
    jolokia: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node lives: its folder as it sees it, and the addresses it binds."""

    home: str
    node_host: str  # for replication and controller traffic
    local_host: str  # for direct, JMX and agent traffic

    @property
    def data(self) -> str:
        return f"{self.home}/data"

    def log_dirs(self, many: int) -> list[str]:
        """The first also has the metadata log."""
        return [self.data, *(f"{self.data}-{place}" for place in range(2, many + 1))]


def server_properties(
    node: int, spec: ClusterSpec, ports: Mapping[int, Ports], place: Place, extra: Mapping[str, str]
) -> dict[str, str]:
    """One node's server.properties. `extra` wins over the spec's config, which wins over what a small cluster needs."""
    is_broker, is_controller = node not in spec.controller_ids or node in spec.broker_ids, node in spec.controller_ids
    return (
        _small_cluster(spec.brokers)
        | _identity(node, spec, ports, place, is_broker, is_controller)
        | (_security(spec.security, place) if spec.security != "plaintext" else {})
        | dict(spec.config)
        | dict(extra)
    )


def _small_cluster(brokers: int) -> dict[str, str]:
    """Kafka's defaults assume a large cluster; these are the values that cannot work, or only slowly, on a few brokers."""
    copies = str(min(3, brokers))
    enough = str(min(2, brokers))
    return {
        "default.replication.factor": copies,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": enough,
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": enough,
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        # Its default fills 128 MB of memory at each start, for a compaction that a small cluster never needs.
        "log.cleaner.dedupe.buffer.size": "4194304",
    }


def _identity(
    node: int, spec: ClusterSpec, ports: Mapping[int, Ports], place: Place, is_broker: bool, is_controller: bool
) -> dict[str, str]:
    mine = ports[node]
    listeners, advertised = [], []
    if is_broker:
        listeners += [
            f"CLIENT://127.0.0.1:{mine.behind}",
            f"DIRECT://{place.local_host}:{mine.direct}",
            f"REPLICATION://{place.node_host}:{mine.replication}",
        ]
        advertised += [
            f"CLIENT://127.0.0.1:{mine.client}",
            f"DIRECT://127.0.0.1:{mine.direct}",
            f"REPLICATION://{node_name(node)}:{mine.replication}",
        ]
    if is_controller:
        listeners.append(f"CONTROLLER://{place.node_host}:{mine.controller}")
        # Voters learn the leader's address from the leader itself, and would otherwise go round the proxies.
        advertised.append(f"CONTROLLER://{node_name(node)}:{mine.controller}")
    client = {"plaintext": "PLAINTEXT", "tls": "SSL", "sasl_ssl": "SASL_SSL"}[spec.security]
    inner = "PLAINTEXT" if spec.security == "plaintext" else "SSL"
    settings = {
        "node.id": str(node),
        "process.roles": ",".join(["broker"] * is_broker + ["controller"] * is_controller),
        "controller.quorum.voters": ",".join(f"{v}@{node_name(v)}:{ports[v].controller}" for v in spec.controller_ids),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": f"CLIENT:{client},DIRECT:{client},REPLICATION:{inner},CONTROLLER:{inner}",
        "advertised.listeners": ",".join(advertised),
        "log.dirs": ",".join(place.log_dirs(spec.log_dirs)),
    }
    return settings | ({"inter.broker.listener.name": "REPLICATION"} if is_broker else {})


def _security(security: str, place: Place) -> dict[str, str]:
    """Nodes always prove themselves to each other by certificate; clients by certificate (tls) or password (sasl_ssl)."""
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{place.home}/node.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{place.home}/ca.pem",
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/",
        "authorizer.class.name": AUTHORIZER,
        "super.users": f"User:{NODE_PRINCIPAL};User:{ADMIN_PRINCIPAL}",
    }
    if security == "sasl_ssl":
        settings["sasl.enabled.mechanisms"] = SCRAM
        for listener in ("client", "direct"):
            settings[f"listener.name.{listener}.ssl.client.auth"] = "none"
            settings[f"listener.name.{listener}.{SCRAM.lower()}.sasl.jaas.config"] = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            )
    return settings


def node_name(node: int) -> str:
    """The name under which a node is known to its peers; each peer resolves it to a link of its own."""
    return f"node-{node}"


def peer_address(source: int, target: int) -> str:
    """The loopback address on which `source` finds `target`: one per pair, so that one proxy sees one pair alone."""
    return f"127.77.{source}.{target}"


def hosts_file(node: int, most: int = 110) -> str:
    """What a node's JVM resolves, and all it resolves: every peer it may ever have, and itself."""
    own = "127.0.0.1 localhost\n"
    return own + "".join(f"{peer_address(node, peer)} {node_name(peer)}\n" for peer in range(1, most))


def as_properties(settings: Mapping[str, str]) -> str:
    """Java's properties format: a backslash in a value has to be doubled, and so has a line end."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in settings.items()}
    return "".join(f"{key}={escaped[key]}\n" for key in sorted(escaped))
