"""Watch consumer groups: judge their lag by Burrow's rules and by better ones, show it, tell somebody when it matters."""

from collections.abc import Sized
from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.screen import err

EXAMPLE = "docs/lag.md shows a file to start from."


def lag_monitor(
    config: Annotated[Path, typer.Option("--config", help=f"A TOML file: which clusters, whom to tell. {EXAMPLE}")],
    check: Annotated[
        bool, typer.Option("--check", help="Read the file and all it names, say whether it is right, and end.")
    ] = False,
) -> None:
    import logging
    from dataclasses import asdict

    from kafka_trial.daemon.config_file import load
    from kafka_trial.daemon.lag_building import burrow_settings, delete_token, plan_of
    from kafka_trial.daemon.lag_config import LagConfig
    from kafka_trial.daemon.lag_metrics import LagMetrics
    from kafka_trial.daemon.reloading import reloading
    from kafka_trial.daemon.serving import entrance, log_to_stderr, serve, site
    from lag_monitor.monitor import Monitor
    from lag_monitor.pages.routes import routes
    from lag_monitor.view import Answers, BurrowAnswers

    wanted = load(config, LagConfig)
    plan = plan_of(wanted, config)
    token = delete_token(wanted)
    if check:
        entrance(wanted)
        names = ", ".join(watch.name for watch in plan.watches)
        told = f"{_count(plan.routes, 'route')} to {_count(plan.channels, 'channel')}" if plan.routes else "nobody is told"
        err.print(f"{config} is right: {names}; {told}.", markup=False)
        return

    log_to_stderr()
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # tells of every connection; what becomes of them is told by us
    monitor = Monitor(plan)
    metrics = LagMetrics(monitor, wanted.partition_metrics)
    monitor.after_each_look(metrics.looked)
    answers, burrow = Answers(lambda: monitor.views), BurrowAnswers(lambda: monitor.views)
    pages = routes(
        answers,
        burrow,
        burrow_settings(wanted),
        lambda: monitor.ready,
        lambda: [asdict(one) for one in monitor.alerts.incidents()],
        token,
        wanted.cors,
    )
    here = site(wanted, metrics.page, lambda: monitor.ready, routes=pages)
    with monitor, reloading(lambda: monitor.reload(plan_of(load(config, LagConfig), config))):
        serve(here, lambda words: err.print(words, markup=False))


def _count(them: Sized, what: str) -> str:
    return f"{len(them)} {what}{'' if len(them) == 1 else 's'}"
