"""Brokers as plain JVMs on loopback: the fast provider, and the one that needs no Docker.

All nodes share one network, so links are told apart by address: node 3 resolves "node-1" to 127.77.3.1, where one
proxy listens for that pair alone (see `broker_config.peer_address`).
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from compose.broker_config import Place, Ports, peer_address
from compose.cds import find_archive
from compose.disks import mount_disk
from compose.jars import javaagent_jar, jolokia_jar, kafka_jars
from compose.jvm import broker_command
from compose.links import CLIENT, Link
from compose.ports import TOXIPROXY
from compose.provider import NodePlan, Say
from compose.spec import ClusterSpec
from compose.state import MARK, state_root
from compose.storage import TOOL, RunTool, format_storage, storage_template
from compose.toolchain import Java, find_java
from compose.toxiproxies import Server, server_config
from compose.toxiproxy_binary import toxiproxy_binary


class Processes:
    name = "processes"

    def __init__(self, say: Say, *, archives: bool = True, jvm_options: Mapping[int, Sequence[str]] | None = None) -> None:
        self._say = say
        self._archives = archives  # off: a plain start, for comparison and for making the archive
        self._jvm_options = jvm_options or {}
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._server: Server = ("127.0.0.1", 0)
        self._life_began: dict[int, int] = {}  # where in its log a node's latest life begins

    def prepare(self, spec: ClusterSpec) -> None:
        self._java = find_java()
        kafka_jars(spec.kafka, self._say)
        self._toxiproxy = toxiproxy_binary(self._say)
        if spec.javaagent:
            javaagent_jar(self._say)
        if spec.jolokia:
            jolokia_jar(self._say)

    def prepare_version(self, kafka: str) -> None:
        kafka_jars(kafka, self._say)

    def storage(self, spec: ClusterSpec, scram: str | None) -> dict[str, bytes]:
        if scram is None:
            return storage_template(spec, self.storage_tool(spec.kafka))
        return format_storage(spec, self.storage_tool(spec.kafka), self._folder / "format", scram=scram)

    def storage_tool(self, kafka: str) -> RunTool:
        return lambda scratch, arguments: _run_storage_tool(self._java, kafka, scratch, arguments)

    def open(self, cluster: str) -> None:
        self._cluster = cluster
        self._folder = state_root() / cluster

    def place(self, node: int) -> Place:
        return Place(str(self._folder / f"node-{node}"), node_host=peer_address(node, node), local_host="127.0.0.1")

    def connect(self, links: tuple[Link, ...], ports: Mapping[int, Ports]) -> dict[Link, Server]:
        self._server = ("127.0.0.1", ports[TOXIPROXY].client)
        config = self._folder / "toxiproxy.json"
        config.write_text(json.dumps(server_config({link: self.route(link, ports) for link in links})))
        command = [str(self._toxiproxy), "-host", "127.0.0.1", "-port", str(self._server[1]), "-config", str(config)]
        self._spawn(TOXIPROXY, command)
        return dict.fromkeys(links, self._server)

    def route(self, link: Link, ports: Mapping[int, Ports]) -> tuple[str, str]:
        target = ports[link.target]
        if link.source == CLIENT:
            return f"127.0.0.1:{target.client}", f"127.0.0.1:{target.behind}"
        port = target.replication if link.traffic == "replication" else target.controller
        return (
            f"{peer_address(int(link.source), link.target)}:{port}",
            f"{peer_address(link.target, link.target)}:{port}",
        )

    def server_for(self, link: Link) -> Server:
        return self._server

    def make_room(self, node: int, ports: Mapping[int, Ports]) -> None:
        pass  # loopback has room for everybody

    def run(self, plan: NodePlan) -> None:
        place = self.place(plan.node)
        home, data = Path(place.home), Path(place.data)
        home.mkdir(mode=0o700, exist_ok=True)
        for name, content in plan.files.items():
            _write(home / name, content)
        new = not data.exists()
        for disk in plan.disks:
            mount_disk(disk, Path(place.log_dirs(disk.directory)[-1]))
        if new:
            for name, content in plan.storage.items():
                _write(home / name, content)
        class_path = [str(jar) for jar in kafka_jars(plan.kafka, self._say)]
        archive = find_archive(self._java, plan.kafka, class_path) if self._archives else None
        command = broker_command(
            self._java.path,
            class_path,
            place,
            plan.ports,
            heap=plan.heap,
            archive=str(archive) if archive else None,
            agent_jar=str(javaagent_jar()) if plan.javaagent else None,
            jolokia_jar=str(jolokia_jar()) if plan.jolokia else None,
            options=(*plan.jvm_options, *self._jvm_options.get(plan.node, ())),
        )
        self._spawn(plan.node, command, plan.environment)

    def signal(self, node: int, name: str) -> None:
        child = self._children.get(node)
        if child is not None and child.poll() is None:
            child.send_signal(signal.Signals[name])

    def running(self, node: int) -> bool:
        child = self._children.get(node)
        return child is not None and child.poll() is None

    def wipe(self, node: int, log_dirs: int) -> None:
        for directory in self.place(node).log_dirs(log_dirs):
            shutil.rmtree(directory)

    def log(self, node: int) -> str:
        file = self._log_file(node)
        return file.read_text(errors="replace") if file.exists() else ""

    def last_log(self, node: int) -> str:
        with self._log_file(node).open("rb") as log:
            log.seek(self._life_began[node])
            return log.read().decode(errors="replace")

    def container(self, node: int) -> str:
        return ""

    def detach(self) -> None:
        self._children.clear()

    def close(self) -> None:
        for child in self._children.values():
            child.kill()  # the data is thrown away, so there is nothing for a broker to save
        deadline = time.monotonic() + 20
        for child in self._children.values():
            child.wait(max(0.1, deadline - time.monotonic()))
        self._children.clear()

    def _spawn(self, node: int, command: list[str], more: Mapping[str, str] | None = None) -> None:
        log = self._log_file(node)
        log.parent.mkdir(mode=0o700, exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("KAFKA_", "JAVA_TOOL"))}
        with log.open("ab") as output:
            self._life_began[node] = output.tell()
            self._children[node] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                env=environment | {**(more or {}), MARK: self._cluster},
                start_new_session=True,  # a Ctrl-C in the terminal is for us; we end the brokers in our own order
            )

    def _log_file(self, node: int) -> Path:
        return self._folder / ("toxiproxy" if node == TOXIPROXY else f"node-{node}") / "kafka.log"


def _run_storage_tool(java: Java, kafka: str, scratch: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Kafka's storage tool, told what to do by a file: one of the arguments may be a password."""
    class_path = ":".join(str(jar) for jar in kafka_jars(kafka))
    instructions = scratch / "storage-tool.args"
    instructions.touch(mode=0o600)
    instructions.write_text("\n".join(f'"{part}"' for part in ("-cp", class_path, TOOL, *arguments)))
    return subprocess.run([java.path, f"@{instructions}"], capture_output=True, text=True, check=False)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_bytes(content)
