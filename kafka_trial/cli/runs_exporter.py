"""Tell Prometheus of the runs in a folder: verdicts, recovery, what was found. As a daemon, or once, as a page."""

from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.screen import err

EXAMPLE = "docs/runs.md shows a file to start from."


def runs_exporter(
    runs: Annotated[
        Path | None, typer.Option("--runs", metavar="DIR", help="Where run folders are kept. [default: runs]")
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Where it is served. [default: 127.0.0.1:9312]")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help=f"A TOML file, for TLS, a login and more. {EXAMPLE}")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print the page, for a textfile collector, and end.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Look at the file and the folder, say whether all is right, and end.")
    ] = False,
) -> None:
    import sys

    from chaos.scenarios import SCENARIOS
    from kafka_trial.daemon.runs_config import told_by
    from kafka_trial.daemon.runs_metrics import page
    from kafka_trial.daemon.runs_watching import RunsWatch
    from kafka_trial.daemon.serving import entrance, log_to_stderr, serve, site

    wanted = told_by(config, runs, listen)
    twins = {name: scenario.twin for name, scenario in SCENARIOS.items()}
    watching = RunsWatch(wanted.runs_dir, twins, every=wanted.look_every, most=wanted.most)
    log_to_stderr()
    if check or once:
        entrance(wanted)
        watching.look()
        if once:
            sys.stdout.buffer.write(page(watching.rendered, "")[1])
        else:
            err.print(f"all is right: runs in {wanted.runs_dir}, to be served on {wanted.listen}.", markup=False)
        return
    here = site(wanted, lambda accept: page(watching.rendered, accept), lambda: watching.ready)
    with watching:
        serve(here, lambda words: err.print(words, markup=False))
