"""Judge a run folder again, whoever recorded it, and write verdict.json into it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kafka_trial.cli.options import AsJson, Master, ResultsTo, SparkConf, spark_settings
from kafka_trial.cli.screen import out, progress
from kafka_trial.publishing import publisher
from kafka_trial.spark import spark_engine
from kernel.errors import SuiteError, UsageError
from kernel.verdict import Verdict


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder: manifest.json, events.jsonl, ledger/.")],
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="What counts: local, or spark for what no machine holds.")
    ] = "local",
    master: Master = None,
    conf: SparkConf = None,
    results_to: ResultsTo = None,
    as_json: AsJson = False,
) -> None:
    from chaos.evidence.folder import RunFolder
    from chaos.judge import ENGINES, judge
    from chaos.report.block import styled, verdict_block

    folder, publish = RunFolder(run), publisher(results_to)
    settings = spark_settings(conf)
    if engine != "spark" and (master or settings):
        raise UsageError("--master and --conf are Spark's: say --engine spark too.")
    with progress(quiet=as_json) as say:
        say(f"judging {run}")
        engines = {**ENGINES, "spark": lambda ledger, clients: spark_engine(say, master, settings)(ledger, clients)}
        verdict = judge(folder, engine, engines=engines)
    try:
        folder.write_verdict(verdict)
    except OSError as error:
        raise SuiteError(f"{run / 'verdict.json'} cannot be written: {error.strerror}.")
    publish(folder, verdict)
    if as_json:
        print(json.dumps(verdict, indent=1, default=str))
    else:
        out.print(styled(verdict_block(verdict, folder.manifest())))
    raise typer.Exit(Verdict(verdict["verdict"]).exit_code)
