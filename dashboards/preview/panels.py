"""One panel as a card: drawn by its kind, or the reason why there is nothing to see, which is counted. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from markupsafe import Markup, escape

from dashboards.preview.bars import bars
from dashboards.preview.drawing import Drawing
from dashboards.preview.lines import lines
from dashboards.preview.numbers import numbers
from dashboards.preview.states import states
from dashboards.preview.svg import el
from dashboards.preview.tables import table
from dashboards.preview.values import Scene
from dashboards.variables import filled

KINDS: dict[str, Callable[[Scene], Drawing]] = {
    "timeseries": lines,
    "graph": lines,
    "stat": numbers,
    "singlestat": numbers,
    "table": table,
    "table-old": table,
    "state-timeline": states,
    "status-history": states,
    "gauge": bars,
    "bargauge": bars,
    "piechart": bars,
    "grafana-piechart-panel": bars,
}


class Standing(StrEnum):
    DRAWN = "drawn"
    EXPLAINED = "empty, and says why"
    EMPTY = "empty"
    REFUSED = "refused"
    NOT_DRAWN = "not drawn here"


@dataclass(frozen=True, slots=True)
class Card:
    title: str
    kind: str
    standing: Standing
    body: Markup
    description: str = ""
    queries: tuple[str, ...] = ()  # as they were asked
    troubles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readout: Mapping[str, Any] | None = None


def card(scene: Scene) -> Card:
    panel = scene.panel
    queries = tuple(one.question.expression for one in scene.asked) or tuple(
        target.expression for target in panel.targets if target.expression and not target.hidden
    )
    troubles = tuple(dict.fromkeys(one.answer.trouble for one in scene.asked if one.answer.trouble))
    drawing, standing = _drawn(scene, troubles)
    again = (f"Drawn once, for all values of ${panel.repeat}.",) if panel.repeat else ()
    return Card(
        title=filled(panel.title, scene.variables),
        kind=panel.type,
        standing=standing,
        body=drawing.body,
        description=panel.description.strip(),
        queries=queries,
        troubles=troubles,
        notes=drawing.notes + again,
        readout=drawing.readout,
    )


def _drawn(scene: Scene, troubles: tuple[str, ...]) -> tuple[Drawing, Standing]:
    panel = scene.panel
    if panel.type == "text":
        return Drawing(
            el("div", escape(filled(_text(panel.options, panel.raw), scene.variables)), class_="text")
        ), Standing.DRAWN
    draw = KINDS.get(panel.type)
    if panel.skipped or draw is None or not panel.queries:
        why = panel.skipped or (f"it is a {panel.type}" if draw is None else "it has no query")
        return Drawing(_sign("cannot be drawn here", f"{why}."), empty=True), Standing.NOT_DRAWN
    drawing = draw(scene)
    if not drawing.empty:
        return drawing, Standing.REFUSED if troubles else Standing.DRAWN
    if troubles:
        return Drawing(Markup("")), Standing.REFUSED
    if panel.no_value:
        return Drawing(_sign(panel.no_value, "", look="explained")), Standing.EXPLAINED
    asked = el("code", escape("\n".join(one.question.expression for one in scene.asked)))
    return Drawing(_sign("no data", asked, look="bad")), Standing.EMPTY


def _sign(words: str, more: str | Markup, look: str = "") -> Markup:
    inside = el("strong", escape(words)) + (el("p", escape(more)) if more else Markup(""))
    return el("div", inside, class_=f"sign {look}".strip())


def _text(options: Mapping[str, Any], raw: Mapping[str, Any]) -> str:
    return str(options.get("content") or raw.get("content") or "")
