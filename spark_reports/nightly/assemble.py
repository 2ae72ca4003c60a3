"""Tables → the one document that everything is drawn from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kernel.errors import UsageError
from spark_reports.contents import (
    Audit,
    Clash,
    Regression,
    Report,
    Run,
    Scenario,
    Span,
    Spread,
    Timeline,
    Totals,
    Unreadable,
)
from spark_reports.meanwhile import meanwhile
from spark_reports.nightly import sentences
from spark_reports.nightly.baseline import Chosen, chosen
from spark_reports.nightly.cells import cell
from spark_reports.nightly.compare import Match, Question, matched, new_failures, ordered, questions, undecided
from spark_reports.nightly.costs import costs, darkened
from spark_reports.nightly.delays import audits, delay, noticed, topic_audits
from spark_reports.nightly.flaky import flaky
from spark_reports.nightly.lists import anomalies, promises, slowest
from spark_reports.nightly.runs import between, collected
from spark_reports.nightly.samples import NOTHING, OPERATIONS, recovery_sample
from spark_reports.nightly.scan import Known
from spark_reports.nightly.spreads import spreads
from spark_reports.nightly.statistics import Sample
from spark_reports.nightly.timeline import timelines
from spark_reports.nightly.trends import trend

Spreads = Mapping[tuple[object, ...], Spread]


@dataclass(frozen=True, slots=True)
class Tables:
    summary: DataFrame
    darkness: DataFrame
    happened: DataFrame
    audit: DataFrame | None = None  # reports of the audit topic, of all times

    def between(self, first: date | None, last: date | None) -> "Tables":
        return Tables(*(between(table, first, last) for table in (self.summary, self.darkness, self.happened)))


def assembled(
    spark: SparkSession, tables: Tables, *, since: date | None, baseline: str | None, made: datetime, made_by: str,
    known: Known, site: Path,
) -> Report:  # fmt: skip
    dates = sorted(row["date"] for row in tables.summary.select("date").distinct().collect())
    since = _since(since, dates, known)
    against = chosen(baseline, current_first=min(night for night in dates if night >= since), dates=dates)
    now = tables.between(since, None)
    current, before = _runs(tables, now, since, against, known, site)
    with meanwhile(lambda: timelines(spark, current, now.happened)) as worst:
        matches = matched(current, before)
        asked = questions(matches)
        scenarios = {run.key: run.scenario for run in current}
        heard = noticed(now.happened, scenarios)
        samples: dict[tuple[object, ...], Sample] = {
            (operation, match.group, side): recovery_sample(runs, operation)
            for match in matches
            for operation in OPERATIONS
            for side, runs in (("now", match.now), ("before", match.before))
        }
        samples |= {("delay", nth): one.sample for nth, one in enumerate(heard)}
        dark = darkened(current)
        samples |= {("cost", which): one.sample for which, one in dark.items()}
        found = spreads(spark, samples)
        regressions = ordered([*map(sentences.broken, new_failures(matches)), *_slower(asked, found)])
        totals = _totals(current, known)
        ran = {run.scenario for run in current}
        gone = {run.scenario: run for run in before if run.scenario not in ran}
        return Report(
            made=made,
            made_by=made_by,
            headline=sentences.headline(regressions, totals, compared=any(match.before for match in matches)),
            regressed=bool(regressions),
            current=_span(current),
            baseline=_span(before) if before else None,
            baseline_words=against.words,
            totals=totals,
            scenarios=_scenarios(matches, found, promises(now.summary), worst()),
            regressions=regressions,
            changes=sentences.changes(matches, asked, gone, len(undecided(asked))) if before else [],  # all would be new
            flaky=flaky([*current, *before]),
            anomalies=anomalies(now.summary),
            slowest=slowest(now.darkness, scenarios),
            costs=costs(dark, found),
            delays=[delay(one, found["delay", nth]) for nth, one in enumerate(heard)],
            audits=[*audits(now.happened, scenarios), *_of_the_topic(tables, made)],
            unreadable=[Unreadable(folder=path, sentence=said) for path, said in sorted(known.unreadable.items())],
            clashes=[Clash(key=key, folders=folders) for key, folders in sorted(known.clashes.items())],
            runs=[*before, *current],
        )


def _of_the_topic(tables: Tables, made: datetime) -> list[Audit]:
    return [] if tables.audit is None else topic_audits(tables.audit, now_ms=int(made.timestamp() * 1000))


def _since(since: date | None, dates: Sequence[date], known: Known) -> date:
    if not dates:
        first = next(iter(sorted(known.unreadable.values())), None)
        why = f": none of {len(known.unreadable)} folders can be read, the first because {first}" if first else "."
        raise UsageError(f"There is no run to report on{why}")
    if since is not None and since > dates[-1]:
        raise UsageError(f"No run is of {since} or later: the newest is of {dates[-1]}. Give an earlier --since.")
    return since or dates[-1]


def _runs(
    tables: Tables, now: Tables, since: date, against: Chosen, known: Known, site: Path
) -> tuple[list[Run], list[Run]]:
    def those(of: Tables) -> list[Run]:
        return collected(of.summary, of.darkness, of.happened, since=since, troubles=known.troubles, site=site)

    first, last = against.first, against.last
    if first is None or last is None:
        current = those(now)
        judged = {run.key for run in current}
        others = [run for run in against.runs if run.key not in judged]
        if against.runs and not others:
            raise UsageError("--baseline is a report on the very runs that are to be judged: give an earlier one.")
        return current, others
    both = those(tables.between(min(first, since), None))  # at once: each look at the tables takes its second
    return [run for run in both if run.current], [run for run in both if first <= run.date <= last]


def _slower(asked: Sequence[Question], found: Spreads) -> list[Regression]:
    def side(question: Question, name: str) -> Spread:
        return found.get((question.operation, question.match.group, name), NOTHING)  # availability has none

    worse = [question for question in asked if question.is_worse]
    return [sentences.slower(question, side(question, "now"), side(question, "before")) for question in worse]


def _scenarios(
    matches: Sequence[Match], found: Spreads, promised: Mapping[str, str], worst: Mapping[str, Timeline]
) -> list[Scenario]:
    scenarios = []
    for name in sorted({match.group.scenario for match in matches}):
        mine = [match for match in matches if match.group.scenario == name]
        lines = (trend(match, op, found[op, match.group, "now"]) for match in mine for op in OPERATIONS)
        scenarios.append(
            Scenario(
                name=name,
                promise=promised.get(name, ""),
                cells=[cell(match, found["send", match.group, "now"]) for match in mine],
                trends=[line for line in lines if line is not None],
                worst=worst.get(name),
            )
        )
    return scenarios


def _span(runs: Sequence[Run]) -> Span:
    return Span(first=min(run.date for run in runs), last=max(run.date for run in runs), runs=len(runs))


def _totals(current: Sequence[Run], known: Known) -> Totals:
    def count(verdict: str) -> int:
        return sum(run.verdict == verdict for run in current)

    return Totals(
        runs=len(current),
        passed=count("PASS"),
        failed=count("FAIL"),
        inconclusive=count("INCONCLUSIVE"),
        unreadable=len(known.unreadable),
        acknowledged=sum(run.acknowledged for run in current),
    )
