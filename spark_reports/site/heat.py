"""The heat map: how each scenario fared on each Kafka version, in a colour, a sign and words that all say the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spark_reports.contents import Cell, Scenario
from spark_reports.site.standing import ORDER, SIGNS, level_of


@dataclass(frozen=True, slots=True)
class Square:
    level: str
    depth: int  # 1..3: how much of it did not pass
    sign: str
    share: str
    words: str


@dataclass(frozen=True, slots=True)
class Heat:
    versions: list[str]
    rows: list[tuple[str, list[Square | None]]]


def heat(scenarios: Sequence[Scenario]) -> Heat:
    versions = by_age({cell.kafka for scenario in scenarios for cell in scenario.cells})
    rows = []
    for scenario in scenarios:
        groups: dict[str, list[Cell]] = {}
        for cell in scenario.cells:
            groups.setdefault(cell.kafka, []).append(cell)
        rows.append((scenario.name, [square(groups.get(version, [])) for version in versions]))
    return Heat(versions, rows)


def square(cells: Sequence[Cell]) -> Square | None:
    runs, passed = sum(cell.runs for cell in cells), sum(cell.passed for cell in cells)
    if not runs:
        return None
    level = max((level_of(cell) for cell in cells), key=ORDER.index)
    missed = 1 - passed / runs
    depth = 1 if missed <= 0.25 else 2 if missed <= 0.6 else 3
    return Square(level, depth, SIGNS[level], f"{int(100 * passed / runs)}\u202f%", _words(cells, runs, passed))


def _words(cells: Sequence[Cell], runs: int, passed: int) -> str:
    surprising = sum(cell.failed for cell in cells if cell.expected != "FAIL")
    known = sum(cell.failed for cell in cells if cell.expected == "FAIL")
    unsure = sum(cell.inconclusive for cell in cells)
    counted = [(surprising, "failed"), (known, "failed as before"), (unsure, "inconclusive")]
    parts = [(number, what) for number, what in counted if number]
    if not parts:
        return f"{passed} of {runs} passed"
    if len(parts) == 1:
        return f"{parts[0][0]} of {runs} {parts[0][1]}"
    return f"{', '.join(f'{number} {what}' for number, what in parts)} of {runs}"


def by_age(versions: set[str]) -> list[str]:
    """Newest first: 4.10.0 is newer than 4.9.1."""
    return sorted(
        versions, key=lambda version: ([int(part) for part in re.findall(r"\d+", version)[:6]], version), reverse=True
    )
