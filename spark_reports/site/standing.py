"""How grave it is: of a run, of a cell, of a whole report. What always failed before is known, not bad."""

from spark_reports.contents import Cell, Report, Verdict

ORDER = ("good", "known", "unsure", "bad")  # the worst is what is shown
SIGNS = {"good": "✓", "known": "✗", "unsure": "?", "bad": "✗"}  # beside every colour, for those who do not see it
LEVELS = {"PASS": "good", "FAIL": "bad", "INCONCLUSIVE": "unsure"}


def level(verdict: Verdict, expected: Verdict | None = None) -> str:
    """A twin must fail, and an old fault of Kafka's is no news this morning."""
    return "known" if verdict == "FAIL" and expected == "FAIL" else LEVELS[verdict]


def level_of(cell: Cell) -> str:
    if cell.failed:
        return "known" if cell.expected == "FAIL" else "bad"
    return "unsure" if cell.inconclusive else "good"


def outcome(report: Report) -> str:
    if report.regressed:
        return "bad"
    surprising = any(level_of(cell) == "bad" for scenario in report.scenarios for cell in scenario.cells)
    return "unsure" if surprising or report.totals.runs == 0 else "good"
