"""Where panels stand: Grafana's grid of 24 columns, row by row, with nothing over anything else. Pure.

Grafana lets panels fall upwards until they meet another; so do we, and what overlaps in the file is pushed down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.reading import COLUMNS, Grid, Panel

TALLEST = 40  # rows of the grid that a panel is given at most


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a grid whose rows are as high as their contents, and how high it was meant to be."""

    left: int
    right: int
    top: int
    bottom: int
    height: int


@dataclass(frozen=True, slots=True)
class Shelf:
    """The panels under one heading, by their number in the dashboard."""

    title: str
    places: tuple[tuple[int, Place], ...]


def shelves(panels: Sequence[Panel]) -> list[Shelf]:
    """A row of the same name that comes again is another row."""
    found: list[tuple[str, list[int]]] = []
    for number, panel in enumerate(panels):
        if not found or found[-1][0] != panel.row:
            found.append((panel.row, []))
        found[-1][1].append(number)
    return [
        Shelf(title, tuple(zip(numbers, places([panels[one].grid for one in numbers]), strict=True)))
        for title, numbers in found
    ]


def places(grids: Sequence[Grid]) -> list[Place]:
    settled: dict[int, Grid] = {}
    for number in sorted(range(len(grids)), key=lambda one: (grids[one].y, grids[one].x)):
        settled[number] = _settled(_bounded(grids[number]), list(settled.values()))
    edges = sorted({edge for grid in settled.values() for edge in (grid.y, grid.y + grid.h)})
    return [
        Place(grid.x + 1, grid.x + grid.w + 1, edges.index(grid.y) + 1, edges.index(grid.y + grid.h) + 1, grid.h)
        for _, grid in sorted(settled.items())
    ]


def style(shelves: Sequence[Shelf]) -> str:
    """The classes p0, p1, …: numbers alone, so nothing of a dashboard gets into the page's style."""
    return "".join(
        f".p{number}{{--at:{at.top}/{at.left}/{at.bottom}/{at.right};--h:{at.height}}}"
        for shelf in shelves
        for number, at in shelf.places
    )


def _bounded(grid: Grid) -> Grid:
    width = min(grid.w, COLUMNS)
    return Grid(min(grid.x, COLUMNS - width), grid.y, width, min(grid.h, TALLEST))


def _settled(grid: Grid, others: Sequence[Grid]) -> Grid:
    """As high as it gets under those that are there already: they come in the order of the page."""
    below = [other.y + other.h for other in others if other.x < grid.x + grid.w and grid.x < other.x + other.w]
    return Grid(grid.x, max(below, default=0), grid.w, grid.h)
