"""Recovery now above recovery before, for each version and configuration of a scenario, on one axis."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spark_reports.contents import Cell, Run
from spark_reports.site.charts.strips import Strip, recovery_axis, strip
from spark_reports.site.scales import Axis
from spark_reports.site.words import median, plural

HEAD, ROW, GAP, FOOT = 20, 36, 12, 22  # heights: the group's name, a strip, air between groups, the axis


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    y: float  # its middle
    strip: Strip
    before: bool


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    note: str
    y: float
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class DistributionChart:
    width: int
    height: float
    axis: Axis
    groups: list[Group]
    words: str

    @property
    def floor(self) -> float:
        return self.height - FOOT


def distribution(
    cells: Sequence[Cell], runs: Sequence[Run], href: Callable[[str], str | None], width: int
) -> DistributionChart | None:
    """None where no run of any cell has a measured recovery: an empty picture says nothing."""
    measured = [run for run in runs if run.recovery_s is not None]
    if not measured:
        return None
    narrow = width < 600
    axis = recovery_axis(measured, [cell.recovery for cell in cells], 50, width - 18, about=4 if narrow else 9)
    groups, top = [], 4.0
    for cell in cells:
        group = _group(cell, measured, axis, href, top, width)
        if group is not None:
            groups.append(group)
            top += HEAD + ROW * len(group.rows) + GAP
    if not groups:
        return None
    words = " ".join(f"{group.name}: {row.name}, {row.strip.words}" for group in groups for row in group.rows)
    return DistributionChart(width, top - GAP + 4 + FOOT, axis, groups, words)


def _group(
    cell: Cell, runs: Sequence[Run], axis: Axis, href: Callable[[str], str | None], top: float, width: int
) -> Group | None:
    same = [run for run in runs if (run.kafka, run.config) == (cell.kafka, cell.config)]
    rows: list[Row] = []
    for name, current in (("now", True), ("before", False)):
        chosen = [run for run in same if run.current is current]
        if chosen:
            middle = top + HEAD + ROW * (len(rows) + 0.5)
            drawn = strip(chosen, cell.recovery if current else None, axis, href, middle, half=12.0)
            rows.append(Row(name, middle, drawn, not current))
    if not rows:
        return None
    now = sum(run.current for run in same)
    note = f"median {median(cell.recovery)}, {plural(now, 'run')}" if now else "no run now"
    room = (width - 60 - len(note) * 6.3) / 6.6
    return Group(fitted(f"{cell.kafka} · {cell.config}", room), note, top + 13, rows)


def fitted(text: str, letters: float) -> str:
    most = max(int(letters), 8)
    return text if len(text) <= most else f"{text[: most - 1]}…"
