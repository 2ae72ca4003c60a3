"""Write the faults and verdicts of runs that are over into a Grafana, as annotations. What is there is not written again."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.dashboards.grafana_options import CaFile, GrafanaUrl, TokenFile, grafana_at
from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import UsageError

if TYPE_CHECKING:
    from dashboards.push.annotations import Mark, Run
    from dashboards.push.port import Grafana

MOST = 10_000  # annotations of one run


def annotate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    url: GrafanaUrl,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="NAME", help="As which the trial's cluster is known to Prometheus.")
    ] = "trial",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    as_json: AsJson = False,
) -> None:
    grafana = grafana_at(url, token_file, ca_file, os.environ)
    told = [(path, *_marks(path, cluster)) for path in runs]  # all are read before the first is written
    with progress(quiet=as_json) as say:
        say(f"asking {grafana.address}")
        grafana.version()
        done = [{"run": str(path), **_written(grafana, run, marks)} for path, run, marks in told]
    if as_json:
        print(json.dumps(done, indent=1))
        return
    for one in done:
        out.print(
            f"{one['run']}  {one['added']} added, {one['changed']} completed, {one['there']} already there", markup=False
        )


def _marks(path: Path, cluster: str) -> "tuple[Run, list[Mark]]":
    from chaos.evidence.folder import RunFolder
    from dashboards.push.annotations import marks_of, run_of

    folder = RunFolder(path)
    manifest = folder.manifest()
    if "process" in manifest and "finished" not in manifest and not (path / "verdict.json").exists():
        raise UsageError(f"{path} has no verdict yet: let the run end, or judge it with kafka-trial check.")
    run = run_of(manifest, str(path), cluster)
    verdict = folder.verdict() if (path / "verdict.json").exists() else None
    return run, marks_of(run, folder.events(), verdict)


def _written(grafana: "Grafana", run: "Run", marks: "list[Mark]") -> dict[str, Any]:
    from dashboards.push.annotations import TAG, outstanding

    if not marks:
        return {"added": 0, "changed": 0, "there": 0}
    times = [time for mark in marks for time in (mark.annotation.start_ms, mark.annotation.end_ms) if time]
    own = run.tags("any")[1]
    there = grafana.annotations([TAG, own], start_ms=min(times), end_ms=max(times) + 1, limit=MOST)
    left = outstanding(marks, there)
    for mark, number in left:
        if number is None:
            grafana.annotate(mark.annotation)
        else:
            grafana.change_annotation(number, mark.annotation)
    added = sum(number is None for _, number in left)
    return {"added": added, "changed": len(left) - added, "there": len(marks) - len(left)}
