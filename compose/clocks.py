"""Clocks of nodes that can be set while they run: libfaketime between the JVM and its machine, told by a file.

Only the time of day is moved. What is measured by the monotonic clock (sessions, timeouts, backoffs) goes on as it was, as
it does on a real machine whose clock jumps.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kernel.errors import UsageError

LIBRARY = "libfaketime.so.1"
PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
FILE = "clock"  # in the node's folder


def check_clocks(nodes: Sequence[int], provider: str) -> None:
    """Refused before anything is started, where it cannot be."""
    if not nodes:
        return
    if provider != "processes":
        raise UsageError("clocks that can be set need brokers as processes: use --provider processes.")
    if faketime() is None:
        raise UsageError(f"{LIBRARY} is not on this machine, and a clock that can be set needs it: install libfaketime.")


def faketime(places: Sequence[str] = PLACES) -> Path | None:
    known = [Path(place) / "faketime" / LIBRARY for place in places]
    return next((library for library in known if library.exists()), None)


def clock_environment(home: str) -> Mapping[str, str]:
    """For a JVM whose clock is to go as the file in its folder says."""
    return {
        "LD_PRELOAD": str(faketime()),
        "FAKETIME_TIMESTAMP_FILE": f"{home}/{FILE}",
        "FAKETIME_CACHE_DURATION": "1",  # seconds until it looks into the file again
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        # Else it mends what this libc does right, timed waits of the JVM come back at once, and a broker never starts.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }


def set_clock(home: Path, seconds: int) -> None:
    aside = home / f"{FILE}.new"
    aside.write_text(clock_text(seconds))
    aside.replace(home / FILE)  # at no moment half written


def clock_text(seconds: int) -> str:
    return f"{seconds:+d}s\n"
