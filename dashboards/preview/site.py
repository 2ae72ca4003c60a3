"""All pages of a preview and what they came to: an index, a page for each dashboard, and who is empty. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.preview.page import Page, Source, dashboard_html, index_html, page_of
from dashboards.preview.panels import Standing
from dashboards.preview.values import Told


@dataclass(frozen=True, slots=True)
class Site:
    pages: tuple[Page, ...]
    files: dict[str, str]  # by name

    @property
    def whole(self) -> bool:
        """No panel is empty without saying why, and no query was refused."""
        return not any(page.titles(standing) for page in self.pages for standing in (Standing.EMPTY, Standing.REFUSED))

    def facts(self) -> list[dict[str, Any]]:
        """For programs."""
        return [
            {
                "file": page.file,
                "title": page.title,
                "source": page.told.dashboard.source,
                "panels": len(page.cards),
                **{standing.name.lower(): page.titles(standing) for standing in Standing if standing is not Standing.DRAWN},
            }
            for page in self.pages
        ]


def site(told: Sequence[Told], source: Source) -> Site:
    pages = [page_of(one, file) for one, file in zip(told, file_names(told), strict=True)]
    files = {page.file: dashboard_html(page, pages, source) for page in pages}
    return Site(tuple(pages), files | {"index.html": index_html(pages, source)})


def file_names(told: Sequence[Told]) -> list[str]:
    """Of the uid, or the title; two that are called the same are numbered."""
    names: list[str] = []
    for one in told:
        plain = re.sub(r"[^a-z0-9]+", "-", (one.dashboard.uid or one.dashboard.title).lower()).strip("-")[:60] or "dashboard"
        plain = "dashboard-index" if plain == "index" else plain
        known = sum(
            name == f"{plain}.html" or re.fullmatch(rf"{re.escape(plain)}-\d+\.html", name) is not None for name in names
        )
        names.append(f"{plain}-{known + 1}.html" if known else f"{plain}.html")
    return names
