"""A server that keeps Grafana's word: its HTTP API of dashboards, folders, search and annotations, as of 10 to 12.

No Grafana can be had where this suite is built. So what its documentation promises is enforced here over real HTTP, and the
same tests run against a real one where GRAFANA_URL says that there is one.
"""

import copy
import itertools
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "glsa_0123456789abcdef_secret"
UID = re.compile(r"[a-zA-Z0-9_-]*")
EVERYTHING = frozenset(
    f"{what}:{may}" for what in ("dashboards", "folders", "annotations") for may in ("read", "write", "create", "delete")
)
Query = Mapping[str, list[str]]


class Answer(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.status, self.body = status, body


def error(status: int, message: str, /, **more: Any) -> Answer:
    return Answer(status, {"message": message, **more})


@dataclass
class Kept:
    """A dashboard and its whole history, the oldest first."""

    number: int
    content: dict[str, Any]
    folder: str
    versions: list[dict[str, Any]] = field(default_factory=list)
    provisioned: bool = False

    @property
    def version(self) -> int:
        return int(self.content["version"])


@dataclass
class Grafana:
    major: int = 11
    token: str = TOKEN
    prefix: str = ""
    permissions: frozenset[str] = EVERYTHING
    healthy: bool = True
    # Asked before and after each request that is let in; what they return or raise stands for the answer.
    before: Callable[[str, str], None] = lambda method, path: None
    after: Callable[[str, str], None] = lambda method, path: None
    boards: dict[str, Kept] = field(default_factory=dict)
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[int, dict[str, Any]] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    connections: list[socket.socket] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # ---- what somebody does in the browser, or has done before -------------------------------------------------

    def edit(self, uid: str, message: str = "", **changes: Any) -> None:
        """Saved by hand."""
        with self.lock:
            kept = self.boards[uid]
            self._store({**kept.content, **changes}, kept.folder, message)

    def add_folder(self, title: str, parent: str = "") -> str:
        with self.lock:
            uid = f"folder-{next(self.numbers)}"
            self.folders[uid] = {"id": next(self.numbers), "uid": uid, "title": title, "parentUid": parent}
            return uid

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.seen if method != "GET"]

    def message(self, uid: str) -> str:
        return str(self.boards[uid].versions[-1]["message"])

    # ---- the API -----------------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, query: Query, body: Any) -> Any:
        for verb, pattern, may, handle in ROUTES:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                if may and may not in self.permissions:
                    raise error(
                        403,
                        f"You'll need additional permissions to perform this action. Permissions needed: {may}",
                        title="Access denied",
                        accessErrorId="ACE0123456789",
                    )
                with self.lock:
                    return handle(self, query, body, *(unquote(part) for part in match.groups()))
        raise error(404, "Not found")

    def health(self, query: Query, body: Any) -> Any:
        told = {"commit": "0", "database": "ok" if self.healthy else "failing", "version": f"{self.major}.1.0"}
        if not self.healthy:
            raise Answer(503, told)
        return told

    def list_folders(self, query: Query, body: Any) -> Any:
        parent = query.get("parentUid", [""])[0]
        return [
            {key: one[key] for key in ("id", "uid", "title")} for one in self.folders.values() if one["parentUid"] == parent
        ]

    def show_folder(self, query: Query, body: Any, uid: str) -> Any:
        if uid not in self.folders:
            raise error(404, "folder not found", status="not-found")
        return {**self.folders[uid], "url": f"/dashboards/f/{uid}", "version": 1}

    def create_folder(self, query: Query, body: Any) -> Any:
        if not isinstance(body, dict) or not body.get("title"):
            raise error(400, "folder title cannot be empty")
        parent = body.get("parentUid") or ""
        if any(one["title"] == body["title"] and one["parentUid"] == parent for one in self.folders.values()):
            raise error(409, "a folder with the same name already exists in the current location")
        return self.show_folder(query, None, self.add_folder(body["title"], parent))

    def delete_folder(self, query: Query, body: Any, uid: str) -> Any:
        gone = self.show_folder(query, None, uid)
        del self.folders[uid]
        self.boards = {key: kept for key, kept in self.boards.items() if kept.folder != uid}  # and all that is in it
        return {"message": f"Folder {gone['title']} deleted", "id": gone["id"]}

    def search(self, query: Query, body: Any) -> Any:
        kind, limit = query.get("type", [""])[0], int(query.get("limit", ["1000"])[0])
        if limit > 5000:
            raise error(422, "Limit is above maximum allowed (5000), use page parameter to access hits beyond limit")
        places = query.get("folderUIDs")
        found = [
            {"id": one["id"], "uid": one["uid"], "title": one["title"], "type": "dash-folder", "folderUid": one["parentUid"]}
            for one in self.folders.values()
            if kind != "dash-db" and (places is None or one["parentUid"] in places)
        ] + [
            {"id": kept.number, "uid": uid, "title": kept.content["title"], "type": "dash-db", "folderUid": kept.folder}
            for uid, kept in self.boards.items()
            if kind != "dash-folder" and (places is None or kept.folder in places)
        ]
        return found[:limit]

    def show_board(self, query: Query, body: Any, uid: str) -> Any:
        kept = self._board(uid)
        title = self.folders[kept.folder]["title"] if kept.folder else "General"
        meta = {"url": self._page(uid), "folderUid": kept.folder, "folderTitle": title, "provisioned": kept.provisioned}
        return {"dashboard": kept.content, "meta": {**meta, "version": kept.version, "slug": uid, "isStarred": False}}

    def show_versions(self, query: Query, body: Any, uid: str) -> Any:
        kept = self._board(uid)
        newest_first = kept.versions[::-1][: int(query.get("limit", ["1000"])[0])]
        return newest_first if self.major < 11 else {"continueToken": "", "versions": newest_first}

    def save_board(self, query: Query, body: Any) -> Any:
        board = self._valid(body)
        uid, folder, overwrite = str(board.get("uid") or ""), str(body.get("folderUid") or ""), body.get("overwrite") is True
        if folder and folder not in self.folders:
            raise error(400, "folder not found")
        there = self.boards.get(uid)
        if board.get("id") and (there is None or there.number != board["id"]):
            raise error(404, "Dashboard not found", status="not-found")
        if there and there.provisioned:
            raise error(400, "Cannot save provisioned dashboard")
        if there and there.content.get("pluginId") and not overwrite:
            plugin = there.content["pluginId"]
            raise error(412, f"The dashboard belongs to plugin {plugin}.", status="plugin-dashboard")
        if there and there.version != board.get("version", 0) and not overwrite:
            raise error(412, "The dashboard has been changed by someone else", status="version-mismatch")
        twins = [
            key for key, kept in self.boards.items() if (kept.folder, kept.content["title"]) == (folder, board["title"])
        ]
        if self.major < 11 and set(twins) - {uid} and not overwrite:
            raise error(412, "A dashboard with the same name in the folder already exists", status="name-exists")
        kept = self._store({**board, "uid": uid or f"made-{next(self.numbers)}"}, folder, str(body.get("message") or ""))
        made = str(kept.content["uid"])
        told = {"id": kept.number, "uid": made, "url": self._page(made), "status": "success", "slug": made}
        return {**told, "version": kept.version, "folderUid": folder}

    def _valid(self, body: Any) -> dict[str, Any]:
        if not isinstance(body, dict) or not isinstance(body.get("dashboard"), dict):
            raise error(400, "bad request data")
        board: dict[str, Any] = body["dashboard"]
        if not str(board.get("title") or "").strip():
            raise error(400, "Dashboard title cannot be empty", status="empty-name")
        if not UID.fullmatch(str(board.get("uid") or "")):
            raise error(400, "uid contains illegal characters")
        if len(str(board.get("uid") or "")) > 40:
            raise error(400, "uid too long, max 40 characters")
        if len(str(body.get("message") or "")) > 500:
            raise error(400, "message too long, max 500 characters")
        return board

    def _store(self, board: dict[str, Any], folder: str, message: str) -> Kept:
        uid = str(board["uid"])
        kept = self.boards.get(uid) or Kept(next(self.numbers), {"version": 0}, folder)
        version = kept.version + 1
        kept.content = {**copy.deepcopy(board), "id": kept.number, "version": version}
        kept.folder = folder
        entry = {"id": next(self.numbers), "dashboardId": kept.number, "uid": uid, "parentVersion": version - 1}
        kept.versions.append({**entry, "version": version, "createdBy": "sa", "restoredFrom": 0, "message": message})
        self.boards[uid] = kept
        return kept

    def delete_board(self, query: Query, body: Any, uid: str) -> Any:
        kept = self._board(uid)
        if kept.provisioned:
            raise error(400, "provisioned dashboard cannot be deleted")
        del self.boards[uid]
        return {"title": kept.content["title"], "message": f"Dashboard {kept.content['title']} deleted", "id": kept.number}

    def _board(self, uid: str) -> Kept:
        if uid not in self.boards:
            raise error(404, "Dashboard not found")
        return self.boards[uid]

    def _page(self, uid: str) -> str:
        return f"{self.prefix}/d/{uid}/{uid}"

    def find_annotations(self, query: Query, body: Any) -> Any:
        tags, limit = set(query.get("tags", [])), int(query.get("limit", ["100"])[0])
        start, end = (int(query.get(name, ["0"])[0]) for name in ("from", "to"))
        found = [
            one
            for one in self.annotations.values()
            if tags <= set(one["tags"]) and not (start and end and (one["time"] > end or one["timeEnd"] < start))
        ]
        return sorted(found, key=lambda one: -int(one["time"]))[:limit]

    def add_annotation(self, query: Query, body: Any) -> Any:
        told = self._annotation(body)
        if not told.get("text"):
            raise error(400, "Failed to save annotation", error="text field should not be empty")
        number = next(self.numbers)
        start = told.get("time") or int(time.time() * 1000)
        self.annotations[number] = {
            "id": number, "alertId": 0, "dashboardUID": "", "panelId": 0, "text": told["text"],
            "tags": told.get("tags") or [], **_ordered(start, told.get("timeEnd") or start),
        }  # fmt: skip
        return {"message": "Annotation added", "id": number}

    def patch_annotation(self, query: Query, body: Any, number: str) -> Any:
        told, there = self._annotation(body), self.annotations.get(int(number))
        if there is None:
            raise error(404, "Could not find annotation to update")
        if told.get("tags") is not None:
            there["tags"] = told["tags"]  # an empty list too
        there["text"] = told.get("text") or there["text"]
        there |= _ordered(told.get("time") or there["time"], told.get("timeEnd") or there["timeEnd"])
        return {"message": "Annotation patched"}

    def _annotation(self, body: Any) -> dict[str, Any]:
        kinds: dict[str, Any] = {"time": int, "timeEnd": int, "tags": list, "text": str, "panelId": int, "dashboardId": int}
        if not isinstance(body, dict) or any(
            body.get(key) is not None and not isinstance(body[key], kind) for key, kind in kinds.items()
        ):
            raise error(400, "bad request data")
        if len(json.dumps(body.get("tags") or [])) > 500:
            raise error(400, "tags length exceeds the maximum allowed")
        return body


def _ordered(start: int, end: int) -> dict[str, int]:
    return {"time": min(start, end), "timeEnd": max(start, end)}


ROUTES: list[tuple[str, str, str, Callable[..., Any]]] = [
    ("GET", "/api/folders", "folders:read", Grafana.list_folders),
    ("GET", "/api/folders/([^/]+)", "folders:read", Grafana.show_folder),
    ("POST", "/api/folders", "folders:create", Grafana.create_folder),
    ("DELETE", "/api/folders/([^/]+)", "folders:delete", Grafana.delete_folder),
    ("GET", "/api/search", "", Grafana.search),
    ("GET", "/api/dashboards/uid/([^/]+)", "dashboards:read", Grafana.show_board),
    ("GET", "/api/dashboards/uid/([^/]+)/versions", "dashboards:write", Grafana.show_versions),
    ("POST", "/api/dashboards/db", "dashboards:write", Grafana.save_board),
    ("DELETE", "/api/dashboards/uid/([^/]+)", "dashboards:delete", Grafana.delete_board),
    ("GET", "/api/annotations", "annotations:read", Grafana.find_annotations),
    ("POST", "/api/annotations", "annotations:create", Grafana.add_annotation),
    ("PATCH", "/api/annotations/([0-9]+)", "annotations:write", Grafana.patch_annotation),
]


class Dropped(Exception):
    """Raised by `before` or `after`: the connection ends without an answer."""


def _handler(grafana: Grafana) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            grafana.connections.append(self.connection)

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                status, told = self._told(raw)
            except Dropped:
                self.close_connection = True
                return
            data = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(told, bytes) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _told(self, raw: bytes) -> tuple[int, Any]:
            url = urlsplit(self.path)
            path = url.path.removeprefix(grafana.prefix)
            if not url.path.startswith(f"{grafana.prefix}/api/"):
                return 404, b"<html>the message is: nothing is here</html>"
            grafana.seen.append((self.command, path))
            try:
                if path == "/api/health":  # for everybody
                    return 200, grafana.health({}, None)
                self._let_in()
                grafana.before(self.command, path)
                body = self._body(raw)
                told = grafana.answer(self.command, path, parse_qs(url.query), body)
                grafana.after(self.command, path)
                return 200, told
            except Answer as answer:
                return answer.status, answer.body

        def _let_in(self) -> None:
            given = self.headers.get("Authorization", "")
            if not given:
                raise error(401, "Unauthorized")
            if given != f"Bearer {grafana.token}":
                raise error(401, "Invalid API key", messageId="api-key.invalid", statusCode=401)

        def _body(self, raw: bytes) -> Any:
            try:
                return json.loads(raw) if raw else None
            except ValueError:
                raise error(400, "bad request data") from None

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815

    return Handler


@contextmanager
def serving(grafana: Grafana | None = None, *, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Grafana]:
    """On a port of its own. When the block ends, nobody answers there any more."""
    grafana = grafana or Grafana()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(grafana))
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    grafana.url = f"{'https' if tls else 'http'}://localhost:{server.server_address[1]}{grafana.prefix}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield grafana
    finally:
        server.shutdown()
        server.server_close()
        for connection in grafana.connections:  # those that are kept open would go on being answered
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join(10)
