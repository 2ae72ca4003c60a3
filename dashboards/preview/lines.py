"""Values over time: lines or stacked areas, thresholds, what happened meanwhile, and a legend with figures. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from dashboards.preview.axis import Axis, axis
from dashboards.preview.colours import colour, of_line
from dashboards.preview.drawing import NOTHING, Drawing, Series, bounded, series
from dashboards.preview.fields import shown, threshold_colour
from dashboards.preview.frame import framed, levels, regions
from dashboards.preview.legend import legend
from dashboards.preview.svg import HIGH, WIDE, Point, Scale, area, el, linear, path, plot, title
from dashboards.preview.units import ladder
from dashboards.preview.values import Scene
from dashboards.preview.window import Window

NAMED = 4  # lines, for those who cannot see them
Stacks = list[tuple[list[float | None], list[float | None]]]
OUTSIDE = 25  # as far as a line may leave its plot
FILLED = 2  # so many lines may have a tint below them; more would be mud


def lines(scene: Scene) -> Drawing:
    found, notes = bounded(series(scene))
    if not found:
        return NOTHING
    colours = [_colour(one, place) for place, one in enumerate(found)]
    on_right = _on_right(found, scene.panel.unit)
    stacks = None if any(on_right) else _stacked(found, scene.panel.stacking)  # two scales do not add up
    sides = [[one for one, right in zip(found, on_right, strict=True) if right is side] for side in (False, True)]
    left, right = (_axis(scene, side, stacks) if side else None for side in sides)
    if len({one.field.unit for one in sides[1]}) > 1:
        notes += ("The axis on the right is that of its first line; others there have another unit.",)
    axes = [right if is_right else left for is_right in on_right]
    parts = [
        *levels(left or right),
        *regions(scene),
        *_curves(found, colours, stacks, axes, scene.window),
        *_thresholds(scene, left),
    ]
    words = f"{scene.panel.title}: {', '.join(one.name for one in found[:NAMED])}"
    body = framed(plot(parts, words + (" and others" if len(found) > NAMED else "")), left, right, scene.window)
    if scene.panel.legend:
        body += legend(found, colours, now=scene.now)
    return Drawing(body, readout=_readout(found, colours, scene), notes=notes)


def _on_right(found: Sequence[Series], usual: str) -> list[bool]:
    """Whose axis is on the right: as the dashboard says, or because it is measured in something else than the others."""
    units = [one.field.unit for one in found]
    left = usual if usual in units else units[0]
    sides = [one.field.right or one.field.unit != left for one in found]
    return sides if not all(sides) else [False] * len(sides)


def _colour(one: Series, place: int) -> str:
    if one.field.fixed:
        return one.field.fixed
    by_value = threshold_colour(one.field, one.known[-1]) if one.field.colour_mode == "thresholds" else ""
    return by_value or of_line(place)


def _stacked(found: Sequence[Series], mode: str) -> Stacks | None:
    """Below and above for each line, or nothing where lines stand for themselves."""
    if mode == "none":
        return None
    count = max(len(one.values) for one in found)
    total = [sum(abs(value) for one in found if (value := _at(one, place)) is not None) or 1.0 for place in range(count)]
    floor = [0.0] * count
    made = []
    for one in found:
        below: list[float | None] = []
        above: list[float | None] = []
        for place in range(count):
            value = _at(one, place)
            if value is not None and mode == "percent":
                value = value / total[place] * (1.0 if one.field.unit == "percentunit" else 100.0)
            below.append(None if value is None else floor[place])
            floor[place] += value or 0.0
            above.append(None if value is None else floor[place])
        made.append((below, above))
    return made


def _axis(scene: Scene, side: Sequence[Series], stacks: Stacks | None) -> Axis:
    panel, unit = scene.panel, side[0].field.unit
    values = [value for one in side for value in one.known]
    if stacks is not None:
        values += [value for _, above in stacks for value in above if value is not None]
    if stacks is not None and panel.stacking == "percent" and unit != "percentunit":
        unit, values = "percent", [0.0, 100.0]
    thresholds = [step.value for step in panel.thresholds if step.value is not None] if _style(scene) else []
    of_side = side[0].field
    limits = {"least": of_side.minimum, "most": of_side.maximum}
    return axis(values, unit, **limits, thresholds=thresholds, from_zero=stacks is not None, now=scene.now)


def _curves(
    found: Sequence[Series], colours: Sequence[str], stacks: Stacks | None, axes: Sequence[Axis | None], window: Window
) -> Iterator[Markup]:
    for place, (one, look, own) in enumerate(zip(found, colours, axes, strict=True)):
        if own is None:
            continue
        y = linear(own.low, own.high, HIGH, 0)
        if stacks is not None:
            below, above = (_points(values, window.points, y) for values in stacks[place])
            yield el("path", class_=f"area stack {look}", d=area(above, below))
        else:
            above = _points(one.values, window.points, y)
            if len(found) <= FILLED and own.low <= 0 <= own.high:
                ground: list[Point] = [None if point is None else (point[0], round(y(0.0))) for point in above]
                yield el("path", class_=f"area {look}", d=area(above, ground))
        yield el("path", title(one.name), class_=f"line {look}", d=path(above))


def _points(values: Sequence[float | None], count: int, y: Scale) -> list[Point]:
    x = linear(0, max(1, count - 1), 0, WIDE)
    # What the axis does not reach is drawn just outside of it, and not over the panel above.
    return [
        None if value is None else (round(x(place)), round(min(max(y(value), -OUTSIDE), HIGH + OUTSIDE)))
        for place, value in enumerate(values)
    ]


def _style(scene: Scene) -> bool:
    custom = scene.panel.defaults.get("custom")
    style = custom.get("thresholdsStyle") if isinstance(custom, dict) else None
    return isinstance(style, dict) and style.get("mode", "off") != "off"


def _thresholds(scene: Scene, own: Axis | None) -> Iterator[Markup]:
    if own is None or not _style(scene):
        return
    y = linear(own.low, own.high, HIGH, 0)
    for step in scene.panel.thresholds:
        if step.value is not None and own.low <= step.value <= own.high:
            look = f"threshold {colour(step.color)}".strip()
            at = round(y(step.value))
            yield el("line", title(f"threshold {step.value:g}"), class_=look, x1=0, x2=WIDE, y1=at, y2=at)


def _readout(found: Sequence[Series], colours: Sequence[str], scene: Scene) -> dict[str, Any]:
    """With twice the digits that are shown, or some would be rounded twice."""
    return {
        "series": [
            {
                "name": one.name,
                "colour": look,
                "unit": [[rung.least, rung.divisor, rung.suffix] for rung in ladder(one.field.unit)],
                "words": {f"{value:g}": shown(one.field, value, now=scene.now).text for value in _mapped(one)},
                "values": [None if value is None else float(f"{value:.6g}") for value in one.values],
            }
            for one, look in zip(found, colours, strict=True)
        ]
    }


def _mapped(one: Series) -> set[float]:
    return set(one.known) if one.field.mappings and len(set(one.known)) <= 20 else set()


def _at(one: Series, place: int) -> float | None:
    return one.values[place] if place < len(one.values) else None
