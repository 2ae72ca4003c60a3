"""Run scenarios to their verdict: break a cluster on purpose, and say whether it kept its promise."""

import json
import os
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compose.spec import DEFAULT_KAFKA
from kafka_trial.cli.options import AsJson, Kafka, Provider, ResultsTo, Runs, Security, Settings
from kafka_trial.cli.screen import live, out
from kafka_trial.publishing import Publish, publisher
from kernel.errors import UsageError

if TYPE_CHECKING:
    from chaos.recording import Observe
    from chaos.scenarios.scenario import Option, Scenario
    from kafka_trial.annotating import Annotator


def run(
    scenarios: Annotated[list[str] | None, typer.Argument(metavar="SCENARIO...", help="What to run; see --list.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the scenarios, their options and their twins.")] = False,
    acks: Annotated[str | None, typer.Option("--acks", help="Short for --option acks=...")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the scenario; see --list.")
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="KEY=VALUE", help="Told to every producer and consumer, interceptors too."),
    ] = None,
    twin: Annotated[bool, typer.Option("--twin", help="With the options under which the scenario must fail.")] = False,
    settings: Settings = "quick",
    seed: Annotated[int | None, typer.Option("--seed", help="For whatever is left to chance. Default: a new one.")] = None,
    brokers: Annotated[
        int | None, typer.Option("--brokers", help="How many brokers. Default: what the scenario needs.")
    ] = None,
    kafka: Kafka = DEFAULT_KAFKA,
    provider: Provider = "auto",
    security: Security = "plaintext",
    runs: Runs = Path("runs"),
    permit: Annotated[
        str, typer.Option("--permit", metavar="ANOMALY,...", help="Anomalies that are accepted knowingly.")
    ] = "",
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Repeat the schedule.json of an earlier run (storm).")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML.")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Add a summary. Default: $GITHUB_STEP_SUMMARY.")
    ] = None,
    observe: Annotated[
        list[str] | None,
        typer.Option("--observe", metavar="WHO", help="Watched by: lag, audit, alerts=URL of a Prometheus. For reports."),
    ] = None,
    results_to: ResultsTo = None,
    annotate: Annotated[
        str | None,
        typer.Option("--annotate", metavar="URL", help="Write each fault into this Grafana as it happens ($GRAFANA_TOKEN)."),
    ] = None,
    annotate_cluster: Annotated[
        str | None, typer.Option("--annotate-cluster", metavar="NAME", help="The cluster's name there. Default: trial.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    from chaos.run import Wishes, check_here, plan
    from chaos.scenarios import scenario_named
    from kafka_trial.annotating import annotator
    from kafka_trial.observing import observers_of, observing

    if show_list:
        return _list(as_json)
    if not scenarios:
        raise UsageError("no scenario was named: say which, or see them all with --list.")
    given, publish = _options(option or [], acks), publisher(results_to)
    observers = observers_of(observe or [])
    wishes = [
        Wishes(
            scenario=name,
            options={**(scenario_named(name).twin if twin else {}), **given},
            settings=settings,
            seed=seed,
            brokers=brokers,
            kafka=kafka,
            provider=provider,
            security=security,
            runs=runs,
            permitted=tuple(filter(None, permit.split(","))),
            replay=replay,
            clients={**observers.clients, **_clients(client or [])},
        )
        for name in scenarios
    ]
    for wish in wishes:
        check_here(plan(wish), wish.provider)  # all of them are checked before the first is started
    written = annotator(annotate, annotate_cluster)
    watching: Observe = partial(observing, wanted=observers)
    watching = written.around(watching) if written else watching
    _run_all(wishes, watching, publish, written, junit, markdown or _step_summary(), as_json)
    return None


def _run_all(
    wishes: list[Any],
    observe: "Observe",
    publish: Publish,
    written: "Annotator | None",
    junit: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    from chaos.report.block import styled, verdict_block
    from chaos.report.junit import junit_xml
    from chaos.report.markdown import markdown_summary
    from chaos.run import run as run_scenario
    from kernel.verdict import Verdict

    verdicts: list[dict[str, Any]] = []
    for wish in wishes:
        began = time.monotonic()
        with live(quiet=as_json) as (say, watch):
            folder, verdict = run_scenario(wish, say=say, watch=watch, observe=observe)
        publish(folder, verdict)
        manifest = folder.manifest()
        verdicts.append({**verdict, "started": manifest["started"], "duration_s": round(time.monotonic() - began, 1)})
        if as_json:
            print(json.dumps({"folder": str(folder.path), **verdict}))
        else:
            out.print()
            out.print(styled(verdict_block(verdict, manifest)))
            out.print(f"{'':9}report  {folder.report}", markup=False)
        if written:
            written.conclude(folder, verdict)
    if junit:
        junit.write_text(junit_xml(verdicts))
    if markdown:
        with markdown.open("a") as page:
            page.write(markdown_summary(verdicts))
    raise typer.Exit(Verdict.worst(Verdict(verdict["verdict"]) for verdict in verdicts).exit_code)


def _options(given: list[str], acks: str | None) -> dict[str, str]:
    options = {} if acks is None else {"acks": acks}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"option {word!r} is not of the form name=value: say for example -o acks=1.")
        options[name] = value
    return options


def _clients(given: list[str]) -> dict[str, str]:
    told = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"client setting {word!r} is not of the form key=value: say for example --client linger.ms=5.")
        if "password" in key or "secret" in key:
            raise UsageError(f"{key} does not belong on a command line, where others can read it: --security has its own.")
        told[key] = value
    return told


def _step_summary() -> Path | None:
    """GitHub shows what is written there on the page of the job."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(file) if file else None


def _list(as_json: bool) -> None:
    from chaos.scenarios import FAMILIES
    from chaos.scenarios.scenario import COMMON

    listed = [(family, scenario) for family, scenarios in FAMILIES.items() for scenario in scenarios.values()]
    if as_json:
        print(json.dumps([{**_facts(scenario), "family": family} for family, scenario in listed], indent=1))
        return
    for family, scenario in listed:
        out.print(f"[bold]{scenario.name}[/] [dim]({family})[/]")
        out.print(f"    {scenario.promise}", markup=False)
        for name, option in scenario.options.items():
            out.print(f"    {_option(name, option)}", markup=False)
        if scenario.needs:
            out.print(f"    needs {', '.join(scenario.needs)}", markup=False)
        if scenario.twin:
            words = " ".join(f"{name}={value}" for name, value in scenario.twin.items())
            out.print(f"    twin  {words}: {scenario.twin_finds}", markup=False)
    out.print("[bold]all of them[/]")
    for name, option in COMMON.items():
        out.print(f"    {_option(name, option)}", markup=False)


def _option(name: str, option: "Option") -> str:
    choices = "|".join(option.choices) or option.span
    return f"{f'-o {name}={option.default}':<22} {choices:<40} {option.help}"


def _facts(scenario: "Scenario") -> dict[str, Any]:
    return {
        "name": scenario.name,
        "promise": scenario.promise,
        "brokers": scenario.brokers,
        "options": {name: asdict(option) for name, option in scenario.all_options.items()},
        "needs": list(scenario.needs),
        "twin": dict(scenario.twin),
        "twin_finds": scenario.twin_finds,
    }
