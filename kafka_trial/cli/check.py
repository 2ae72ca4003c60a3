"""Judge a run folder again, whoever recorded it, and write verdict.json into it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import out, progress
from kernel.errors import SuiteError
from kernel.verdict import Verdict


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder: manifest.json, events.jsonl, ledger/.")],
    engine: Annotated[str, typer.Option("--engine", metavar="NAME", help="What counts: local.")] = "local",
    as_json: AsJson = False,
) -> None:
    from chaos.evidence.folder import RunFolder
    from chaos.judge import judge
    from chaos.report.block import styled, verdict_block

    folder = RunFolder(run)
    with progress(quiet=as_json) as say:
        say(f"judging {run}")
        verdict = judge(folder, engine)
    try:
        folder.write_verdict(verdict)
    except OSError as error:
        raise SuiteError(f"{run / 'verdict.json'} cannot be written: {error.strerror}.")
    if as_json:
        print(json.dumps(verdict, indent=1, default=str))
    else:
        out.print(styled(verdict_block(verdict, folder.manifest())))
    raise typer.Exit(Verdict(verdict["verdict"]).exit_code)
