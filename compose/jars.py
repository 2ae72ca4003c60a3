"""Java artifacts, fetched by Maven as java/pom.xml names them, once per version."""

import subprocess
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from compose.cache import cached, forget, raise_if_full
from compose.spec import TRIED_VERSIONS, check_version
from compose.toolchain import find_maven
from kernel.errors import FetchFailed

Say = Callable[[str], None]


def kafka_jars(version: str, say: Say = lambda _: None) -> list[Path]:
    """Kafka's class path, spelled out jar by jar in a stable order (a CDS archive depends on both)."""
    check_version(version)
    folder = cached(
        f"kafka/{version}",
        lambda into: _copy_dependencies("kafka", into, say, f"Kafka {version}", {"kafka.version": version}),
        mend=f"run `kafka-trial fetch --kafka {version} --again`",
    )
    return sorted(folder.glob("*.jar"))


def javaagent_jar(say: Say = lambda _: None) -> Path:
    """Prometheus' jmx_exporter as a Java agent."""
    return _agent("javaagent", "the JMX exporter agent", "jmx_prometheus_javaagent-*.jar", say)


def jolokia_jar(say: Say = lambda _: None) -> Path:
    """Jolokia as a Java agent: JMX over HTTP."""
    return _agent("jolokia", "the Jolokia agent", "jolokia-agent-jvm-*-javaagent.jar", say)


def spark_kafka_jars(say: Say = lambda _: None) -> list[Path]:
    """What Spark lacks to read and write topics. For `spark.jars`: Spark's own `spark.jars.packages` resolves by Ivy, which
    knows neither Maven's settings nor its mirrors."""
    folder = cached(
        "spark-kafka",
        lambda into: _copy_dependencies("spark-kafka", into, say, "Spark's Kafka connector", {}),
        mend="run `kafka-trial fetch --again`",
    )
    return sorted(folder.glob("*.jar"))


def mirror_jars(version: str, say: Say = lambda _: None) -> list[Path]:
    """MirrorMaker 2 and the Connect runtime it lives in, of one version."""
    check_version(version)
    folder = cached(
        f"mirror/{version}",
        lambda into: _copy_dependencies("mirror", into, say, f"MirrorMaker {version}", {"kafka.version": version}),
        mend=f"run `kafka-trial fetch --kafka {version} --again`",
    )
    return sorted(folder.glob("*.jar"))


def _agent(profile: str, what: str, jar: str, say: Say) -> Path:
    folder = cached(
        profile,
        lambda into: _copy_dependencies(profile, into, say, what, {}),
        mend="run `kafka-trial fetch --again`",
    )
    return next(folder.glob(jar))


def forget_jars(version: str) -> None:
    forget(f"kafka/{version}")
    forget("javaagent")
    forget("jolokia")
    forget("spark-kafka")
    forget(f"mirror/{version}")


def _copy_dependencies(profile: str, into: Path, say: Say, what: str, properties: dict[str, str]) -> None:
    maven = find_maven()
    say(f"fetching {what} with Maven")
    with resources.as_file(resources.files("compose") / "java" / "pom.xml") as pom:
        command = [
            *(maven, "--quiet", "--batch-mode", "--strict-checksums", "--file", str(pom), "--activate-profiles", profile),
            *(f"-D{name}={value}" for name, value in properties.items()),
            *("dependency:copy-dependencies", f"-DoutputDirectory={into}"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not any(into.glob("*.jar")):
        raise_if_full(into, done.stdout)
        raise FetchFailed(
            f"{what} could not be fetched: Maven says {_reason(done.stdout)!r}. "
            f"Check the version (tried here: {', '.join(TRIED_VERSIONS)}) and the network.",
            what=what,
        )


def _reason(output: str) -> str:
    """Maven's one telling line; the rest of what it prints is about Maven."""
    errors = [line.removeprefix("[ERROR]").strip() for line in output.splitlines() if line.startswith("[ERROR]")]
    telling = next((line for line in errors if "Could not find" in line or "not find artifact" in line), None)
    return (telling or next(filter(None, errors), "nothing"))[:300]
