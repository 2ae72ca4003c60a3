"""A real Zipkin, started for one test: the jar from Maven Central, kept in the cache beside Kafka's."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from compose.cache import cached
from compose.toolchain import find_java, find_maven
from kernel.waiting import wait_until
from tests.cluster.daemons import free_port, status

VERSION = "3.6.1"
HEAP = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
Span = dict[str, Any]


def jar() -> Path:
    """Skipped without a JDK and Maven; failed, where they were promised."""
    if not (shutil.which("mvn") and shutil.which("java")) and not os.environ.get("KAFKA_TRIAL_REQUIRE_JDK"):
        pytest.skip("needs a JDK and Maven for Zipkin (set KAFKA_TRIAL_REQUIRE_JDK to fail instead)")
    folder = cached(f"zipkin/{VERSION}", _fetch, mend=f"remove the folder zipkin/{VERSION} from the cache")
    return next(folder.glob("*.jar"))


def _fetch(into: Path) -> None:
    artifact = f"io.zipkin:zipkin-server:{VERSION}:jar:exec"
    words = [find_maven(), "--quiet", "--batch-mode", "--strict-checksums", "dependency:copy", f"-Dartifact={artifact}"]
    subprocess.run([*words, f"-DoutputDirectory={into}"], check=True, capture_output=True, text=True, cwd=into)


@dataclass
class Zipkin:
    address: str

    @property
    def spans_url(self) -> str:
        return f"{self.address}/api/v2/spans"

    def trace(self, trace_id: str) -> list[Span]:
        """All spans of a trace, as Zipkin's API tells them; none if it does not know the trace."""
        try:
            with urlopen(f"{self.address}/api/v2/trace/{trace_id}", timeout=30) as answer:
                spans: list[Span] = json.load(answer)
                return spans
        except HTTPError as refused:
            assert refused.code == 404
            return []

    def whole(self, trace_id: str, spans: int) -> list[Span]:
        """The trace, once it has so many spans."""
        return wait_until(
            lambda: self.trace(trace_id), lambda seen: len(seen) >= spans, what=f"{spans} spans of {trace_id}", timeout=30
        )

    def everything(self) -> list[Span]:
        with urlopen(f"{self.address}/api/v2/traces?limit=10000&lookback=3600000", timeout=30) as answer:
            return [span for trace in json.load(answer) for span in trace]


@contextmanager
def zipkin(folder: Path) -> Iterator[Zipkin]:
    port, said = free_port(), folder / "zipkin.log"
    where = (f"--server.port={port}", f"--armeria.ports[0].port={port}", "--armeria.ports[0].ip=127.0.0.1")
    words = [find_java().path, *HEAP, "-jar", str(jar()), *where, "--armeria.ports[0].protocols=http"]
    with said.open("wb") as log:
        process = subprocess.Popen([*words, "--logging.level.root=WARN"], stdout=log, stderr=log, cwd=folder)
    running = Zipkin(f"http://127.0.0.1:{port}")
    try:
        page = f"{running.address}/health"
        wait_until(lambda: status(page), lambda seen: seen == 200, what=page, timeout=90, hint=said.read_text)
        yield running
    finally:
        process.kill()
        process.wait()
