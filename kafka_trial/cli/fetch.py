"""Get everything a cluster needs ahead of time: Kafka's jars, Toxiproxy, the class archive. Offline afterwards."""

from typing import Annotated

import typer

from compose.cache import cache_root, forget
from compose.cds import archive_entry
from compose.jars import Say, forget_jars, javaagent_jar, jolokia_jar, kafka_jars, mirror_jars, spark_kafka_jars
from compose.providers import choose_provider
from compose.spec import DEFAULT_KAFKA, ClusterSpec
from compose.toolchain import find_java, processes_possible
from compose.toxiproxy_binary import forget_toxiproxy, toxiproxy_binary
from compose.training import ensure_archive
from kafka_trial.cli.options import Kafka, Provider
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError

PARTS = ("kafka", "toxiproxy", "spark-kafka", "mirror")


def fetch(
    kafka: Kafka = DEFAULT_KAFKA,
    provider: Provider = "auto",
    again: Annotated[bool, typer.Option("--again", help="Throw away what is cached for this version first.")] = False,
    where: Annotated[
        str,
        typer.Option(
            "--where", metavar="PART", help="Fetch one part and print its path: kafka, toxiproxy, spark-kafka, mirror."
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what is being fetched.")] = False,
) -> None:
    spec = ClusterSpec(kafka=kafka)
    if where not in ("", *PARTS):
        raise UsageError(f"part {where!r} is not known: choose {', '.join(PARTS[:-1])} or {PARTS[-1]}.", value=where)
    with progress() as say:
        if again:
            _forget(kafka)
        if where:
            print(_part(where, kafka, say))
            return
        choose_provider(provider, say).prepare(spec)
        if provider != "containers" and processes_possible():
            javaagent_jar(say)
            jolokia_jar(say)
            mirror_jars(kafka, say)
            ensure_archive(kafka, say)
    if not quiet:
        out.print(f"Kafka {kafka} is ready in {cache_root()}")


def _part(name: str, kafka: str, say: Say) -> str:
    if name == "spark-kafka":
        return ",".join(str(jar) for jar in spark_kafka_jars(say))  # as spark-submit --jars wants them
    if name == "toxiproxy":
        return str(toxiproxy_binary(say))
    return str((kafka_jars if name == "kafka" else mirror_jars)(kafka, say)[0].parent)


def _forget(kafka: str) -> None:
    if processes_possible():
        java = find_java()
        forget(archive_entry(java, kafka, [str(jar) for jar in sorted((cache_root() / "kafka" / kafka).glob("*.jar"))]))
    forget_jars(kafka)
    forget_toxiproxy()
    for template in (cache_root() / "storage").glob(f"{kafka}-*"):
        forget(f"storage/{template.name}")
