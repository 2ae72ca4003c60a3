"""Push dashboards into a Grafana: all or none, nothing that was changed by hand, nothing twice. Exit code 1 if refused."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.dashboards.grafana_options import CaFile, GrafanaUrl, TokenFile, grafana_at
from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import complain, out, progress

if TYPE_CHECKING:
    from dashboards.push.plan import Step
    from dashboards.push.push import Done, Plan


def push(
    url: GrafanaUrl,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE|DIR]...", help="Dashboards as JSON. Without: our own.")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="NAME", help="Title or uid. Without: new ones at the top, others where they are."),
    ] = None,
    create_folder: Annotated[bool, typer.Option("--create-folder", help="Make the folder if it is not there.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also what was changed by hand since, or is in another folder.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, and what would change.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="With --dry-run: the changes line by line too.")] = False,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    as_json: AsJson = False,
) -> None:
    from dashboards.push.push import planned
    from dashboards.push.push import push as push_all

    grafana = grafana_at(url, token_file, ca_file, os.environ)
    wanted = _wanted(files or [])
    with progress(quiet=as_json) as say:
        say(f"comparing with {grafana.address}")
        plan = planned(grafana, wanted, folder, create_folder=create_folder)
        if dry_run:
            return _show(plan, overwrite, verbose, as_json)
        say("writing")
        done = push_all(grafana, plan, overwrite=overwrite)
    if as_json:
        print(json.dumps([_facts(one) for one in done], indent=1))
    else:
        for one in done:
            out.print(f"{one.outcome:<10} {one.step.title}  {one.address}", markup=False)
    return None


def _wanted(files: list[Path]) -> dict[str, dict[str, Any]]:
    from dashboards.push.files import checked, read_dashboards

    if files:
        return read_dashboards(files)
    from dashboards.build import dashboards

    return checked(dashboards())


def _show(plan: "Plan", overwrite: bool, verbose: bool, as_json: bool) -> None:
    """Exit code 1 if a push would be refused, as the push itself has it."""
    from dashboards.push.diff import changes, unified

    refusals = [refusal for step in plan.steps if (refusal := step.refusal(overwrite))]
    told = []
    for step in plan.steps:
        stored = step.stored.dashboard if step.stored else {}
        different = changes(stored, step.wanted) if step.stored and step.action != "unchanged" else []
        lines = unified(stored, step.wanted, step.title) if verbose and different else []
        told.append({**_planned(step, overwrite), "changes": different} | ({"diff": lines} if verbose else {}))
        if not as_json:
            _print(step, overwrite, [*different, *lines])
    if as_json:
        print(json.dumps({"new_folder": plan.place.new, "dashboards": told, "refused": refusals}, indent=1))
        raise typer.Exit(1 if refusals else 0)
    if plan.place.new and plan.place.folder:
        out.print(f"would create the folder {plan.place.folder.title}", markup=False)
    for refusal in refusals:
        complain(refusal)
    out.print("Nothing was written." + (" The push would be refused." if refusals else ""), markup=False)
    raise typer.Exit(1 if refusals else 0)


def _print(step: "Step", overwrite: bool, lines: list[str]) -> None:
    words = _planned(step, overwrite)
    out.print(f"{words['would']:<14} {step.title}  {words['address'] or 'new'}", markup=False)
    for line in lines:
        out.print(f"    {line}", markup=False)


def _planned(step: "Step", overwrite: bool) -> dict[str, Any]:
    if step.refusal(overwrite):
        would = "be refused"
    elif step.writes(overwrite):
        would = "be updated" if step.stored else "be created"
    else:
        would = "stay"
    address = step.stored.address if step.stored else ""
    return {"would": would, "state": str(step.action), "uid": step.uid, "title": step.title, "address": address}


def _facts(one: "Done") -> dict[str, Any]:
    return {"outcome": one.outcome, "uid": one.step.uid, "title": one.step.title, "address": one.address}
