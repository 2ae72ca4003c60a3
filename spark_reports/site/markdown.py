"""The report in at most sixty lines of Markdown, for a chat or a step summary: what is worse, what failed and where."""

import re

from spark_reports.contents import Flaky, Regression, Report, Run, Scenario
from spark_reports.site.shelves import Shelves
from spark_reports.site.standing import level, outcome
from spark_reports.site.words import chance, clean, cut, grouped, nights, plural, seconds

SPECIAL = re.compile(r"[\\`*_\[\]|~$<>&@:]")
LEADING = re.compile(r"^([-+]|#+|\d+[.)])(?=\s|$)")  # what would begin a list or a heading
MARKS = {"bad": "❌", "unsure": "❔", "good": "✅"}
HEAD = ("scenario", "✅ passed", "❌ failed", "❔ inconclusive", "median recovery", "before")
MOST_REGRESSIONS, MOST_FAILING, MOST_FLAKY, MOST_SCENARIOS = 8, 8, 4, 18


def markdown(report: Report) -> str:
    shelves = Shelves(report)
    mark = MARKS[outcome(report)]
    lines = [f"### {mark} {escaped(report.headline, 300)}", "", _totals(report)]
    lines += _part("Worse than before", [_regression(one) for one in report.regressions], MOST_REGRESSIONS)
    lines += _part("Did not pass", _failing(shelves), MOST_FAILING)
    lines += _part("Flaky: one seed, different verdicts", [_flaky(one) for one in report.flaky], MOST_FLAKY)
    lines += _table(report)
    lines += _left_out(report)
    return "\n".join(lines) + "\n"


def _totals(report: Report) -> str:
    totals = report.totals
    parts = [plural(totals.runs, "run"), f"{grouped(totals.passed)} passed", f"{grouped(totals.failed)} failed"]
    parts += [f"{grouped(totals.inconclusive)} inconclusive"] if totals.inconclusive else []
    parts += [f"{grouped(totals.acknowledged)} records acknowledged"]
    when = nights(report.current.first, report.current.last)
    return f"{when}: {', '.join(parts)}. Baseline: {escaped(report.baseline_words.rstrip('.'), 300)}."


def _part(heading: str, items: list[str], most: int) -> list[str]:
    if not items:
        return []
    more = [f"- and {len(items) - most} more"] if len(items) > most else []
    return ["", f"**{heading}**", "", *(f"- {item}" for item in items[:most]), *more]


def _regression(one: Regression) -> str:
    return f"{escaped(one.sentence)} Now {escaped(one.now, 80)}, before {escaped(one.before, 80)}" + (
        f" ({chance(one.p_value)})" if one.p_value is not None else ""
    )


def _failing(shelves: Shelves) -> list[str]:
    """What was not known to fail, first; each with the folder to look into."""
    runs = [run for run in shelves.report.runs if run.current and run.verdict != "PASS"]
    told = sorted(runs, key=lambda run: (_known(run, shelves), run.verdict != "FAIL", run.scenario, run.key))
    return [_run(run, shelves) for run in told]


def _known(run: Run, shelves: Shelves) -> bool:
    return level(run.verdict, shelves.expected(run)) == "known"


def _run(run: Run, shelves: Shelves) -> str:
    known = ", as before" if _known(run, shelves) else ""
    why = f": {escaped(run.reasons[0], 160)}" if run.reasons else ""
    return f"{run.verdict}{known} **{escaped(run.scenario, 80)}** on {escaped(run.kafka, 40)}{why} {code(run.folder)}"


def _flaky(one: Flaky) -> str:
    verdicts = ", ".join(f"{count} {name}" for name, count in one.verdicts.items())
    return f"**{escaped(one.scenario, 80)}** on {escaped(one.kafka, 40)}, seed {one.seed}: {escaped(verdicts, 80)}"


def _table(report: Report) -> list[str]:
    if not report.scenarios:
        return []
    rest = max(0, len(report.scenarios) - MOST_SCENARIOS)
    ordered = sorted(report.scenarios, key=_passed) if rest else report.scenarios
    rows = [_row(scenario) for scenario in ordered[:MOST_SCENARIOS]]
    more = ["", f"and {plural(rest, 'scenario')} more"] if rest else []
    return ["", *(f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * len(HEAD), *rows)), *more]


def _passed(scenario: Scenario) -> bool:
    return all(cell.passed == cell.runs for cell in scenario.cells)


def _row(scenario: Scenario) -> tuple[str, ...]:
    passed, failed, unsure = (
        sum(getattr(cell, name) for cell in scenario.cells) for name in ("passed", "failed", "inconclusive")
    )
    sends = [trend for trend in scenario.trends if trend.operation == "send" and trend.spread.n]
    slowest = max(sends, key=lambda trend: (trend.spread.median_s is None, trend.spread.median_s or 0.0), default=None)
    now = "–" if slowest is None else "never ended" if slowest.spread.median_s is None else seconds(slowest.spread.median_s)
    before = seconds(slowest.baseline.median_s) if slowest and slowest.baseline else "–"
    where = f" ({escaped(slowest.kafka, 20)})" if slowest and len(sends) > 1 else ""
    return (escaped(scenario.name, 80), grouped(passed), grouped(failed), grouped(unsure), now + where, before)


def _left_out(report: Report) -> list[str]:
    """Said openly: what could not be read is in no figure above."""
    parts = [f"{plural(len(report.unreadable), 'folder')} could not be read"] if report.unreadable else []
    parts += [f"{plural(len(report.clashes), 'run')} lay in two folders"] if report.clashes else []
    first = f", first {code(report.unreadable[0].folder)}" if report.unreadable else ""
    return ["", f"Not counted: {' and '.join(parts)}{first}."] if parts else []


def escaped(text: str, most: int = 240) -> str:
    """Plain text on one line: no new column, no link, no tag, no formula, and nobody is called by their name."""
    line = " ".join(cut(clean(text), most).split())
    return LEADING.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", SPECIAL.sub(_plain, line))


def _plain(found: re.Match[str]) -> str:
    if found[0] == ":":  # only an address has two slashes behind it
        return ":\u200b" if found.string.startswith("//", found.end()) else ":"
    return f"&#{ord(found[0])};" if found[0] in "<>&@$" else f"\\{found[0]}"


def code(text: str) -> str:
    """A path to copy. As a tag: no backtick and no column mark in it can end that."""
    line = " ".join(cut(clean(text), 300).split())
    return f"<code>{SPECIAL.sub(lambda found: f'&#{ord(found[0])};', line)}</code>"
