"""What an exporter is told in its configuration file. Checked whole before anything is started."""

from typing import Annotated, Literal, Self

from pydantic import Field, FilePath, model_validator

from exporters.aliases import Alias
from exporters.selection import Partitions
from kafka_trial.daemon.tables import Daemon, HostPort, Login, Seconds, Table, is_host_port


class Cluster(Table):
    name: Annotated[str, Field(min_length=1)]
    nodes: Annotated[dict[str, str], Field(min_length=1)]  # node id → host:port of JMX, or the address of its agent
    collector: Literal["jmxquery", "jolokia", "agent"] = "jmxquery"
    timeout: Seconds = 10
    login: Login | None = None
    tls: bool = False
    ca_file: FilePath | None = None  # who signed the nodes' certificates
    host: Literal["none", "local", "containers"] = "none"  # where the disks of the log directories are looked at
    containers: dict[str, str] = Field(default_factory=dict)  # node id → container, with host = "containers"
    partitions: Partitions = Partitions.OFF
    details: bool = False
    max_series: Annotated[int, Field(ge=1)] = 10_000  # for each node

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for node, address in self.nodes.items():
            if self.collector == "jmxquery" and not is_host_port(address):
                raise ValueError(f"node {node} has the address {address!r}, which is not host:port")
            if self.collector != "jmxquery" and not address.startswith(("http://", "https://")):
                raise ValueError(f"node {node} has the address {address!r}, which is no http:// or https:// address")
        if self.host == "containers" and (without := sorted(self.nodes.keys() - self.containers.keys())):
            raise ValueError(f"host is 'containers', and containers does not name that of node {without[0]}")
        if self.ca_file and not self.tls and self.collector == "jmxquery":
            raise ValueError("has a ca_file and not tls = true")
        return self


class ExporterConfig(Daemon):
    listen: HostPort = "127.0.0.1:9308"
    interval: Seconds = 15
    max_age: Seconds = 60
    aliases: tuple[Alias, ...] = ()
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [cluster.name for cluster in self.clusters]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names the cluster {twice[0]!r} twice")
        if self.max_age < self.interval:
            raise ValueError(f"max_age ({self.max_age:g}) is shorter than interval ({self.interval:g})")
        return self
