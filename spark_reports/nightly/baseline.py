"""What the current nights are compared with: earlier nights, a span of dates, or the nights of an earlier report."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from pydantic import ValidationError

from kernel.errors import UsageError
from spark_reports.contents import FORMAT, Report, Run
from spark_reports.nightly.dates import SPAN, span

DAYS = 30


@dataclass(frozen=True, slots=True)
class Chosen:
    """Dates of the tables, or runs of a document; `words` say how they were chosen."""

    first: date | None
    last: date | None
    runs: tuple[Run, ...]
    words: str


def chosen(baseline: str | None, *, current_first: date, dates: Sequence[date]) -> Chosen:
    """`dates` are those of the tables. Current nights are never part of what they are compared with."""
    if baseline is None:
        return _before(current_first, dates)
    if SPAN in baseline and not Path(baseline).exists():
        first, last = span(baseline)
        last = min(last, current_first - timedelta(days=1))
        there = [night for night in dates if first <= night <= last]
        if not there:
            raise UsageError(f"--baseline {baseline}: no run of those nights is known, or they are the ones to be judged.")
        return Chosen(first, last, (), f"the nights from {first} to {last}, as asked for")
    report = load(Path(baseline))
    runs = tuple(run.model_copy(update={"current": False}) for run in report.runs if run.current)
    if not runs:
        raise UsageError(f"--baseline {baseline} holds no runs: give a report that has some.", value=baseline)
    return Chosen(
        None, None, runs, f"the runs of {report.current.first} to {report.current.last}, judged in an earlier report"
    )


def load(file: Path) -> Report:
    if not file.is_file():
        raise UsageError(
            f"--baseline {str(file)!r} is neither a span of dates nor a report: give 2026-11-01..2026-11-14, or the "
            "report.json of an earlier report.",
            value=str(file),
        )
    try:
        report = Report.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        why = f"{error.errors()[0]['msg']}" if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"--baseline {file} is no report.json of kafka-trial: {why}.", value=str(file)) from None
    if report.format > FORMAT:
        raise UsageError(
            f"--baseline {file}: format {report.format} is newer than {FORMAT}, the newest this version reads: use the "
            "kafka-trial that wrote it."
        )
    return report


def _before(current_first: date, dates: Sequence[date]) -> Chosen:
    there = [night for night in dates if current_first - timedelta(days=DAYS) <= night < current_first]
    if not there:
        return Chosen(None, None, (), f"none: no run of the {DAYS} days before {current_first} is known")
    words = f"the nights of the {DAYS} days before {current_first} that are known, from {min(there)} to {max(there)}"
    return Chosen(min(there), max(there), (), words)
