"""Alert rules for Prometheus and for Grafana: make them, and have promtool prove what they do."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError

if TYPE_CHECKING:
    from dashboards.alerts.promtool import Told

alerts = typer.Typer(help=__doc__, no_args_is_help=True, rich_markup_mode=None)
Runbooks = Annotated[
    str, typer.Option("--runbooks", metavar="URL", help="What stands before a runbook's name in an alert's runbook_url.")
]


@alerts.command()
def build(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Gets prometheus/rules/kafka-trial.yml and grafana/alerting/kafka-trial.yml."),
    ],
    runbooks: Runbooks = "docs/runbooks/",
    pace: Annotated[
        float,
        typer.Option(
            "--pace", help="Shorten durations in Prometheus' file by this factor, to try rules out: 0.1.", min=0.01, max=1
        ),
    ] = 1,
) -> None:
    """Write the rules as Prometheus reads them, and as Grafana's provisioning does."""
    from dashboards.alerts.build import build as written

    for file in written(folder, runbooks=runbooks, pace=pace):
        out.print(str(file), markup=False)


@alerts.command("test")
def prove(
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="Your version of the rules. Default: ours.")
    ] = None,
    promtool: Annotated[str | None, typer.Option("--promtool", help="Where promtool is. Default: on the PATH.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prove by promtool that every rule fires, in time and alone, and clears, and that restarts are quiet (exit 1 else)."""
    from dashboards.alerts.build import prometheus_text
    from dashboards.alerts.cases import cases
    from dashboards.alerts.every import ALERTS
    from dashboards.alerts.promtool import check, find_promtool, names_in, tried

    tool = find_promtool(promtool)
    with tempfile.TemporaryDirectory() as folder, progress(quiet=as_json) as say:
        file = rules or Path(folder) / "rules.yml"
        if rules is None:
            file.write_text(prometheus_text())
        elif not rules.is_file():
            raise UsageError(f"{rules} is no file: give a file of rules, or leave --rules out.")
        check(file, tool)
        there = set(names_in(file))
        if not there.intersection(alert.name for alert in ALERTS):
            raise UsageError(
                f"{rules} has none of the alerts that are tried here: keep their names, such as {ALERTS[0].name}."
            )
        told = []
        for one in tried(file, cases([alert for alert in ALERTS if alert.name in there]), tool):
            say(one.case)
            told.append(one)
    missing = [alert.name for alert in ALERTS if alert.name not in there]
    if as_json:
        answer = [{"case": one.case, "holds": one.holds, "promtool": one.words} for one in told]
        print(json.dumps({"cases": answer, "not in the file": missing}, indent=1))
    else:
        _print(told, len(there), missing)
    raise typer.Exit(0 if all(one.holds for one in told) else 1)


def _print(told: "Sequence[Told]", rules: int, missing: Sequence[str]) -> None:
    from dashboards.alerts.cases import blind_case, firing_case
    from dashboards.alerts.every import ALERTS

    holds = {one.case: "✓" if one.holds else "✗" for one in told}
    shared = list(told)
    line = "{:28} {:9} {:>7} {:>8} {:>10}  {:6} {}".format
    out.print(line("", "", "", "fires", "clears", "fires,", "blindness"), markup=False)
    out.print(line("rule", "severity", "waits", "within", "within", "clears", "is told"), markup=False)
    for alert in (alert for alert in ALERTS if alert.name not in missing):
        own = (firing_case(alert.name), blind_case(alert.name))
        shared = [one for one in shared if one.case not in own]
        clears = alert.clears if alert.clears != "0s" else "its window"
        waits = alert.hold if alert.hold != "0s" else "at once"
        marks = (holds[name] for name in own)
        out.print(line(alert.name, alert.severity, waits, alert.fires, clears, *marks), markup=False)
    for one in shared:
        out.print(f"{holds[one.case]} {one.case}", markup=False)
    for one in (one for one in told if not one.holds):
        out.print(f"\n{one.case}:\n{one.words}", markup=False)
    if missing:
        out.print(f"not in the file, and so not tried: {', '.join(missing)}", markup=False)
    failed = sum(not one.holds for one in told)
    out.print(f"{rules} rules, {len(told)} cases: {failed or 'none'} failed", markup=False)
