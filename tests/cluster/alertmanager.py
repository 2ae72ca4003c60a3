"""Debian's Alertmanager, started for one test, and an HTTP server of ours that keeps what it is sent: by us, or by it.

Without Alertmanager, what needs it is skipped; or fails, if it was promised.
"""

import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from kernel.waiting import wait_until
from tests.cluster.daemons import free_port, status

Answer = tuple[int, dict[str, str]]


def needed() -> str:
    found = shutil.which("prometheus-alertmanager")
    if found is None and not os.environ.get("KAFKA_TRIAL_REQUIRE_ALERTMANAGER"):
        pytest.skip("needs Debian's package prometheus-alertmanager (set KAFKA_TRIAL_REQUIRE_ALERTMANAGER to fail instead)")
    assert found, (
        "there is no prometheus-alertmanager on the PATH, and KAFKA_TRIAL_REQUIRE_ALERTMANAGER is set: apt-get install it"
    )
    return found


@dataclass
class Inbox:
    """`answers`: to the next requests, in turn; afterwards 200. Whatever is answered by 200 was taken."""

    port: int
    scheme: str = "http"
    answers: list[int | Answer] = field(default_factory=list)
    taken: list[Any] = field(default_factory=list)  # bodies, read as JSON
    headers: list[dict[str, str]] = field(default_factory=list)
    asked: int = 0
    door: threading.Event = field(default_factory=threading.Event)  # closed, nobody is answered

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook/SECRET"

    def gets(self, count: int) -> list[Any]:
        return wait_until(lambda: list(self.taken), lambda seen: len(seen) >= count, what=f"{count} requests", timeout=30)

    def is_asked(self, times: int) -> None:
        wait_until(lambda: self.asked, lambda seen: seen >= times, what=f"{times} requests begun", timeout=30)


@contextmanager
def inbox(*answers: int | Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Inbox]:
    box = Inbox(port, "https" if tls else "http", list(answers))
    box.door.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            box.asked += 1
            box.door.wait(30)
            told = box.answers.pop(0) if box.answers else 200
            code, headers = told if isinstance(told, tuple) else (told, {})
            if code == 200:
                box.headers.append(dict(self.headers))
                box.taken.append(json.loads(body))
            self.send_response(code)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:  # whoever is killed while it asks hears no answer
            pass

    server = Server(("127.0.0.1", port), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    box.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield box
    finally:
        box.door.set()
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Running:
    address: str

    def alerts(self) -> list[dict[str, Any]]:
        """Those that are firing."""
        with urlopen(f"{self.address}/api/v2/alerts", timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found


@contextmanager
def alertmanager(folder: Path, forward_to: str) -> Iterator[Running]:
    """Which forwards what fires and what is resolved, each within a second."""
    program, port = needed(), free_port()
    config = {
        "route": {
            "receiver": "us",
            "group_by": ["..."],
            "group_wait": "0s",
            "group_interval": "1s",
            "repeat_interval": "1h",
        },
        "receivers": [{"name": "us", "webhook_configs": [{"url": forward_to, "send_resolved": True}]}],
    }
    file, said = folder / f"alertmanager-{port}.yml", folder / f"alertmanager-{port}.log"
    file.write_text(json.dumps(config))  # which is YAML too
    words = [program, f"--config.file={file}", f"--storage.path={folder / f'alertmanager-{port}'}"]
    words += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with said.open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        page = f"http://127.0.0.1:{port}/-/ready"
        wait_until(lambda: status(page), lambda seen: seen == 200, what=page, timeout=60, hint=said.read_text)
        yield Running(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()
