"""Send records to every broker, read them back, and tell Prometheus what a client gets: latency, loss, availability."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.screen import err

EXAMPLE = "docs/probe.md shows a file to start from."


def probe(
    config: Annotated[Path, typer.Option("--config", help=f"A TOML file: which cluster, how often. {EXAMPLE}")],
    check: Annotated[
        bool, typer.Option("--check", help="Read the file and all it names, say whether it is right, and end.")
    ] = False,
) -> None:
    import logging
    import time

    from exporters.exposition import CONTENT_TYPES, end, join, render, wanted_format
    from exporters.probe.figures import families
    from exporters.probe.probe import Probe
    from kafka_trial.daemon.config_file import address_of, load
    from kafka_trial.daemon.probe_config import ProbeConfig
    from kafka_trial.daemon.serving import entrance, log_to_stderr, serve, site

    wanted = load(config, ProbeConfig)
    probing = Probe(address_of(wanted.kafka), wanted.plan, wanted.kafka.settings)
    if check:
        entrance(wanted)
        err.print(f"{config} is right: topic {wanted.topic} on {wanted.kafka.bootstrap}.", markup=False)
        return

    def metrics(accept: str) -> tuple[str, bytes]:
        form = wanted_format(accept)
        text = join([render(families(probing.seen, time.monotonic()), {})], form) + end(form)
        return CONTENT_TYPES[form], text

    log_to_stderr()
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # tells of every connection; what becomes of them is told by us
    here = site(wanted, metrics, lambda: probing.ready)
    with probing:
        serve(here, lambda words: err.print(words, markup=False))
