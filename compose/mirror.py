"""MirrorMaker 2 as one plain JVM beside its target: it copies topics, and says where a group of the source stands there.

It runs in dedicated mode, from one file of properties. It lives in the target's folder and bears the target's mark, so it
goes with the target however we end.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from types import TracebackType

from compose.broker_config import as_properties
from compose.cluster import Cluster
from compose.jars import mirror_jars
from compose.jvm import LEAN
from compose.provider import Say
from compose.state import MARK
from compose.toolchain import find_java
from kernel.cluster import ClusterAddress

MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
SOURCE, TARGET = "source", "target"  # what MirrorMaker calls the two
HEAP = "256m"
STOP_TIMEOUT = 60.0
# Its own topics have three replicas by default, and a target may have one broker. Those on the source are set apart.
TOPICS = ("checkpoints.topic", "heartbeats.topic", "offset.storage", "status.storage", "config.storage")


def mirrored(topic: str) -> str:
    """What the default replication policy calls a topic on the target: the source's name before its own."""
    return f"{SOURCE}.{topic}"


def mirror_properties(
    source: ClusterAddress,
    target: ClusterAddress,
    *,
    topics: Sequence[str],
    groups: Sequence[str],
    replicas: tuple[int, int],
    flush_ms: int,
    exactly_once: bool,
) -> dict[str, str]:
    """Everything that is not here has Kafka's default. `replicas`: of internal topics, on the source and on the target."""
    flow = f"{SOURCE}->{TARGET}"
    return {
        "clusters": f"{SOURCE},{TARGET}",
        **{f"{SOURCE}.{key}": value for key, value in source.java().items()},
        **{f"{TARGET}.{key}": value for key, value in target.java().items()},
        f"{flow}.enabled": "true",
        f"{flow}.topics": ",".join(topics),
        f"{flow}.groups": ",".join(groups),
        "tasks.max": "1",
        "replication.factor": str(replicas[1]),
        "offset-syncs.topic.replication.factor": str(replicas[0]),
        **{f"{topic}.replication.factor": str(replicas[1]) for topic in TOPICS},
        "sync.group.offsets.enabled": "true",
        # Looked at every second: by default topics and groups are looked for every 10 minutes, and offsets every minute.
        "refresh.topics.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.interval.seconds": "1",
        # A sync for every record: by default one a hundred, and a group is taken back by up to as many.
        "offset.lag.max": "0",
        # Heartbeats would bring a second flow to life, from the target to the source, for nothing.
        "emit.heartbeats.enabled": "false",
        "sync.topic.acls.enabled": "false",
        # The worker's own settings count only with the target's name before them; without it they are ignored, unsaid.
        f"{TARGET}.offset.flush.interval.ms": str(flush_ms),
        # A killed worker's work is given away when its session is over; by default that takes 10 s.
        f"{TARGET}.session.timeout.ms": "6000",
        f"{TARGET}.heartbeat.interval.ms": "2000",
        # Said to both who look for plugins, for the other ways search every jar, twice, which takes seconds each.
        "plugin.discovery": "service_load",
        f"{TARGET}.plugin.discovery": "service_load",
        **({f"{TARGET}.exactly.once.source.support": "enabled"} if exactly_once else {}),
    }


class MirrorMaker:
    """Ended when its `with` is over, and its log kept in `log`."""

    def __init__(self, target: Cluster, properties: dict[str, str], say: Say = lambda _: None) -> None:
        self._target, self._properties, self._say = target, properties, say
        self._home = target.folder / "mirror"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "MirrorMaker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Returns at once. It takes some seconds until it mirrors, and that shows on the target."""
        if self.running:
            return
        self._home.mkdir(mode=0o700, exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("KAFKA_", "JAVA_TOOL"))}
        with self._log_file.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=self._home,
                env=environment | {MARK: self._target.folder.name}, start_new_session=True,
            )  # fmt: skip

    def stop(self) -> None:
        """SIGTERM: what was copied is committed first."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: what was copied since the last flush is copied again by the next."""
        self._end(signal.SIGKILL)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    @property
    def _log_file(self) -> Path:
        return self._home / "mirror.log"

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None and self.running:
            self._process.send_signal(how)
            try:
                self._process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:  # it may wait for a cluster that will never answer
                self._process.kill()
                self._process.wait(10)

    def _command(self) -> list[str]:
        settings, logging = self._home / "mirror.properties", self._home / "log4j2.properties"
        settings.touch(mode=0o600)  # it may hold a password
        settings.write_text(as_properties(self._properties))
        logging.write_bytes((resources.files("compose") / "java" / "log4j2.properties").read_bytes())
        class_path = ":".join(str(jar) for jar in mirror_jars(self._target.spec.kafka, self._say))
        return [
            *(find_java().path, f"-Xms{HEAP}", f"-Xmx{HEAP}", *LEAN),
            *("-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true", f"-Dlog4j2.configurationFile={logging}"),
            *("-cp", class_path, MAIN, str(settings)),
        ]
