"""The metric catalogue: what is exported, whether a live node still has it, and what is written from it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out
from kernel.errors import UsageError
from kernel.metric_tables import FROM_JMX, METRICS
from kernel.metrics import Metric

if TYPE_CHECKING:
    from exporters.readings import Reading
    from exporters.verifying import Verified

catalogue = typer.Typer(help=__doc__, no_args_is_help=True, rich_markup_mode=None)
Star = Annotated[bool, typer.Option("--star", help="Only what Kafka's documents single out.")]


@catalogue.command("list")
def show(star: Star = False, as_json: AsJson = False) -> None:
    """List every metric: its name, kind and meaning."""
    rows = [metric for metric in METRICS if metric.star or not star]
    if as_json:
        print(json.dumps([_facts(metric) for metric in rows], indent=1))
        return
    for metric in rows:
        labels = "{" + ", ".join(metric.label_names) + "}" if metric.label_names else ""
        out.print(f"{'★' if metric.star else ' '} {metric.name}{labels}  {metric.kind}", markup=False)
        out.print(f"    {metric.help}", markup=False)


@catalogue.command()
def verify(
    address: Annotated[str | None, typer.Argument(help="host:port of a node's JMX.", show_default=False)] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Every node of an exporter's file instead, with its passwords.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the node at the given address.", min=0.1)] = 30.0,
    strict: Annotated[bool, typer.Option("--strict", help="A bean that nobody knows fails as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold the catalogue against live nodes: a metric that one should have and has not fails (exit 1)."""
    from exporters.verifying import verify as held_against

    found = {name: held_against(FROM_JMX, readings) for name, readings in _everything(address, config, timeout)}
    facts = {name: _found(told) for name, told in found.items()}
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        for name, one in facts.items():
            _print(name, one)
    if not all(told.holds and not (strict and told.unexpected) for told in found.values()):
        raise typer.Exit(1)


@catalogue.command("agent-yaml")
def agent(
    partitions: Annotated[
        str,
        typer.Option("--partitions", help="Of single partitions, as in the exporter's file: off, topic or each."),
    ] = "off",
) -> None:
    """Print the configuration of jmx_exporter's Java agent that gives the same names."""
    from exporters.agent_yaml import agent_yaml
    from exporters.selection import Partitions, selected

    if partitions not in list(Partitions):
        raise UsageError(f"--partitions is {partitions!r}: say one of {', '.join(Partitions)}.")
    print(agent_yaml(selected(FROM_JMX, partitions=Partitions(partitions))), end="")


@catalogue.command("page")
def as_page() -> None:
    """Print the catalogue as a page in Markdown (docs/metrics.md)."""
    from exporters.catalogue_page import page

    print(page(METRICS), end="")


def _everything(address: str | None, config: Path | None, timeout: float) -> "Iterator[tuple[str, list[Reading]]]":
    from exporters.collectors.asks import EVERYTHING
    from exporters.collectors.jmxquery import JmxQueryCollector
    from kafka_trial.daemon.config_file import load
    from kafka_trial.daemon.exporter_building import collectors_of
    from kafka_trial.daemon.exporter_config import ExporterConfig
    from kafka_trial.daemon.tables import is_host_port

    if (address is None) == (config is None):
        raise UsageError("say either which node, as host:port of its JMX, or which file (--config).")
    if address is not None:
        if not is_host_port(address):
            raise UsageError(f"{address!r} is not host:port.")
        with closing(JmxQueryCollector(address, EVERYTHING, timeout=timeout)) as asked:
            yield address, asked.collect()
    if config is not None:
        for cluster in load(config, ExporterConfig).clusters:
            with collectors_of(cluster, EVERYTHING) as nodes:
                for node, collector in nodes.items():
                    yield f"{cluster.name}/{node}", collector.collect()


def _found(told: "Verified") -> dict[str, Any]:
    return {
        "version": ".".join(map(str, told.version)),
        "roles": sorted(told.roles),
        "present": [metric.key for metric in told.present],
        "missing": [metric.key for metric in told.missing],
        "not yet": [metric.key for metric in told.dormant],
        "unexpected": told.unexpected,
        "wrong type": told.wrong,
    }


def _print(name: str, facts: dict[str, Any]) -> None:
    roles = " and ".join(facts["roles"]) or "of no known role"
    out.print(f"{name}: Kafka {facts['version'] or 'of an unknown version'}, {roles}", markup=False, highlight=False)
    for part in ("present", "not yet", "missing", "unexpected", "wrong type"):
        out.print(f"{len(facts[part]):5} {part}", markup=False)
        if part not in ("present", "not yet"):
            for line in facts[part]:
                out.print(f"      {line}", markup=False)


def _facts(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "kind": str(metric.kind),
        "help": metric.help,
        "unit": metric.unit,
        "labels": list(metric.label_names),
        "scope": str(metric.scope),
        "star": metric.star,
        "bean": metric.bean,
        "attribute": metric.attribute,
        "since": metric.since,
        "until": metric.until,
        "confluent": metric.confluent,
        "bitnami": metric.bitnami,
    }
