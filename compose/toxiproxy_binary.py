"""The Toxiproxy server, built from its Go module once. A static binary, so it also runs in an empty container."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from compose.cache import cached, forget, raise_if_full
from compose.toolchain import find_go
from kernel.errors import FetchFailed

VERSION = "2.5.0"
MODULE = "github.com/Shopify/toxiproxy/v2/cmd/server"
ENTRY = f"toxiproxy/{VERSION}"


def toxiproxy_binary(say: Callable[[str], None] = lambda _: None) -> Path:
    return cached(ENTRY, lambda into: _build(into, say), mend="run `kafka-trial fetch --again`") / "toxiproxy-server"


def forget_toxiproxy() -> None:
    forget(ENTRY)


def _build(into: Path, say: Callable[[str], None]) -> None:
    go = find_go()
    say(f"building Toxiproxy {VERSION} with Go")
    settings = os.environ | {"GOBIN": str(into), "CGO_ENABLED": "0"}
    command = [
        go,
        "install",
        "-ldflags",
        f"-s -w -X github.com/Shopify/toxiproxy/v2.Version={VERSION}",
        f"{MODULE}@v{VERSION}",
    ]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise_if_full(into, done.stderr)
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise FetchFailed(f"Toxiproxy {VERSION} could not be built: Go says {last!r}. Check Go and the network.")
    (into / "server").rename(into / "toxiproxy-server")
