"""The nightly report: all runs on one site, what got worse, how sure that is. Exit code 1 if something did."""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import kafka_trial
from kafka_trial.cli.options import AsJson, Master, SparkConf, spark_settings
from kafka_trial.cli.screen import out, progress
from kafka_trial.spark import session
from kernel.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_trial.daemon.results_config import ResultsConfig
    from spark_reports.contents import Report

Say = Callable[[str], None]
MANY = 100  # new run folders, from which on Spark is better set up for work than for haste
SHOWN = 5  # folders that could not be read; the page has all


def report(
    runs: Annotated[
        Path | None, typer.Option("--runs", metavar="DIR", help="Run folders, however many. Without: what is in --out.")
    ] = None,
    to: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the site and its tables are kept.")] = Path(
        "report"
    ),
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="Judge the runs from then on: a date, yesterday, 7d. Default: the newest day."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="DATE..DATE|FILE",
            help="What is ordinary: days, or an earlier report.json. Default: 30 days.",
        ),
    ] = None,
    from_kafka: Annotated[
        str | None,
        typer.Option("--from-kafka", metavar="WHERE", help="Also what the results topic has: HOST:PORT, or a TOML file."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep the tables up to date with the topics, until SIGTERM; draws no page.")
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Add the summary. Default: $GITHUB_STEP_SUMMARY.")
    ] = None,
    master: Master = None,
    conf: SparkConf = None,
    as_json: AsJson = False,
) -> None:
    day = _day(since)
    if follow and not from_kafka:
        raise UsageError("--follow needs to know what to follow: give --from-kafka HOST:PORT, or a TOML file.")
    place = _place(from_kafka)
    settings = spark_settings(conf)
    with progress(quiet=as_json) as say:
        if follow and place:
            return _follow(place, to, master, settings, say)
        found = make(runs, to, day, baseline, place, master, settings, say)
    summary = markdown or (Path(os.environ["GITHUB_STEP_SUMMARY"]) if os.environ.get("GITHUB_STEP_SUMMARY") else None)
    if summary:
        with summary.open("a") as page:
            page.write((to / "summary.md").read_text())
    if as_json:
        print(found.model_dump_json(indent=1))
    else:
        _print(found, to)
    raise typer.Exit(1 if found.regressed else 0)


def make(
    runs: Path | None,
    to: Path,
    since: date | None = None,
    baseline: str | None = None,
    place: "ResultsConfig | None" = None,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    say: Say = lambda _: None,
) -> "Report":
    from spark_reports.nightly.report import nightly, unread
    from spark_reports.site.draw import draw

    small = place is None and (runs is None or unread(runs, to) < MANY)
    with session(say, master, settings or {}, kafka=place is not None, small=small) as spark:
        return nightly(
            spark,
            runs=runs,
            out=to,
            since=since,
            baseline=baseline,
            made=datetime.now(UTC),
            made_by=f"kafka-trial {kafka_trial.__version__}",
            draw=draw,
            documents=_published(spark, place, to, say) if place else None,
            say=say,
        )


def _published(spark: "SparkSession", place: "ResultsConfig", to: Path, say: Say) -> "DataFrame":
    """What the topics have now: the audit's reports go into their table, results are handed on."""
    from spark_reports.kafka.results import documents
    from spark_reports.kafka.tables import add_reports
    from spark_reports.nightly.store import Store

    say(f"reading {place.topic} and {place.audit_topic}")
    audited = spark.read.format("kafka").options(**_options(place, place.audit_topic), failOnDataLoss="false").load()
    add_reports(Store(to), say)(audited)
    return documents(spark, _options(place, place.topic))


def _follow(place: "ResultsConfig", to: Path, master: str | None, settings: Mapping[str, str], say: Say) -> None:
    """Both topics at once, each with a checkpoint of its own; SIGTERM and Ctrl-C let the batch under way come to its end."""
    from spark_reports.kafka.stream import follow
    from spark_reports.kafka.tables import add_reports, add_results
    from spark_reports.nightly.store import Store

    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    store = Store(to)
    topics = {place.topic: add_results, place.audit_topic: add_reports}
    with session(say, master, settings, kafka=place is not None) as spark:
        say(f"following {' and '.join(topics)} on {place.kafka.bootstrap}")
        troubles: list[Exception] = []

        def stream(topic: str) -> None:
            try:
                checkpoint = to / "checkpoints" / topic
                follow(
                    spark,
                    _options(place, topic),
                    topics[topic](store, say),
                    checkpoint=checkpoint,
                    once=False,
                    stop=over,
                    say=say,
                )
            except Exception as trouble:
                troubles.append(trouble)
            finally:
                over.set()

        threads = [threading.Thread(target=stream, args=(topic,), name=topic) for topic in topics]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if troubles:
            raise troubles[0]


def _options(place: "ResultsConfig", topic: str) -> dict[str, str]:
    from kafka_trial.daemon.config_file import address_of
    from spark_reports.kafka.options import kafka_options

    return kafka_options(address_of(place.kafka), topic)


def _place(word: str | None) -> "ResultsConfig | None":
    from kafka_trial.daemon.results_config import results_at

    return results_at(word) if word else None


def _print(found: "Report", to: Path) -> None:
    colour = "red" if found.regressed else "green"
    out.print(f"[bold {colour}]{'WORSE' if found.regressed else 'OK'}[/]  ", end="")
    out.print(found.headline, markup=False)
    for one in found.regressions:
        out.print(f"       {one.sentence}", markup=False)
    for bad in found.unreadable[:SHOWN]:
        out.print(f"       not read: {bad.sentence}", markup=False)
    if len(found.unreadable) > SHOWN:
        out.print(f"       and {len(found.unreadable) - SHOWN} more that could not be read", markup=False)
    out.print(f"report {to / 'index.html'}", markup=False)


def _day(word: str | None) -> date | None:
    from spark_reports.nightly.dates import day

    return day(word, today=datetime.now(UTC).date()) if word else None
