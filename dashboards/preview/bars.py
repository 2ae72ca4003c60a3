"""Gauges, bar gauges and pies of other people's dashboards, all as bars: lengths are easier to compare than angles. Pure."""

from markupsafe import Markup, escape

from dashboards.preview.colours import of_line
from dashboards.preview.drawing import MOST_LINES, NOTHING, Drawing, single
from dashboards.preview.fields import Field, shown, threshold_colour
from dashboards.preview.svg import el, joined, percent
from dashboards.preview.values import Scene

FULL = {"percent": 100.0, "percentunit": 1.0}


def bars(scene: Scene) -> Drawing:
    found = list(single(scene))[:MOST_LINES]
    if not found:
        return NOTHING
    shares = scene.panel.type in ("piechart", "grafana-piechart-panel")
    total = sum(abs(value) for _, value in found) or 1.0
    greatest = max(value for _, value in found)
    rows = []
    for place, (one, value) in enumerate(found):
        words = shown(one.field, value, now=scene.now)
        tint = words.colour or ("" if shares else threshold_colour(one.field, value)) or of_line(place)
        share = abs(value) / total if shares else _share(one.field, value, greatest)
        text = f"{words.text} ({100 * share:.1f}%)" if shares else words.text
        rows.append(_row(one.name, text, min(max(share, 0.0), 1.0), tint))
    return Drawing(el("div", joined(rows), class_="bars"))


def _share(field: Field, value: float, greatest: float) -> float:
    """How much of the bar is full: from its least to its most, or, where neither was said, to the longest."""
    low = field.minimum or 0.0
    high = field.maximum if field.maximum is not None else FULL.get(field.unit, max(greatest, low))
    return (value - low) / (high - low) if high != low else 0.0


def _row(name: str, text: str, share: float, tint: str) -> Markup:
    bar = el("rect", class_="trough", width="100%", height="100%", rx=3)
    bar += el("rect", class_=f"bar {tint}", width=percent(share), height="100%", rx=3)
    picture = el("svg", bar, class_="beam", role="img", aria_label=f"{name}: {text}")
    return el("div", el("span", escape(name), title=name) + picture + el("b", escape(text)), class_="bar-row")
