"""From cards to pages that open from a disk and ask nobody for anything; no text of a metric or a file becomes code. Pure.

Each page carries its style and script; its policy forbids every other, and every request.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from dashboards.preview.colours import own
from dashboards.preview.layout import Shelf, shelves, style
from dashboards.preview.panels import Card, Standing, card
from dashboards.preview.units import moment
from dashboards.preview.values import Region, Scene, Told

TEMPLATES = Path(__file__).parent / "templates"
LOOKS = {Standing.EMPTY: "bad", Standing.REFUSED: "bad", Standing.EXPLAINED: "", Standing.NOT_DRAWN: "unsure"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where the figures come from, and who drew them."""

    prometheus: str
    made_by: str


@dataclass(frozen=True, slots=True)
class Page:
    """A dashboard that is drawn, and how it fared."""

    file: str
    title: str
    description: str
    cards: tuple[Card, ...]
    shelves: tuple[Shelf, ...]
    told: Told

    def titles(self, standing: Standing) -> list[str]:
        return [one.title for one in self.cards if one.standing is standing]

    @property
    def counts(self) -> Counter[Standing]:
        return Counter(one.standing for one in self.cards)

    @property
    def regions(self) -> list[Region]:
        """Those that the window shows something of."""
        window = self.told.window
        return [
            one
            for one in self.told.regions
            if one.start_ms / 1000 <= window.end and (one.end_ms or one.start_ms) / 1000 >= window.start
        ]


def page_of(told: Told, file: str) -> Page:
    panels = told.dashboard.panels
    cards = tuple(
        card(Scene(panel, told.asked.get(place, ()), told.window, told.now, told.variables, told.regions))
        for place, panel in enumerate(panels)
    )
    return Page(file, told.dashboard.title, told.dashboard.description, cards, tuple(shelves(panels)), told)


def dashboard_html(page: Page, pages: Sequence[Page], source: Source) -> str:
    body = _template("dashboard.html.j2", page=page, pages=pages, source=source, readouts=_readouts(page), looks=LOOKS)
    return _whole(page.title, body, layout=style(page.shelves))


def index_html(pages: Sequence[Page], source: Source) -> str:
    sums = sum((page.counts for page in pages), Counter[Standing]())
    return _whole("Dashboards", _template("index.html.j2", pages=pages, source=source, sums=sums, looks=LOOKS))


def _readouts(page: Page) -> dict[str, Any]:
    window = page.told.window
    panels: Mapping[str, Any] = {str(place): one.readout for place, one in enumerate(page.cards) if one.readout}
    return {"start": window.start, "end": window.end, "step": window.step, "points": window.points, "panels": panels}


def _whole(title: str, body: str, layout: str = "") -> str:
    css, script = Markup(_asset("style.css") + layout + own(body)), Markup(_asset("preview.js"))  # noqa: S704  (ours)
    return _template("base.html.j2", title=title, body=Markup(body), style=css, script=script, policy=_policy(css, script))  # noqa: S704


def _template(name: str, **values: object) -> str:
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"moment": moment}
    environment.globals |= {"Standing": Standing}
    return environment


@cache
def _asset(name: str) -> str:
    """Without comments and indents: it is part of every page."""
    text = re.sub(r"/\*.*?\*/", "", (TEMPLATES / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _policy(css: str, script: str) -> str:
    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allow = f"style-src {allowed(css)}; script-src {allowed(script)}; img-src data:"  # the empty icon is an image
    return f"default-src 'none'; {allow}; base-uri 'none'; form-action 'none'"
