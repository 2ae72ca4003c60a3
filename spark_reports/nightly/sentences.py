"""What the report says in words: pure, and the first thing anybody reads."""

from collections.abc import Mapping, Sequence

from spark_reports.contents import Operation, Regression, Run, Spread, Totals
from spark_reports.nightly.compare import Match, Question, worst_first
from spark_reports.nightly.samples import Group
from spark_reports.nightly.statistics import FEWEST, Sample

DOING: dict[Operation, str] = {"send": "to recover", "poll": "until records are read again"}


def headline(regressions: Sequence[Regression], totals: Totals, *, compared: bool) -> str:
    counts = totals_words(totals)
    if regressions:
        more = len(regressions) - 1
        also = f" {more} more got worse." if more else ""
        return f"{regressions[0].sentence}{also}"
    return f"Nothing got worse: {counts}." if compared else f"There are no earlier nights to compare with: {counts}."


def totals_words(totals: Totals) -> str:
    parts = [counted(totals.runs, "run")]
    told = {"passed": totals.passed, "failed": totals.failed, "inconclusive": totals.inconclusive}
    parts += [f"{count} {word}" for word, count in told.items() if count]
    parts += [f"{counted(totals.unreadable, 'folder')} unreadable"] if totals.unreadable else []
    return ", ".join(parts)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"


def length(sample: Sample) -> str:
    """The median; where it is open, what is sure of it."""
    most, least = sample.median_at_most(), sample.median_at_least()
    return seconds(most) if most is not None else f"more than {seconds(least or 0.0)}"


def spread_words(sample: Sample, spread: Spread) -> str:
    """9.1 s (8.9 to 9.4, n = 12)"""
    low, high = spread.median_low_s, spread.median_high_s
    between = f"{low:.1f} to {high:.1f}, " if low is not None and high is not None else ""
    never = f", {spread.open} never ended" if spread.open else ""
    return f"{length(sample)} ({between}n = {len(sample)}{never})"


def share(dark: float | None) -> str:
    return "unknown" if dark is None else f"{(1 - dark) * 100:.2f} %"


def where(group: Group, baseline_kafka: str) -> str:
    return f"on {group.kafka}" if baseline_kafka == group.kafka else f"on {group.kafka} (compared with {baseline_kafka})"


def slower(question: Question, now: Spread, before: Spread) -> Regression:
    """Of a question that is worse: recovery, or availability."""
    match, sides, operation = question.match, question.worse, question.operation
    place = where(match.group, match.baseline_kafka)
    if operation is None:
        sentence = f"{match.group.scenario} is available {_shares(sides.now, sides.before)} {place}."
        told_now, told_before = (f"{share(side.median_at_least())} (n = {len(side)})" for side in (sides.now, sides.before))
    else:
        took = f"takes {length(sides.now)} {DOING[operation]} {place}"
        sentence = f"{match.group.scenario} {took}, before {length(sides.before)}."
        told_now, told_before = spread_words(sides.now, now), spread_words(sides.before, before)
    return Regression(
        kind="availability" if operation is None else "recovery",
        scenario=match.group.scenario,
        kafka=match.group.kafka,
        baseline_kafka=match.baseline_kafka,
        config=match.group.config,
        operation=operation,
        sentence=sentence,
        now=told_now,
        before=told_before,
        p_value=question.p_worse,
        effect=sides.effect,
        ratio=_finite(sides.ratio),
        runs=worst_first(question),
    )


def broken(match: Match) -> Regression:
    """All passed, and now something fails."""
    failed = [run for run in reversed(match.now) if run.verdict == "FAIL"]
    conclusive = [run for run in match.before if run.verdict != "INCONCLUSIVE"]
    why = f" {failed[0].reasons[0]}" if failed[0].reasons else ""
    place = where(match.group, match.baseline_kafka)
    passed = "the only one before passed" if len(conclusive) == 1 else f"all {len(conclusive)} before passed"
    return Regression(
        kind="verdict",
        scenario=match.group.scenario,
        kafka=match.group.kafka,
        baseline_kafka=match.baseline_kafka,
        config=match.group.config,
        operation=None,
        sentence=f"{match.group.scenario} fails {place}: {len(failed)} of {counted(len(match.now), 'run')}, {passed}.{why}",
        now=f"{len(failed)} of {len(match.now)} failed",
        before=f"0 of {len(conclusive)} failed",
        p_value=None,
        effect=None,
        ratio=None,
        runs=[run.key for run in failed],
    )


def changes(matches: Sequence[Match], asked: Sequence[Question], gone: Mapping[str, Run], undecided: int) -> list[str]:
    """Different, and not worse. `gone`: scenarios of the baseline that did not run, with their last run."""
    said = [sentence for match in matches for sentence in _verdicts(match)]
    said += [_faster(question) for question in asked if question.is_better]
    said += [f"{scenario} did not run; its last run is of {run.date}." for scenario, run in sorted(gone.items())]
    if undecided:
        few = f"fewer than {FEWEST} runs now or before"
        said.append(f"Whether recovery takes longer cannot be said of {counted(undecided, 'configuration')}: {few}.")
    return said


def _verdicts(match: Match) -> list[str]:
    group, now, before = match.group, match.now, match.before
    place = f"{group.scenario} {where(group, match.baseline_kafka)}"
    if not before:
        return [f"{group.scenario} on {group.kafka} ({group.config or 'no configuration told'}) is new."]
    said = []
    if match.baseline_kafka != group.kafka:
        said.append(f"{group.scenario} ran on {group.kafka} for the first time: it is compared with {match.baseline_kafka}.")
    if {run.verdict for run in before} == {"FAIL"} and any(run.verdict == "PASS" for run in now):
        passed = sum(run.verdict == "PASS" for run in now)
        said.append(f"{place} passes: {passed} of {counted(len(now), 'run')}; all {len(before)} before failed.")
    doubts, doubts_before = (sum(run.verdict == "INCONCLUSIVE" for run in runs) for runs in (now, before))
    if doubts and (not doubts_before or (doubts > 1 and doubts / len(now) >= 2 * doubts_before / len(before))):
        told = f"{doubts} of {counted(len(now), 'run')}, before {doubts_before} of {len(before)}"
        said.append(f"{place} is inconclusive more often: {told}.")
    return said


def _faster(question: Question) -> str:
    match, sides, operation = question.match, question.worse, question.operation
    place = where(match.group, match.baseline_kafka)
    if operation is None:
        return f"{match.group.scenario} is available {_shares(sides.now, sides.before)} {place}: better."
    took = f"takes {length(sides.now)} {DOING[operation]} {place}"
    return f"{match.group.scenario} {took}, before {length(sides.before)}: better."


def _shares(now: Sample, before: Sample) -> str:
    return f"{share(now.median_at_least())} of the time, before {share(before.median_at_least())},"


def _finite(ratio: float | None) -> float | None:
    """JSON knows no infinity."""
    return None if ratio is None or ratio == float("inf") else ratio
