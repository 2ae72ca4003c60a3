"""Grafana dashboards: make them, judge anybody's, bring them to a Grafana, look at them without one."""

import typer

from kafka_trial.cli.dashboards import annotate, build, lint, preview, push

dashboards = typer.Typer(help=__doc__, no_args_is_help=True, rich_markup_mode=None)
for module in (build, lint, preview, push, annotate):
    name = module.__name__.rpartition(".")[2]
    dashboards.command(name, help=module.__doc__)(getattr(module, name))
