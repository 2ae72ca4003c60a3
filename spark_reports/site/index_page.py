"""The first page: what is worse, in one sentence; then what it rests on, in the order in which somebody would ask."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from spark_reports.contents import Cell, Report, Run
from spark_reports.site.addresses import Links
from spark_reports.site.charts.strips import Strip, recovery_axis, strip
from spark_reports.site.heat import heat
from spark_reports.site.rendering import rendered
from spark_reports.site.scales import Axis
from spark_reports.site.shelves import Shelves
from spark_reports.site.standing import level, outcome
from spark_reports.site.words import grouped, nights, plural, share

T = TypeVar("T")
SHOWN = 15  # rows of what went wrong; the others are folded away
MOST = 100  # rows of a table; the rest is counted, and stands in report.json
STRIP_WIDTH, STRIP_MIDDLE = 300, 14


@dataclass(frozen=True, slots=True)
class Recovery:
    cell: Cell
    first: bool  # of its scenario
    strip: Strip


def index_page(shelves: Shelves, links: Links) -> str:
    report = shelves.report
    failing = sorted((run for run in report.runs if run.current and run.verdict != "PASS"), key=_gravest(shelves))
    rows, axis, left_out = _recoveries(shelves, links)
    return rendered(
        "index.html.j2",
        report=report,
        links=links,
        outcome=outcome(report),
        tiles=_tiles(report),
        jumps=_jumps(report, failing),
        current=nights(report.current.first, report.current.last),
        before=nights(report.baseline.first, report.baseline.last) if report.baseline else "",
        heat=heat(report.scenarios),
        failing=_parted(
            [(run, level(run.verdict, shelves.expected(run))) for run in failing], lambda one: one[1] == "known"
        ),
        anomalies=_parted(report.anomalies, lambda one: one.permitted or _known(shelves.runs.get(one.run), shelves)),
        width=STRIP_WIDTH,
        recoveries=rows,
        axis=axis,
        recoveries_left_out=left_out,
        most=MOST,
        shown=SHOWN,
        silent=_silent(report),
    )


def _gravest(shelves: Shelves) -> Callable[[Run], tuple[int, str, float, str]]:
    order = {"bad": 0, "unsure": 1, "known": 2}
    return lambda run: (order[level(run.verdict, shelves.expected(run))], run.scenario, -run.started.timestamp(), run.key)


def _known(run: Run | None, shelves: Shelves) -> bool:
    return run is not None and level(run.verdict, shelves.expected(run)) == "known"


def _parted(all_of_them: Iterable[T], known: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """What is news this morning, and what is folded away because it is not."""
    news: list[T] = []
    old: list[T] = []
    for one in all_of_them:
        (old if known(one) else news).append(one)
    return news, old


def _tiles(report: Report) -> list[tuple[str, str, str, str]]:
    """Figure, what it is, a word more, its level."""
    totals = report.totals
    passed = share(totals.passed / totals.runs) if totals.runs else ""
    return [
        (grouped(totals.runs), "runs", plural((report.current.last - report.current.first).days + 1, "night"), ""),
        (grouped(totals.passed), "passed", passed, "good" if totals.passed else ""),
        (grouped(totals.failed), "failed", "", "bad" if totals.failed else ""),
        (grouped(totals.inconclusive), "inconclusive", "", "unsure" if totals.inconclusive else ""),
        (
            grouped(totals.unreadable),
            "unreadable",
            "in no figure" if totals.unreadable else "",
            "unsure" if totals.unreadable else "",
        ),
        (grouped(totals.acknowledged), "acknowledged", "records", ""),
    ]


def _jumps(report: Report, failing: Sequence[Run]) -> list[tuple[str, str, str]]:
    """What there is to look at, with links to it; what there is none of is not named."""
    known = [
        ("regressions", len(report.regressions), "regression", "bad"),
        ("changes", len(report.changes), "change", ""),
        ("failing", len(failing), "run that did not pass|runs that did not pass", ""),
        ("flaky", len(report.flaky), "flaky seed", "unsure"),
        ("anomalies", len(report.anomalies), "anomaly|anomalies", ""),
        ("unreadable", len(report.unreadable), "unreadable folder", "unsure"),
        ("clashes", len(report.clashes), "clash|clashes", "unsure"),
    ]
    return [(name, plural(count, *noun.split("|")), look) for name, count, noun, look in known if count]


def _recoveries(shelves: Shelves, links: Links) -> tuple[list[Recovery], Axis, int]:
    cells = [cell for scenario in shelves.report.scenarios for cell in scenario.cells if cell.recovery and cell.recovery.n]
    shown = cells[:MOST]
    runs = [run for cell in shown for run in _of(shelves, cell)]
    axis = recovery_axis(runs, [cell.recovery for cell in shown], 22, STRIP_WIDTH - 22, about=6)
    rows = [
        Recovery(
            cell,
            number == 0 or shown[number - 1].scenario != cell.scenario,
            strip(_of(shelves, cell), cell.recovery, axis, links.run, STRIP_MIDDLE, half=9.0, baseline=shelves.band(cell)),
        )
        for number, cell in enumerate(shown)
    ]
    return rows, axis, len(cells) - len(shown)


def _of(shelves: Shelves, cell: Cell) -> list[Run]:
    return shelves.current_by_cell.get((cell.scenario, cell.kafka, cell.config), [])


def _silent(report: Report) -> list[str]:
    """What is not on the page, and why: silence would look like success."""
    sentences = [
        (not report.flaky, "No seed ended in different verdicts."),
        (not report.anomalies, "No anomaly was found."),
        (not any(one.kind == "lag" for one in report.delays), "No run was watched by a lag monitor."),
        (not any(one.kind == "alert" for one in report.delays), "No run was watched by alerts."),
        (not report.audits, "No run was audited."),
    ]
    return [sentence for silent, sentence in sentences if silent]
