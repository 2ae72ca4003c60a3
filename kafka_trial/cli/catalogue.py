"""The metric catalogue: what is exported, whether a live node still has it, and what is written from it."""

import json
from typing import Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out
from kernel.metric_tables import FROM_JMX, METRICS
from kernel.metrics import Metric

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
    address: Annotated[str, typer.Argument(help="host:port of a node's JMX.")],
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the node.", min=0.1)] = 30.0,
    strict: Annotated[bool, typer.Option("--strict", help="A bean that nobody knows fails as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold the catalogue against a live node: a metric that it should have and has not fails (exit 1)."""
    from exporters.collectors.asks import Ask
    from exporters.collectors.jmxquery import JmxQueryCollector
    from exporters.verifying import verify as held_against

    everything = [Ask("kafka.*:*", ()), Ask("java.lang:*", ()), Ask("java.nio:*", ())]
    told = held_against(FROM_JMX, JmxQueryCollector(address, everything, timeout=timeout).collect())
    facts = {
        "version": ".".join(map(str, told.version)),
        "roles": sorted(told.roles),
        "present": [metric.key for metric in told.present],
        "missing": [metric.key for metric in told.missing],
        "not yet": [metric.key for metric in told.dormant],
        "unexpected": told.unexpected,
        "wrong type": told.wrong,
    }
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        _print(facts)
    if not told.holds or (strict and told.unexpected):
        raise typer.Exit(1)


@catalogue.command("agent-yaml")
def agent() -> None:
    """Print the configuration of jmx_exporter's Java agent that gives the same names."""
    from exporters.agent_yaml import agent_yaml
    from exporters.selection import selected

    print(agent_yaml(selected(FROM_JMX)), end="")


@catalogue.command("page")
def as_page() -> None:
    """Print the catalogue as a page in Markdown (docs/metrics.md)."""
    from exporters.catalogue_page import page

    print(page(METRICS), end="")


def _print(facts: dict[str, Any]) -> None:
    out.print(f"Kafka {facts['version'] or 'of an unknown version'}, {' and '.join(facts['roles']) or 'of no known role'}")
    for name in ("present", "not yet", "missing", "unexpected", "wrong type"):
        out.print(f"{len(facts[name]):5} {name}", markup=False)
        if name not in ("present", "not yet"):
            for line in facts[name]:
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
