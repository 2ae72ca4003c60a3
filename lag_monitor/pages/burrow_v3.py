"""Burrow's HTTP API, version 3, route by route, so that whatever asks a Burrow can ask us.

Burrow answers /status and /lag from a cache that may be `expire-cache` seconds old. We answer fresh, and a group that was
just deleted or just came back is told as it is. Names may hold any character, encoded; Burrow's may not hold a slash.
"""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lag_monitor.answers import BurrowSettings, BurrowState
from lag_monitor.pages import burrow_config, log_level
from lag_monitor.pages import burrow_payloads as payloads
from lag_monitor.pages.addresses import route_class
from lag_monitor.pages.burrow_payloads import Payload
from lag_monitor.pages.deleting import refused
from lag_monitor.pages.go_json import written

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

UNKNOWN_URL = '{"error":true,"message":"invalid request type","result":{}}\n'
LONGEST_BODY = 65_536
CLUSTER = "/v3/kafka/{cluster}"
GROUP = CLUSTER + "/consumer/{group}"


@dataclass(frozen=True, slots=True)
class Handlers:
    """Thin: asks the state, has the answer put into Burrow's fields, and sends it."""

    state: BurrowState
    settings: BurrowSettings
    ready: Callable[[], bool]
    delete_token: str = field(repr=False)
    cors: str = ""
    host: str = field(default_factory=socket.gethostname)

    def clusters(self, request: "Request") -> "Response":
        return self._answer(request, "cluster list returned", content={"clusters": list(self.state.clusters())})

    def cluster(self, request: "Request") -> "Response":
        return self._module(request, "cluster", request.path_params["cluster"])

    def topics(self, request: "Request") -> "Response":
        return self._list(request, "topic list returned", "topics", self.state.topics(request.path_params["cluster"]))

    def consumers(self, request: "Request") -> "Response":
        known = self.state.consumers(request.path_params["cluster"])
        return self._list(request, "consumer list returned", "consumers", known)

    def consumers_of(self, request: "Request") -> "Response":
        known = self.state.consumers_of(request.path_params["cluster"], request.path_params["topic"])
        return self._list(request, "consumers of topic returned", "consumers", known)

    def heads(self, request: "Request") -> "Response":
        known = self.state.heads(request.path_params["cluster"], request.path_params["topic"])
        return self._list(request, "topic offsets returned", "offsets", known, missing="cluster or topic not found")

    def consumer(self, request: "Request") -> "Response":
        known = self.state.consumer(request.path_params["cluster"], request.path_params["group"])
        if known is None:
            return self._refusal(request, 404, "cluster or consumer not found")
        return self._answer(request, "consumer detail returned", content={"topics": payloads.consumer(known)})

    def status(self, request: "Request") -> "Response":
        return self._status(request, every_partition=False)

    def lag(self, request: "Request") -> "Response":
        return self._status(request, every_partition=True)

    def delete(self, request: "Request") -> "Response":
        trouble = refused(request.headers, self.delete_token)
        if trouble:
            return self._refusal(request, *trouble)
        names = request.path_params
        self.state.delete(names["cluster"], names["group"], names.get("topic"))
        return self._answer(request, "consumer group removed")

    def config(self, request: "Request") -> "Response":
        asked = payloads.request(request.scope["path"], self.host)
        told = burrow_config.main(self.settings, cors=self.cors, level=log_level.current())
        return self._json({"error": False, "message": "main config returned", "request": asked, **told})

    def modules(self, request: "Request") -> "Response":
        kind = request.path_params["kind"]
        if kind not in burrow_config.KINDS:
            return self.unknown(request)
        asked = payloads.request(request.scope["path"], self.host)
        names = burrow_config.modules(kind, self.settings, self.state)
        told = {"error": False, "message": "module list returned", "request": asked, "coordinator": kind, "modules": names}
        return self._json(told)

    def module(self, request: "Request") -> "Response":
        if request.path_params["kind"] not in burrow_config.KINDS:
            return self.unknown(request)
        return self._module(request, request.path_params["kind"], request.path_params["name"])

    def level(self, request: "Request") -> "Response":
        return self._answer(request, "log level returned", content={"level": log_level.current()})

    async def set_level(self, request: "Request") -> "Response":
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                break
        try:
            level = log_level.asked(body[:LONGEST_BODY])
        except (ValueError, RecursionError):
            return self._refusal(request, 400, "could not decode message body")
        if level is None:
            return self._refusal(request, 404, "unknown log level")
        log_level.change(level)
        return self._answer(request, "set log level")

    def admin(self, _: "Request") -> "Response":
        return self._text("GOOD")

    def admin_ready(self, _: "Request") -> "Response":
        return self._text("READY") if self.ready() else self._text("STARTING", 503)

    def unknown(self, request: "Request") -> "Response":
        from starlette.responses import PlainTextResponse, RedirectResponse

        path = request.scope["path"]
        if path.strip("/") and path.endswith("/"):  # as Burrow's router does; one slash in front, so that it stays here
            raw = request.scope["raw_path"].decode("latin-1")
            return RedirectResponse("/" + raw.strip("/"), 301 if request.method in ("GET", "HEAD") else 307)
        return PlainTextResponse(UNKNOWN_URL, 404, {"X-Content-Type-Options": "nosniff"})

    def _status(self, request: "Request", *, every_partition: bool) -> "Response":
        cluster, group = request.path_params["cluster"], request.path_params["group"]
        known = self.state.status(cluster, group)
        told = payloads.status(cluster, known or payloads.not_found(group), every_partition=every_partition)
        code = 404 if told["status"] == "NOTFOUND" else 200  # and yet no error: that is how Burrow tells it
        return self._answer(request, "consumer status returned", code, content={"status": told})

    def _module(self, request: "Request", kind: str, name: str) -> "Response":
        known = burrow_config.module(kind, name, self.settings, self.state)
        if known is None:
            return self._refusal(request, 404, f"{kind} module not found")
        return self._answer(request, f"{kind} module detail returned", content={"module": known})

    def _list(
        self,
        request: "Request",
        message: str,
        name: str,
        known: Sequence[object] | None,
        *,
        missing: str = "cluster not found",
    ) -> "Response":
        if known is None:
            return self._refusal(request, 404, missing)
        return self._answer(request, message, content={name: list(known)})

    def _answer(
        self, request: "Request", message: str, code: int = 200, *, content: Mapping[str, object] | None = None
    ) -> "Response":
        return self._json(payloads.answer(message, content or {}, payloads.request(request.scope["path"], self.host)), code)

    def _refusal(self, request: "Request", code: int, message: str) -> "Response":
        response = self._json(payloads.refusal(message, payloads.request(request.scope["path"], self.host)), code)
        if code == 401:
            response.headers["WWW-Authenticate"] = 'Bearer realm="kafka-trial"'
        return response

    def _json(self, payload: Payload, code: int = 200) -> "Response":
        from starlette.responses import Response

        return Response(written(payload), code, self._headers(), media_type="application/json")

    def _text(self, text: str, code: int = 200) -> "Response":
        from starlette.responses import PlainTextResponse

        return PlainTextResponse(text, code, self._headers())

    def _headers(self) -> dict[str, str]:
        return {"Access-Control-Allow-Origin": self.cors} if self.cors else {}


def burrow_routes(handlers: Handlers) -> "list[Route]":
    route = route_class()
    return [
        route("/burrow/admin", handlers.admin),
        route("/burrow/admin/ready", handlers.admin_ready),
        route("/v3/kafka", handlers.clusters),
        route(CLUSTER, handlers.cluster),
        route(CLUSTER + "/topic", handlers.topics),
        route(CLUSTER + "/topic/{topic}", handlers.heads),
        route(CLUSTER + "/topic/{topic}/consumers", handlers.consumers_of),
        route(CLUSTER + "/consumer", handlers.consumers),
        route(GROUP, handlers.consumer),
        route(GROUP + "/status", handlers.status),
        route(GROUP + "/lag", handlers.lag),
        route(GROUP, handlers.delete, methods=["DELETE"]),
        route(GROUP + "/topic/{topic}", handlers.delete, methods=["DELETE"]),
        route("/v3/config", handlers.config),
        route("/v3/config/{kind}", handlers.modules),
        route("/v3/config/{kind}/{name}", handlers.module),
        route("/v3/admin/loglevel", handlers.level),
        route("/v3/admin/loglevel", handlers.set_level, methods=["POST"]),
    ]
