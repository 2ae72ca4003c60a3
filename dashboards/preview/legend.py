"""What each line is called, with its last, least and greatest value; the first ones at once, the rest to unfold. Pure."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from dashboards.preview.drawing import Series
from dashboards.preview.fields import shown
from dashboards.preview.svg import el, joined

AT_ONCE = 7


def legend(found: Sequence[Series], colours: Sequence[str], *, now: float) -> Markup:
    rows = [_row(one, look, now) for one, look in zip(found, colours, strict=True)]
    head = joined([el("th", ""), *(el("th", word, scope="col", class_="n") for word in ("last", "min", "max"))])
    first = el("table", el("thead", el("tr", head)) + el("tbody", joined(rows[:AT_ONCE])), class_="legend")
    rest = rows[AT_ONCE:]
    if rest:
        more = el("table", el("tbody", joined(rest)), class_="legend")
        first += el("details", el("summary", f"{len(rest)} more") + more)
    return el("div", first, class_="scroll")  # sideways, should somebody's unit be as long as a sentence


def key(look: str) -> Markup:
    """A short piece of the line."""
    return el("svg", el("path", class_=f"line {look}", d="M1 5H15"), class_="key", width=16, height=10, aria_hidden="true")


def _row(one: Series, look: str, now: float) -> Markup:
    known = one.known
    last = one.values[-1]
    figures = [shown(one.field, value, now=now).text for value in (last, min(known), max(known))]
    cells = joined(el("td", escape(text), class_="n") for text in figures)
    return el("tr", el("td", el("div", key(look) + el("span", escape(one.name), title=one.name))) + cells)
