"""What a node is to run, as data: the one place where spec, ports, places, storage and credentials come together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePath

from compose.broker_config import Place, Ports, as_properties, hosts_file, server_properties
from compose.clocks import FILE, clock_environment, clock_text
from compose.credentials import Credentials
from compose.provider import NodePlan
from compose.spec import ClusterSpec
from compose.storage import log_directories, node_storage


@dataclass
class ClusterPlan:
    """A cluster on paper. It grows when a broker is added and changes when one is restarted with something new."""

    spec: ClusterSpec
    cluster_id: str
    ports: dict[int, Ports]
    template: Mapping[str, bytes]
    credentials: Credentials | None
    brokers: list[int] = field(default_factory=list)
    versions: dict[int, str] = field(default_factory=dict)
    extra: dict[int, dict[str, str]] = field(default_factory=dict)
    skews: dict[int, int] = field(default_factory=dict)  # seconds that a node's clock is ahead

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.spec.controller_ids, *self.brokers)))

    def change(self, node: int, version: str | None, config: Mapping[str, str]) -> None:
        self.versions[node] = version or self.versions.get(node, self.spec.kafka)
        self.extra[node] = self.extra.get(node, {}) | {key: str(value) for key, value in config.items()}

    def node(self, node: int, place: Place) -> NodePlan:
        java = resources.files("compose") / "java"
        settings = server_properties(node, self.spec, self.ports, place, self.extra.get(node, {}))
        files = {
            "server.properties": as_properties(settings).encode(),
            "hosts": hosts_file(node).encode(),
            "log4j2.properties": (java / "log4j2.properties").read_bytes(),
            "log4j.properties": (java / "log4j.properties").read_bytes(),
        }
        if self.spec.javaagent:
            files["agent.yaml"] = (java / "agent.yaml").read_bytes()
        if node in self.spec.clocks:
            files[FILE] = clock_text(self.skews.get(node, 0)).encode()
        if self.credentials is not None:
            files |= self.credentials.node_files(node)
        return NodePlan(
            node=node,
            kafka=self.versions.get(node, self.spec.kafka),
            ports=self.ports[node],
            files=files,
            storage=log_directories(
                node_storage(self.template, self.cluster_id, node, self.spec.controller_ids),
                [PurePath(directory).name for directory in place.log_dirs(self.spec.log_dirs)],
            ),
            heap=self.spec.heap,
            log_dirs=self.spec.log_dirs,
            javaagent=self.spec.javaagent,
            jolokia=self.spec.jolokia,
            jvm_options=self.spec.jvm_options,
            disks=[disk for disk in self.spec.disks if disk.node == node],
            environment=clock_environment(place.home) if node in self.spec.clocks else {},
        )
