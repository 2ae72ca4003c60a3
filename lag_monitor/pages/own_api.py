"""Our own answers for programs: everything the judge knows, with its reasons, under /api.

An error is `{"error": sentence}`, with 404 for what is not known and 400 for what cannot be asked.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel.errors import UsageError
from lag_monitor.answers import ClusterSummary, Verdicts
from lag_monitor.pages import own_payloads as payloads
from lag_monitor.pages.addresses import route_class
from lag_monitor.pages.selection import Wanted, chosen, cut, gravity, statuses, whole

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Incidents = Callable[[], Sequence[Mapping[str, Any]]]
LIMIT, MOST = 100, 10_000
CLUSTER = "/api/clusters/{cluster}"


@dataclass(frozen=True, slots=True)
class Handlers:
    verdicts: Verdicts
    incidents: Incidents
    cors: str = ""

    def clusters(self, _: "Request") -> "Response":
        return self._json({"clusters": [payloads.cluster(one) for one in self.verdicts.clusters()]})

    def cluster(self, request: "Request") -> "Response":
        known = self._cluster(request)
        return self._json(payloads.cluster(known)) if known else self._no_cluster(request)

    def groups(self, request: "Request") -> "Response":
        """`status` (several, with commas), `gravity` (so grave, or graver), `q` (in the name), `limit`, `offset`."""
        if not self._cluster(request):
            return self._no_cluster(request)
        asked, name = request.query_params, request.path_params["cluster"]
        try:
            wanted = Wanted(asked.get("q", ""), statuses(asked.getlist("status")), gravity(asked.get("gravity", "")))
            limit = whole(asked.get("limit", ""), "limit", default=LIMIT, least=1, most=MOST)
            offset = whole(asked.get("offset", ""), "offset", default=0, least=0, most=10**9)
        except UsageError as trouble:
            return self._error(400, str(trouble))
        shown, place = cut(chosen(self.verdicts.groups(name), wanted), offset, limit)
        rows = [payloads.group(one) for one in shown]
        return self._json({"cluster": name, "total": place.total, "offset": offset, "limit": limit, "groups": rows})

    def group(self, request: "Request") -> "Response":
        if not self._cluster(request):
            return self._no_cluster(request)
        cluster, name = (
            request.path_params["cluster"],
            request.path_params.get("group", request.query_params.get("name", "")),
        )
        known = self.verdicts.group(cluster, name)
        if known is None:
            return self._error(
                404, f"cluster {cluster!r} has no group {name!r}: /api/clusters/NAME/groups lists those it has."
            )
        return self._json(payloads.whole_group(known))

    def disagreements(self, request: "Request") -> "Response":
        if not self._cluster(request):
            return self._no_cluster(request)
        name = request.path_params["cluster"]
        rows = [payloads.disagreement(one) for one in self.verdicts.disagreements(name)]
        return self._json({"cluster": name, "disagreements": rows})

    def all_incidents(self, _: "Request") -> "Response":
        return self._json({"incidents": payloads.incidents(self.incidents())})

    def unknown(self, request: "Request") -> "Response":
        return self._error(404, f"there is nothing at {request.scope['path']}: start at /api/clusters.")

    def _cluster(self, request: "Request") -> ClusterSummary | None:
        name = request.path_params["cluster"]
        return next((one for one in self.verdicts.clusters() if one.name == name), None)

    def _no_cluster(self, request: "Request") -> "Response":
        known = ", ".join(one.name for one in self.verdicts.clusters()) or "none"
        return self._error(404, f"no cluster is called {request.path_params['cluster']!r}: there is {known}.")

    def _error(self, code: int, sentence: str) -> "Response":
        return self._json({"error": sentence}, code)

    def _json(self, payload: Mapping[str, Any], code: int = 200) -> "Response":
        from starlette.responses import Response

        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if self.cors:
            headers["Access-Control-Allow-Origin"] = self.cors
        # Plain letters alone, so that not even half a character in a name can break an answer.
        return Response(json.dumps(payload, allow_nan=False), code, headers, media_type="application/json")


def own_routes(handlers: Handlers) -> "list[Route]":
    route = route_class()
    return [
        route("/api/clusters", handlers.clusters),
        route(CLUSTER, handlers.cluster),
        route(CLUSTER + "/groups", handlers.groups),
        route(CLUSTER + "/groups/{group}", handlers.group),
        route(CLUSTER + "/group", handlers.group),  # ?name=, for names that no path can hold
        route(CLUSTER + "/disagreements", handlers.disagreements),
        route("/api/incidents", handlers.all_incidents),
        route("/api", handlers.unknown),
        route("/api/{rest:path}", handlers.unknown),
    ]
