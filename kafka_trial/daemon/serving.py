"""The HTTP side of a daemon: metrics and two probes; on loopback unless told otherwise, with TLS and a login if wanted."""

import base64
import gc
import hmac
import logging
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka_trial.daemon.config_file import user_and_password
from kernel.errors import UsageError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from kafka_trial.daemon.tables import Daemon, ServerTls

Metrics = Callable[[str], tuple[str, bytes]]  # what the asker accepts → content type, text
SWITCH = 0.0002  # seconds: so soon does a thread that works let one that answers have its turn (Python's default: 0.005)
GARBAGE = (10_000, 50, 1_000)  # looked for so rarely that nobody who asks is kept waiting for all of memory to be searched
OURS = 128 + 15  # how an end by SIGTERM arrives here


@dataclass(frozen=True, slots=True)
class Site:
    listening: socket.socket
    metrics: Metrics
    ready: Callable[[], bool]
    tls: ssl.SSLContext | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    routes: "Sequence[BaseRoute]" = ()  # what it answers besides, behind the same login


def site(config: "Daemon", metrics: Metrics, ready: Callable[[], bool], *, routes: "Sequence[BaseRoute]" = ()) -> Site:
    """Everything that may be wrong with it is found here, before anything runs. `metrics` and `ready` are asked later."""
    tls, username, password = entrance(config)
    return Site(bound(config.listen), metrics, ready, tls, username, password, routes)


def entrance(config: "Daemon") -> tuple[ssl.SSLContext | None, str, str]:
    """The certificate and the login that whoever asks has to do with, read."""
    username, password = user_and_password(config.login)
    return (_tls(config.tls) if config.tls else None), username, password


def serve(site: Site, say: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C, both of which end it well."""
    import uvicorn

    sys.setswitchinterval(SWITCH)
    gc.set_threshold(*GARBAGE)
    config = uvicorn.Config(
        application(site),
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=3,
        server_header=False,
    )
    config.load()
    config.ssl = site.tls
    host, port = site.listening.getsockname()[:2]
    words = f"listening on {'https' if site.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            say(words)  # not before: only now does a signal end it well

    try:
        Server(config).run(sockets=[site.listening])
    except KeyboardInterrupt:
        pass
    except SystemExit as ended:
        if ended.code != OURS:
            raise
    finally:
        site.listening.close()


def bound(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, int(port)), family=family)
    except (OSError, OverflowError) as trouble:
        why = (getattr(trouble, "strerror", None) or str(trouble)).partition(" (while ")[0]
        raise UsageError(f"listen = {listen!r} cannot be had: {why}.") from None
    # asyncio does this only for sockets it made itself; without it an answer in two parts waits 40 ms for the second.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def application(site: Site) -> "Starlette":
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    async def metrics(request: "Request") -> "Response":
        kind, text = site.metrics(request.headers.get("accept", ""))
        return Response(text, media_type=kind)

    async def healthy(_: "Request") -> "Response":
        return PlainTextResponse("healthy\n")

    async def ready(_: "Request") -> "Response":
        return PlainTextResponse("ready\n") if site.ready() else PlainTextResponse("not ready\n", status_code=503)

    return Starlette(
        routes=[
            Route("/metrics", _guarded(metrics, site)),
            Route("/-/healthy", healthy),
            Route("/-/ready", ready),
            *_behind_the_login(site),
        ]
    )


def _guarded(page: "Callable[[Request], Awaitable[Response]]", site: Site) -> "Callable[[Request], Awaitable[Response]]":
    if not site.username:
        return page

    async def asked(request: "Request") -> "Response":
        return await page(request) if _known(request, site) else _refusal()

    return asked


def _behind_the_login(site: Site) -> "Sequence[BaseRoute]":
    """As they are, or all of them in one place that nobody enters without the password."""
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.routing import Mount

    if not (site.username and site.routes):
        return site.routes

    class Login:
        def __init__(self, app: "ASGIApp") -> None:
            self.app = app

        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
            let_in = scope["type"] == "http" and _known(Request(scope), site)
            await (self.app if let_in else _refusal())(scope, receive, send)

    return [Mount("", routes=site.routes, middleware=[Middleware(Login)])]


def _known(request: "Request", site: Site) -> bool:
    wanted = "Basic " + base64.b64encode(f"{site.username}:{site.password}".encode()).decode()
    return hmac.compare_digest(request.headers.get("authorization", "").encode(), wanted.encode())


def _refusal() -> "Response":
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("a user name and password are needed\n", 401, {"WWW-Authenticate": 'Basic realm="kafka-trial"'})


def _tls(files: "ServerTls") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.cert_file, files.key_file, password=lambda: "")  # never ask a terminal
    except (OSError, ssl.SSLError) as trouble:
        why = getattr(trouble, "reason", None) or trouble.strerror or "not a certificate and its key"
        raise UsageError(f"cert_file {files.cert_file} with key_file {files.key_file} cannot be used: {why}.") from None
    return context


def log_to_stderr() -> None:
    """A daemon's log: one line for each thing that happened, on stderr."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
