"""Is the daemon of this container alive? The HEALTHCHECK of kafka-trial's image, whichever daemon runs in it.

Nothing has to be told: which daemon it is, and where it listens, stand on the command line of the container's first
process and in the file that it names. It is run every few seconds, so it loads the standard library alone.
"""

import http.client
import ssl
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

PORTS = {"exporter": 9308, "probe": 9309, "audit": 9311, "lag-monitor": 8000}  # where each listens, if its file is silent
PATIENCE = 4  # seconds, less than Docker's own


def page(words: Sequence[str]) -> str | None:
    """What to ask the daemon that was started by these words; None if they start a command that ends by itself."""
    name = next((word for word in words if word in PORTS), None)
    file = _config(words)
    if name is None or file is None:
        return None
    told = tomllib.loads(file.read_text())
    host, _, port = str(told.get("listen", f"127.0.0.1:{PORTS[name]}")).rpartition(":")
    here = "127.0.0.1" if host in {"0.0.0.0", "[::]", "::", ""} else host
    return f"{'https' if 'tls' in told else 'http'}://{here}:{port}/-/healthy"


def answers(address: str) -> str:
    """Why not; nothing if it does."""
    where = urlsplit(address)
    connection = (
        # It asks itself, over loopback, whether it is alive: whose certificate that is does not matter.
        http.client.HTTPSConnection(where.netloc, timeout=PATIENCE, context=ssl._create_unverified_context())  # noqa: S323
        if where.scheme == "https"
        else http.client.HTTPConnection(where.netloc, timeout=PATIENCE)
    )
    try:
        connection.request("GET", where.path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as trouble:
        return f"{address} does not answer: {trouble or type(trouble).__name__}"
    finally:
        connection.close()
    return "" if status == 200 else f"{address} answers with {status}"


def _config(words: Sequence[str]) -> Path | None:
    """Of `--config FILE` or `--config=FILE`."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--config" and following:
            return Path(following)
        if word.startswith("--config="):
            return Path(word.removeprefix("--config="))
    return None


def main(told: Sequence[str]) -> int:
    address = told[0] if told else page(Path("/proc/1/cmdline").read_text().split("\0"))
    trouble = answers(address) if address else ""
    print(trouble or "well")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
