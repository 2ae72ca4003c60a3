"""One Spark session: started quietly, ended always, its troubles told in one sentence.

What the JVM has to say goes to a file, whose end is quoted if the JVM does not start. Under `spark-submit` the JVM is
there already and is left alone; so is the master it was given.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from kernel.errors import MissingTool, SuiteError
from spark_reports.trouble import told

LOCAL = "local[*]"
SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit
LEAST_MEMORY, MOST_MEMORY = 1 << 30, 12 << 30
# For a job of a few seconds: what the optimising compiler, generated code and plans that adapt gain comes too late for it.
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}
ARCHIVE = "classes.jsa"
LAST_WORDS = 60.0  # seconds: writing an archive takes ten
QUICKLY = " -XX:TieredStopAtLevel=1"
CGROUP = Path("/sys/fs/cgroup/memory.max")


@contextmanager
def spark_session(
    app: str = "kafka-trial",
    *,
    master: str | None = None,
    jars: Sequence[Path] = (),
    settings: Mapping[str, str] | None = None,
    small: bool = False,
    archive: Path | None = None,
) -> Iterator[SparkSession]:
    """A session that is gone afterwards, JVM and scratch files too. `settings` are Spark's own and win over ours.

    `small`: for a job of seconds. `archive`: where the classes it needs are kept from one session to the next; the first
    one writes it, and takes some seconds longer to end."""
    scratch = Path(tempfile.mkdtemp(prefix="kafka-trial-spark-"))
    for chatter in ("SQLQueryContextLogger", "py4j"):
        logging.getLogger(chatter).setLevel(logging.CRITICAL + 1)  # they print the stack trace that we put into a sentence
    try:
        conf = _conf(
            app, master, jars, settings or {}, f"{_java_options(scratch, small)} {_classes(archive, scratch)}", scratch
        )
        for key, value in (SMALL | dict(settings or {}) if small else {}).items():
            conf.set(key, value)
        with _context(conf, scratch) as context:
            try:
                yield SparkSession(context)
            except Exception as error:
                raise told(error) from error
        _keep(scratch / ARCHIVE, archive)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _java_options(scratch: Path, small: bool) -> str:
    """What Spark leaves behind goes with us."""
    return f"-XX:+UseParallelGC -Djava.io.tmpdir={scratch}{QUICKLY if small else ''}"


def _classes(archive: Path | None, scratch: Path) -> str:
    """Loading its twenty thousand classes is half of what a small job takes; from an archive it is a tenth."""
    if archive is None:
        return ""
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={scratch / ARCHIVE}"


def _keep(written: Path, archive: Path | None) -> None:
    """Whole or not at all; whoever comes second replaces it by the same."""
    if archive is None or not written.exists():
        return
    with suppress(OSError):  # a full disk, or a cache that is not ours: the next session tries again
        archive.parent.mkdir(parents=True, exist_ok=True)
        draft = archive.with_name(f".{archive.name}.{os.getpid()}")
        shutil.copyfile(written, draft)
        draft.replace(archive)


def _conf(
    app: str, master: str | None, jars: Sequence[Path], settings: Mapping[str, str], java: str, scratch: Path
) -> SparkConf:
    conf = SparkConf(loadDefaults=False).setAppName(app)
    told_master = master or (None if SUBMITTED in os.environ else LOCAL)
    ours = {
        "spark.driver.extraJavaOptions": java.strip(),
        "spark.driver.memory": f"{_memory() >> 20}m",
        "spark.log.level": "WARN",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # asks for the line of every call, and slows each down
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        # Files are looked up by the driver: Spark would start a task for each of thousands, to see that it is there.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if told_master:
        ours["spark.master"] = told_master
    if told_master and _on_this_machine(told_master):
        ours |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    if told_master and told_master.startswith("local"):
        ours |= {"spark.local.dir": str(scratch), "spark.sql.shuffle.partitions": "16", "spark.task.maxFailures": "1"}
    if jars:
        ours["spark.jars"] = ",".join(str(jar) for jar in jars)
    for key, value in (ours | dict(settings)).items():
        conf.set(key, value)
    return conf


def _on_this_machine(master: str) -> bool:
    return master.startswith(("local", "spark://127.", "spark://localhost"))


def _memory() -> int:
    """Half of what there is: the other half is for the files' cache, from which shuffles are read."""
    there = psutil.virtual_memory().total
    with suppress(OSError, ValueError):  # no such limit
        there = min(there, int(CGROUP.read_text()))
    return max(LEAST_MEMORY, min(there // 2, MOST_MEMORY))


@contextmanager
def _context(conf: SparkConf, scratch: Path) -> Iterator[SparkContext]:
    if SUBMITTED in os.environ:
        context = SparkContext.getOrCreate(conf)
        try:
            yield context
        finally:
            context.stop()
        return
    gateway = _gateway(conf, scratch / "jvm.log")
    try:
        try:
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            raise told(error) from error
        try:
            yield context
        finally:
            context.stop()
    finally:
        _end(gateway)


def _gateway(conf: SparkConf, log: Path) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if not _java():
        raise MissingTool(
            "No Java was found, and Spark runs on it: install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless), "
            "or set JAVA_HOME."
        )
    with log.open("wb") as noise:
        try:
            return launch_gateway(conf, popen_kwargs={"stdout": noise, "stderr": noise})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said = log.read_text(errors="replace").strip().splitlines()
            raise SuiteError(f"Spark's JVM did not start: {said[-1] if said else error}") from None


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java"))


def _end(gateway: Any) -> None:
    """The JVM too: pyspark would keep it until this process ends."""
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()  # Spark's own sign for the JVM to end
        try:
            process.wait(LAST_WORDS)
        except Exception:
            process.kill()
            process.wait()
