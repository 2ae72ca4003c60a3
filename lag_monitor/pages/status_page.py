"""The pages for people, as routes: made afresh from memory for whoever asks, without a line of script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lag_monitor.answers import Verdicts
from lag_monitor.pages.addresses import route_class
from lag_monitor.pages.group_page import one_group_page
from lag_monitor.pages.index_page import Question, index_page
from lag_monitor.pages.rendering import headers

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class Handlers:
    verdicts: Verdicts
    incidents: Callable[[], Sequence[Mapping[str, Any]]]
    clock: Callable[[], float]

    def index(self, request: "Request") -> "Response":
        asked = request.query_params
        question = Question(*(asked.get(name, "").strip() for name in ("q", "status", "cluster", "page", "refresh")))
        return _page(*index_page(self.verdicts, self.incidents(), question, self.clock()))

    def group(self, request: "Request") -> "Response":
        asked, names = request.query_params, request.path_params
        group = names.get("group", asked.get("name", ""))
        page, refresh = asked.get("page", ""), asked.get("refresh", "")
        return _page(
            *one_group_page(
                self.verdicts, self.incidents(), names["cluster"], group, self.clock(), page=page, refresh=refresh
            )
        )


def _page(code: int, text: str) -> "Response":
    from starlette.responses import HTMLResponse

    return HTMLResponse(text, code, headers())


def page_routes(handlers: Handlers) -> "list[Route]":
    route = route_class()
    return [
        route("/", handlers.index),
        route("/clusters/{cluster}/groups/{group}", handlers.group),
        route("/clusters/{cluster}/group", handlers.group),  # ?name=, for names that no path can hold
    ]
