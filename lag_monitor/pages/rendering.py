"""From values to a page: escaped, with one style of its own, no script, and a policy that allows nothing else.

Nothing is fetched from anywhere, so it also works where there is no network beyond the monitor.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from lag_monitor.pages import words

TEMPLATES = Path(__file__).parent / "templates"
REFRESH = 10  # seconds


def rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(style=_style(), seconds=REFRESH, **values)


@cache
def headers() -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


@cache
def _style() -> Markup:
    return Markup((TEMPLATES / "lag.css").read_text(encoding="utf-8"))  # noqa: S704  (a file of ours)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters.update(
        grouped=words.grouped, duration=words.duration, absolute=words.absolute, word=words.word, plural=words.plural
    )
    return environment


def _shown(value: object) -> object:
    return value if hasattr(value, "__html__") or not isinstance(value, str) else words.clean(value)
