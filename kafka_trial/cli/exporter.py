"""Export Kafka's metrics for Prometheus: nodes are asked in the background, and a scrape never waits for them."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.screen import err

EXAMPLE = "docs/exporter.md shows a file to start from."


def exporter(
    config: Annotated[Path, typer.Option("--config", help=f"A TOML file: what to listen on, which clusters. {EXAMPLE}")],
    check: Annotated[
        bool, typer.Option("--check", help="Read the file and all it names, say whether it is right, and end.")
    ] = False,
) -> None:
    from exporters.exposition import CONTENT_TYPES, Format, wanted_format
    from kafka_trial.daemon.config_file import load
    from kafka_trial.daemon.exporter_building import check_logins, exporter_of
    from kafka_trial.daemon.exporter_config import ExporterConfig
    from kafka_trial.daemon.serving import entrance, log_to_stderr, serve, site

    wanted = load(config, ExporterConfig)
    if check:
        entrance(wanted)
        check_logins(wanted)
        nodes = ", ".join(f"{cluster.name} with {_nodes(len(cluster.nodes))}" for cluster in wanted.clusters)
        err.print(f"{config} is right: {nodes}.", markup=False)
        return

    def metrics(accept: str) -> tuple[str, bytes]:
        form: Format = wanted_format(accept)
        return CONTENT_TYPES[form], running.metrics(form)

    log_to_stderr()
    here = site(wanted, metrics, lambda: running.ready)
    with exporter_of(wanted) as running:
        serve(here, lambda words: err.print(words, markup=False))


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
