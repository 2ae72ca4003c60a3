"""A scenario's page: what it promises, how it fared by version and configuration, its nights, and its worst run."""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_reports.contents import Cell, Run, Scenario, Trend
from spark_reports.site.addresses import Links
from spark_reports.site.charts.distribution import DistributionChart, distribution
from spark_reports.site.charts.timeline import NAMES, TimelineChart, fault_words, note, timeline_chart
from spark_reports.site.charts.trend import TrendChart, told, trend_chart
from spark_reports.site.heat import by_age
from spark_reports.site.rendering import rendered
from spark_reports.site.shelves import Shelves
from spark_reports.site.standing import SIGNS, level, level_of
from spark_reports.site.words import nights

DESK, HALF, TELEPHONE = 1054, 508, 338  # widths of drawings: the whole page, half of it, a telephone's
SHOWN = 25  # runs at once; the older ones are folded away
MOST_RUNS, MOST_TRENDS, MOST_CELLS, MOST_MARKS = 200, 24, 40, 12


@dataclass(frozen=True, slots=True)
class Drawn:
    trend: Trend
    worse: bool
    words: str
    charts: list[TrendChart]


def scenario_page(scenario: Scenario, shelves: Shelves, links: Links) -> str:
    report = shelves.report
    runs = shelves.by_scenario.get(scenario.name, [])
    versions = by_age({cell.kafka for cell in scenario.cells} | {trend.kafka for trend in scenario.trends})
    cells = sorted(scenario.cells, key=lambda cell: (versions.index(cell.kafka), cell.config))
    trends = sorted(
        scenario.trends,
        key=lambda trend: (
            not _worse(trend, scenario, shelves),
            trend.operation != "send",
            versions.index(trend.kafka),
            trend.config,
        ),
    )
    return rendered(
        "scenario.html.j2",
        report=report,
        scenario=scenario,
        links=links,
        current=nights(report.current.first, report.current.last),
        regressions=[one for one in report.regressions if one.scenario == scenario.name],
        cells=[(cell, level_of(cell), SIGNS[level_of(cell)]) for cell in cells],
        costs=[one for one in report.costs if one.scenario == scenario.name],
        trends=_trends(trends[:MOST_TRENDS], scenario, shelves),
        trends_left_out=max(0, len(trends) - MOST_TRENDS),
        distributions=_distributions(cells[:MOST_CELLS], runs, links),
        cells_left_out=max(0, len(cells) - MOST_CELLS),
        worst=_worst(scenario, shelves),
        runs=[(run, level(run.verdict, shelves.expected(run))) for run in runs[:MOST_RUNS]],
        shown=SHOWN,
        runs_left_out=max(0, len(runs) - MOST_RUNS),
    )


def _worse(trend: Trend, scenario: Scenario, shelves: Shelves) -> bool:
    found = shelves.worse.get((scenario.name, trend.kafka, trend.config), [])
    return any(one.kind == "recovery" and one.operation in (trend.operation, None) for one in found)


def _trends(trends: Sequence[Trend], scenario: Scenario, shelves: Shelves) -> list[Drawn]:
    """Drawn twice, for a desk and for a telephone: one picture shrunk to a third could not be read."""
    first = shelves.report.current.first
    wide = DESK if len(trends) == 1 else HALF
    drawn = []
    for trend in trends:
        worse = _worse(trend, scenario, shelves)
        charts = [trend_chart(trend, first, worse=worse, width=width) for width in (wide, TELEPHONE)]
        drawn.append(Drawn(trend, worse, told(trend), [chart for chart in charts if chart]))
    return drawn


def _distributions(cells: Sequence[Cell], runs: Sequence[Run], links: Links) -> list[DistributionChart]:
    drawn = [distribution(cells, runs, links.run, width) for width in (DESK, TELEPHONE)]
    return [chart for chart in drawn if chart]


@dataclass(frozen=True, slots=True)
class Worst:
    run: Run | None
    key: str
    charts: list[TimelineChart]
    note: str
    faults: list[tuple[str, str]]
    marks: list[tuple[float, str, str]]
    marks_left_out: int


def _worst(scenario: Scenario, shelves: Shelves) -> Worst | None:
    timeline = scenario.worst
    if timeline is None:
        return None
    marks = sorted(timeline.marks, key=lambda mark: mark.at_s)
    return Worst(
        shelves.runs.get(timeline.run),
        timeline.run,
        [timeline_chart(timeline, width) for width in (DESK, TELEPHONE)],
        note(timeline),
        [(fault.sentence, fault_words(fault)) for fault in timeline.faults],
        [(mark.at_s, NAMES[mark.kind], mark.sentence) for mark in marks[:MOST_MARKS]],
        max(0, len(marks) - MOST_MARKS),
    )
