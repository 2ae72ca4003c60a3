"""Single numbers: one tile for each, coloured by its words or thresholds, with its course behind it if asked. Pure."""

from markupsafe import Markup, escape

from dashboards.preview.drawing import MOST_LINES, NOTHING, Drawing, Series, single
from dashboards.preview.fields import Field, Shown, shown, threshold_colour
from dashboards.preview.svg import HIGH, Point, area, el, joined, linear, path, plot
from dashboards.preview.svg import WIDE as BREADTH
from dashboards.preview.values import Scene


def numbers(scene: Scene) -> Drawing:
    found = list(single(scene))
    if not found:
        return NOTHING
    mode = scene.panel.options.get("textMode", "auto")
    named = mode in ("value_and_name", "name") or (mode == "auto" and len(found) > 1)
    how = str(scene.panel.options.get("colorMode", "value"))
    course = scene.panel.options.get("graphMode") == "area"
    tiles = [_tile(one, value, how, named=named, course=course, now=scene.now) for one, value in found[:MOST_LINES]]
    notes = (f"{len(found) - MOST_LINES} more are not shown.",) if len(found) > MOST_LINES else ()
    return Drawing(el("div", joined(tiles), class_=f"numbers n{min(len(tiles), 4)}"), notes=notes)


def _tile(one: Series, value: float, how: str, *, named: bool, course: bool, now: float) -> Markup:
    words = shown(one.field, value, now=now)
    tint = words.colour or _by_threshold(one.field, words, value)
    look = "" if how == "none" or not tint else f"{'ground' if how.startswith('background') else 'coloured'} {tint}"
    drawn = _course(one, tint) if course and len(one.known) > 1 else Markup("")
    parts = [drawn, el("b", escape(words.text)), el("small", escape(one.name)) if named and one.name else Markup("")]
    return el("div", joined(parts), class_=f"tile {look}".strip(), title=one.name)


def _by_threshold(field: Field, words: Shown, value: float) -> str:
    """Numbers take the colours of their thresholds unless another way was chosen; a word's own colour goes first."""
    return threshold_colour(field, value) if field.colour_mode in ("", "thresholds") and not words.mapped else ""


def _course(one: Series, tint: str) -> Markup:
    low, high = min(one.known), max(one.known)
    x, y = linear(0, len(one.values) - 1, 0, BREADTH), linear(low, high, HIGH, 0)
    points: list[Point] = [None if value is None else (round(x(at)), round(y(value))) for at, value in enumerate(one.values)]
    ground: list[Point] = [None if point is None else (point[0], HIGH) for point in points]
    look = tint or "s0"
    parts = [el("path", class_=f"area {look}", d=area(points, ground)), el("path", class_=f"line {look}", d=path(points))]
    return plot(parts, f"course of {one.name}", class_="course")
