"""A real Spark cluster on loopback: a master and two workers from the pip package, and nothing of them left afterwards."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from kernel.errors import NotReady
from kernel.waiting import wait_until
from tests.cluster.daemons import free_port

MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
# One core and little memory for each: two of them beside everything else that runs here.
SMALL = {
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    # No job begins before both are there, or the first might do all of it.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.cores.max": "2",
}


@dataclass(frozen=True)
class Standalone:
    master: str  # spark://…
    page: str
    folders: tuple[Path, ...]  # of the workers: whatever an executor has is below one of them

    def facts(self) -> dict[str, Any]:
        """What the master says of itself."""
        try:
            with urlopen(f"{self.page}/json/", timeout=10) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except OSError as error:
            raise NotReady(f"{self.page} does not answer: {error}.") from None


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    port, page_port = free_port(), free_port()
    folders = tuple(folder / f"worker-{number}" for number in range(workers))
    cluster = Standalone(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page_port}", folders)
    here = ["--host", "127.0.0.1"]
    with ExitStack() as running:
        words = [MASTER, *here, "--port", str(port), "--webui-port", str(page_port)]
        running.enter_context(_spark_class(words, folder / "master"))
        wait_until(cluster.facts, bool, what="a Spark master", timeout=90, hint=lambda: _log(folder / "master"))
        for own in folders:
            words = [WORKER, *here, "--cores", "1", "--memory", "800m", "--work-dir", str(own / "work"), "--webui-port", "0"]
            running.enter_context(_spark_class([*words, cluster.master], own))
        wait_until(
            cluster.facts, lambda told: told["aliveworkers"] == workers, what="workers", timeout=90,
            hint=lambda: "\n".join(map(_log, folders)),
        )  # fmt: skip
        yield cluster


@contextmanager
def _spark_class(words: list[str], folder: Path) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    (folder / "local").mkdir(parents=True)
    # Not what a session of this process may have left there, such as the port of its own JVM.
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "_PYSPARK"))
    }
    own = {"SPARK_HOME": str(home), "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_MEMORY": "256m"}
    with (folder / "said").open("wb") as log:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *words], stdout=log, stderr=log, start_new_session=True,
            env=inherited | own | {"SPARK_LOCAL_IP": "127.0.0.1"}, cwd=folder,
        )  # fmt: skip
    try:
        yield
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With its executors, which are of its group."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
    process.wait(10)


def _log(folder: Path) -> str:
    return "\n".join((folder / "said").read_text(errors="replace").splitlines()[-5:])
