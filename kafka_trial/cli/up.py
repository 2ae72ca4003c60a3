"""Start a cluster to play with, print how to reach it, and keep it until Ctrl-C (or until `down`, with --detach)."""

import json
import signal
from typing import Annotated, Any

import typer

from compose.cluster import Cluster
from compose.spec import DEFAULT_KAFKA
from kafka_trial.cli.options import AsJson, Brokers, Kafka, Provider, Security
from kafka_trial.cli.screen import out, progress
from kafka_trial.daemon.handout import write_daemon_files
from kernel.errors import UsageError


def up(
    brokers: Brokers = 3,
    controllers: Annotated[
        int | None, typer.Option("--controllers", help="Dedicated controllers; left out, brokers are controllers too.")
    ] = None,
    kafka: Kafka = DEFAULT_KAFKA,
    provider: Provider = "auto",
    security: Security = "plaintext",
    config: Annotated[
        list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="Broker configuration; may be repeated.")
    ] = None,
    javaagent: Annotated[bool, typer.Option("--javaagent", help="Load Prometheus' JMX exporter in every node.")] = False,
    jolokia: Annotated[bool, typer.Option("--jolokia", help="Load Jolokia's agent in every node.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", help="Clients find broker 1 here, broker 2 one higher; left out, free ports.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return at once; `kafka-trial down` ends it.")] = False,
    as_json: AsJson = False,
) -> None:
    wishes: dict[str, Any] = {
        "brokers": brokers,
        "controllers": controllers,
        "kafka": kafka,
        "security": security,
        "config": _pairs(config or []),
        "javaagent": javaagent,
        "jolokia": jolokia,
        "port": port,
    }
    with progress() as say:
        cluster = Cluster(provider=provider, say=say, **wishes).boot()
    try:
        facts = cluster.facts() | {"cluster": cluster.folder.name, "provider": cluster.provider}
        facts["daemons"] = write_daemon_files(cluster)
        if as_json:
            print(json.dumps(facts, indent=1), flush=True)
        else:
            _show(facts, detach)
        if detach:
            cluster.detach()
        else:
            signal.pause()
    finally:
        cluster.close()


def _show(facts: dict[str, Any], detached: bool) -> None:
    rows = [
        ("cluster", f"{facts['cluster']}  Kafka {facts['kafka']}, {facts['security']}, {facts['provider']}"),
        ("bootstrap", facts["bootstrap"]),
        *((f"JMX {node}", f"service:jmx:rmi:///jndi/rmi://{where}/jmxrmi") for node, where in facts["jmx"].items()),
        *((f"agent {node}", where) for node, where in facts["agent"].items()),
        *((f"Jolokia {node}", where) for node, where in facts["jolokia"].items()),
        ("toxiproxy", ", ".join(f"http://{server}" for server in facts["toxiproxy"])),
        ("kcat", f"kcat -F {facts['client_properties']['librdkafka']} -L"),
        (
            "Java tools",
            f"--bootstrap-server {facts['bootstrap'].split(',')[0]} --command-config {facts['client_properties']['java']}",
        ),
    ]
    rows += [("watch it", f"kafka-trial {name} --config {file}") for name, file in facts["daemons"].items()]
    if facts["security"] == "sasl_ssl":
        rows.append(("", "(kcat needs librdkafka 2.6.1 or newer here: older ones cannot log in to Kafka 4 with SCRAM)"))
    for name, value in rows:
        out.print(f"{name:>10}  {value}", markup=False)
    out.print(f"It runs on; end it with: kafka-trial down {facts['cluster']}" if detached else "Ctrl-C ends it.")


def _pairs(settings: list[str]) -> dict[str, str]:
    for setting in settings:
        if "=" not in setting:
            raise UsageError(f"config {setting!r} has no value: give KEY=VALUE.", value=setting)
    return dict(setting.split("=", 1) for setting in settings)
