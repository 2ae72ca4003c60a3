"""Brokers in containers, through Testcontainers: for machines without a JDK, and to prove that nothing depends on loopback.

Each node is a pod of two containers that share one network namespace. The first runs Toxiproxy, owns the namespace and
lives as long as the cluster; the second runs the broker and is made anew at each start, its data kept in a volume.
Inside the pod the node finds its peers on the same 127.77.x.y addresses as a plain process would, and the pod's own
Toxiproxy carries each of them to the peer's pod. So both providers run brokers from the very same configuration.
"""

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from compose.broker_config import Place, Ports, node_name, peer_address
from compose.images import kafka_image, toxiproxy_image
from compose.jvm import broker_command
from compose.links import CLIENT, Link
from compose.provider import NodePlan, Say
from compose.spec import ClusterSpec
from compose.state import LABEL, state_root
from compose.storage import TOOL, RunTool, format_storage, storage_template
from compose.toxiproxies import Server, server_config

HOME = "/trial"
LIBS = "/opt/kafka/libs/*"  # where both the official image and ours keep Kafka; the JVM expands it, no shell does
API_PORT = 8474


class Containers:
    name = "containers"

    def __init__(self, say: Say) -> None:
        self._say = say
        # We label and remove everything ourselves, so Testcontainers' own reaper (one more image) is not needed.
        os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
        os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
        self._pods: dict[int, Any] = {}
        self._brokers: dict[int, Any] = {}
        self._servers: dict[int, Server] = {}
        self._links: tuple[Link, ...] = ()
        self._docker: Any = None

    def prepare(self, spec: ClusterSpec) -> None:
        kafka_image(spec.kafka, self._say)
        toxiproxy_image(self._say)
        if spec.javaagent:
            from compose.jars import javaagent_jar

            self._agent = javaagent_jar(self._say)
        if spec.jolokia:
            from compose.jars import jolokia_jar

            self._jolokia = jolokia_jar(self._say)

    def prepare_version(self, kafka: str) -> None:
        kafka_image(kafka, self._say)

    def storage(self, spec: ClusterSpec, scram: str | None) -> dict[str, bytes]:
        if scram is None:
            return storage_template(spec, self._storage_tool(spec.kafka))
        return format_storage(spec, self._storage_tool(spec.kafka), self._folder / "format", scram=scram)

    def _storage_tool(self, kafka: str) -> RunTool:
        return lambda scratch, arguments: self._run_storage_tool(kafka, scratch, arguments)

    def open(self, cluster: str) -> None:
        self._cluster = cluster
        self._folder = state_root() / cluster
        self._docker = _docker()
        from testcontainers.core.network import Network

        self._network = Network(docker_network_kw={"labels": {LABEL: cluster}}).create()

    def place(self, node: int) -> Place:
        return Place(HOME, node_host="0.0.0.0", local_host="0.0.0.0")

    def connect(self, links: tuple[Link, ...], ports: Mapping[int, Ports]) -> dict[Link, Server]:
        self._links = links
        nodes = sorted({link.target for link in links} | {int(link.source) for link in links if link.source != CLIENT})
        with ThreadPoolExecutor() as together:
            list(together.map(lambda node: self._start_pod(node, ports), nodes))
        return {link: self.server_for(link) for link in links}

    def route(self, link: Link, ports: Mapping[int, Ports]) -> tuple[str, str]:
        target = ports[link.target]
        if link.source == CLIENT:
            return f"0.0.0.0:{target.client}", f"127.0.0.1:{target.behind}"
        port = target.replication if link.traffic == "replication" else target.controller
        return f"{peer_address(int(link.source), link.target)}:{port}", f"{node_name(link.target)}:{port}"

    def server_for(self, link: Link) -> Server:
        return self._servers[link.target if link.source == CLIENT else int(link.source)]

    def make_room(self, node: int, ports: Mapping[int, Ports]) -> None:
        self._links = ()  # the new pod starts without links; they are added one by one like everybody else's
        self._start_pod(node, ports)

    def run(self, plan: NodePlan) -> None:
        if plan.node in self._brokers:
            self._retire(plan.node)
        else:
            for directory in self.place(plan.node).log_dirs(plan.log_dirs):
                self._docker.volumes.create(self._name(plan.node, Path(directory).name), labels={LABEL: self._cluster})
        command = broker_command(
            "java",
            [LIBS],
            self.place(plan.node),
            plan.ports,
            heap=plan.heap,
            agent_jar=f"{HOME}/agent.jar" if plan.javaagent else None,
            jolokia_jar=f"{HOME}/jolokia.jar" if plan.jolokia else None,
            options=plan.jvm_options,
        )
        files = dict(plan.files)
        if plan.javaagent:
            files["agent.jar"] = self._agent.read_bytes()
        if plan.jolokia:
            files["jolokia.jar"] = self._jolokia.read_bytes()
        if plan.node not in self._brokers:
            files |= plan.storage
        broker = self._container(
            plan.node,
            "kafka",
            kafka_image(plan.kafka, self._say),
            entrypoint=command[0],
            user="0",  # a new volume belongs to root, and the official image's user could not write to it
            network_mode=f"container:{self._pods[plan.node].get_container_id()}",
        )
        broker.with_command(command[1:])
        for directory in self.place(plan.node).log_dirs(plan.log_dirs):
            broker.with_volume_mapping(self._name(plan.node, Path(directory).name), directory, "rw")
        broker.with_copy_into_container(self._packed(plan.node, files), "/")
        broker.start()
        self._brokers[plan.node] = broker

    def signal(self, node: int, name: str) -> None:
        from docker.errors import APIError

        try:
            if self.running(node):
                self._brokers[node].get_wrapped_container().kill(signal=name)
        except APIError:
            if self.running(node):  # else it ended between the look and the signal
                raise

    def running(self, node: int) -> bool:
        if node not in self._brokers:
            return False
        container = self._brokers[node].get_wrapped_container()
        container.reload()
        return bool(container.status == "running")

    def wipe(self, node: int, log_dirs: int) -> None:
        self._retire(node)  # a volume goes when no container holds it
        del self._brokers[node]
        for directory in self.place(node).log_dirs(log_dirs):
            self._docker.volumes.get(self._name(node, Path(directory).name)).remove()

    def log(self, node: int) -> str:
        earlier = self._log_file(node)
        text = earlier.read_text(errors="replace") if earlier.exists() else ""
        return text + self.last_log(node)

    def last_log(self, node: int) -> str:
        if node not in self._brokers:
            return ""
        return str(self._brokers[node].get_wrapped_container().logs().decode(errors="replace"))

    def container(self, node: int) -> str:
        return self._name(node, "kafka")

    def detach(self) -> None:
        pass  # containers outlive us anyway

    def close(self) -> None:
        if self._docker is not None:
            self._docker.close()  # what it started is found by its label and removed with the cluster's state

    def _start_pod(self, node: int, ports: Mapping[int, Ports]) -> None:
        mine = ports[node]
        own = [link for link in self._links if (link.target if link.source == CLIENT else link.source) == node]
        config = json.dumps(server_config({link: self.route(link, ports) for link in own})).encode()
        pod = self._container(
            node,
            "toxiproxy",
            toxiproxy_image(self._say),
            network=self._network,
            network_aliases=[node_name(node)],
            hostname=node_name(node),
        )
        pod.with_command(["-host", "0.0.0.0", "-port", str(API_PORT), "-config", "/toxiproxy.json"])
        pod.with_copy_into_container(config, "/toxiproxy.json", 0o644)
        for port in (mine.client, mine.direct, mine.jmx, mine.agent, mine.jolokia):
            pod.ports[f"{port}/tcp"] = ("127.0.0.1", port)
        api = mine.behind  # reserved for this node, and outside of the pod nobody uses it
        pod.ports[f"{API_PORT}/tcp"] = ("127.0.0.1", api)
        pod.start()
        self._pods[node] = pod
        self._servers[node] = ("127.0.0.1", api)

    def _container(self, node: int, what: str, image: str, **settings: Any) -> Any:
        from testcontainers.core.container import DockerContainer

        return DockerContainer(image, name=self._name(node, what), labels={LABEL: self._cluster}, **settings)

    def _packed(self, node: int, files: Mapping[str, bytes]) -> Path:
        """The files in a folder that Testcontainers copies as one archive instead of one by one."""
        folder = self._folder / f"node-{node}" / HOME.strip("/")
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
        return folder

    def _retire(self, node: int) -> None:
        """Keep the log of a broker's last life, and make way for the next."""
        container = self._brokers[node].get_wrapped_container()
        with self._log_file(node).open("ab") as log:
            log.write(container.logs())
        container.remove(force=True)

    def _run_storage_tool(self, kafka: str, scratch: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Kafka's storage tool in a container of its own; its files go in and out by copy, so a remote Docker will do."""
        client = _docker()
        instructions = "\n".join(f'"{part}"' for part in ("-cp", LIBS, TOOL, *arguments))
        inside = {
            "storage-tool.args": instructions.encode(),
            "format.properties": (scratch / "format.properties").read_bytes(),
        }
        container = client.containers.create(
            kafka_image(kafka, self._say),
            entrypoint="java",
            command=[f"@{scratch}/storage-tool.args"],
            user="0",
            labels={LABEL: self._cluster},
        )
        try:
            container.put_archive("/", _tar({f"{scratch}/{name}": content for name, content in inside.items()}))
            container.start()
            code = container.wait()["StatusCode"]
            output = container.logs().decode(errors="replace")
            if code == 0:
                stream, _ = container.get_archive(f"{scratch}/data")
                with tarfile.open(fileobj=BytesIO(b"".join(stream))) as archive:
                    archive.extractall(scratch, filter="data")
            return subprocess.CompletedProcess(arguments, code, output, "")
        finally:
            container.remove(force=True)
            client.close()

    def _name(self, node: int, what: str) -> str:
        return f"kafka-trial-{self._cluster}-{node}-{what}"

    def _log_file(self, node: int) -> Path:
        return self._folder / f"node-{node}" / "kafka.log"


def remove_everything(cluster: str) -> None:
    """Containers, network and volumes that bear the cluster's label. Harmless if there are none."""
    from docker.errors import APIError, NotFound

    client = _docker()
    wanted = {"label": f"{LABEL}={cluster}"}
    try:
        with ThreadPoolExecutor() as together:
            list(together.map(_remove, client.containers.list(all=True, filters=wanted)))
        for leftover in (*client.networks.list(filters=wanted), *client.volumes.list(filters=wanted)):
            try:
                leftover.remove()
            except (APIError, NotFound):
                continue  # gone in the meantime
    finally:
        client.close()


def _remove(container: Any) -> None:
    from docker.errors import APIError

    with suppress(APIError):  # gone in the meantime
        container.remove(force=True, v=True)


def _docker() -> Any:
    import docker

    return docker.from_env(timeout=60)


def _tar(files: Mapping[str, bytes]) -> bytes:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, BytesIO(content))
    return packed.getvalue()
