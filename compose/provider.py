"""What a provider of nodes must be able to do. There are two, and everything above this line treats them alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compose.broker_config import Place, Ports
from compose.disks import Disk
from compose.links import Link
from compose.spec import ClusterSpec
from compose.toxiproxies import Server

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One life of one node: what to run and what it finds in its folder."""

    node: int
    kafka: str
    ports: Ports
    files: Mapping[str, bytes]  # configuration, written anew at each start
    storage: Mapping[str, bytes]  # the formatted log directories, written at the first start only
    heap: str
    log_dirs: int
    javaagent: bool
    jolokia: bool
    jvm_options: Sequence[str]
    disks: Sequence[Disk] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


class Provider(Protocol):
    name: str

    def prepare(self, spec: ClusterSpec) -> None:
        """Have everything at hand that the spec needs. Nothing is started yet."""
        ...

    def prepare_version(self, kafka: str) -> None:
        """Have another Kafka version at hand."""
        ...

    def open(self, cluster: str) -> None:
        """From here on, whatever is made bears the cluster's mark."""
        ...

    def storage(self, spec: ClusterSpec, scram: str | None) -> dict[str, bytes]:
        """A formatted log directory, from the template; or made anew, if it has to know a first user."""
        ...

    def place(self, node: int) -> Place: ...

    def connect(self, links: tuple[Link, ...], ports: Mapping[int, Ports]) -> dict[Link, Server]:
        """Start Toxiproxy with these links."""
        ...

    def route(self, link: Link, ports: Mapping[int, Ports]) -> tuple[str, str]:
        """Where the link's proxy listens and where it leads."""
        ...

    def server_for(self, link: Link) -> Server: ...

    def make_room(self, node: int, ports: Mapping[int, Ports]) -> None:
        """Whatever a node added later needs before links can lead to it."""
        ...

    def run(self, plan: NodePlan) -> None: ...

    def signal(self, node: int, name: str) -> None: ...

    def running(self, node: int) -> bool: ...

    def wipe(self, node: int, log_dirs: int) -> None:
        """Throw away the storage of a node that is down; its next life begins with the plan's."""
        ...

    def log(self, node: int) -> str:
        """Of all the node's lives."""
        ...

    def last_log(self, node: int) -> str:
        """Of its latest life alone."""
        ...

    def container(self, node: int) -> str:
        """The name of the container that Kafka runs in; empty where nodes are processes of this machine."""
        ...

    def detach(self) -> None: ...

    def close(self) -> None: ...
