"""From a template to a page that opens from a disk, asks nobody for anything, and lets no text of a run become code.

Each page carries its style and script, so that it can be mailed alone; its policy forbids every other, and every request.
"""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from spark_reports.site import words
from spark_reports.site.standing import LEVELS, SIGNS

TEMPLATES = Path(__file__).parent / "templates"
FILTERS = (
    words.chance, words.cut, words.day, words.effect, words.grouped, words.interval, words.median, words.moment, words.p95,
    words.plural, words.seconds, words.share, words.worst,
)  # fmt: skip


def rendered(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_cleaned
    )
    environment.filters |= {filter_.__name__: filter_ for filter_ in FILTERS} | {"px": _px}
    styles = {"plain": _asset("style.css"), "charts": _asset("style.css") + _asset("charts.css")}
    script = _asset("site.js")
    environment.globals |= {
        "styles": styles,
        "script": script,
        "policies": {name: _policy(style, script) for name, style in styles.items()},
        "SIGNS": SIGNS,
        "LEVELS": LEVELS,
        "WITHOUT": words.WITHOUT,
    }
    return environment


def _cleaned(value: object) -> object:
    return words.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _px(value: float) -> str:
    """A place in a picture; a tenth of a point is more than anybody sees."""
    return f"{value:.1f}".removesuffix(".0")


def _asset(name: str) -> Markup:
    """Without comments and indents: it is part of every page."""
    text = re.sub(r"/\*.*?\*/", "", (TEMPLATES / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    return Markup("\n".join(line.strip() for line in text.splitlines() if line.strip()))  # noqa: S704  (a file of ours)


def _policy(style: str, script: str) -> str:
    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allow = f"style-src {allowed(style)}; script-src {allowed(script)}; img-src data:"  # the empty icon is an image
    return f"default-src 'none'; {allow}; base-uri 'none'; form-action 'none'"
