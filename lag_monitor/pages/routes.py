"""Everything the lag monitor answers over HTTP, as a list of routes for a daemon's site."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lag_monitor.answers import BurrowSettings, BurrowState, Verdicts
from lag_monitor.pages import burrow_v3, own_api, status_page
from lag_monitor.pages.addresses import route_class

if TYPE_CHECKING:
    from starlette.routing import Route


def routes(
    verdicts: Verdicts,
    burrow: BurrowState,
    settings: BurrowSettings,
    ready: Callable[[], bool],
    incidents: Callable[[], Sequence[Mapping[str, Any]]],
    delete_token: str,
    cors: str = "",
    *,
    clock: Callable[[], float] = time.time,
) -> "list[Route]":
    """The last one takes every address that no other did, so these have to stand behind all others of the site."""
    compatible = burrow_v3.Handlers(burrow, settings, ready, delete_token, cors)
    return [
        *status_page.page_routes(status_page.Handlers(verdicts, incidents, clock)),
        *own_api.own_routes(own_api.Handlers(verdicts, incidents, cors)),
        *burrow_v3.burrow_routes(compatible),
        route_class()("/{rest:path}", compatible.unknown),
    ]
