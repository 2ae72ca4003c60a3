"""A JVM with jmxquery in it, kept running: a question in, an answer out, and an end to it if none comes in time.

jmxquery itself starts a JVM for every call, which costs most of a second of processor time. Its own classes do the work
here too; only the loop around them is ours, and it is compiled when it is first needed.
"""

import contextlib
import functools
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from kernel.errors import MissingTool

SOURCE = Path(__file__).parent / "java" / "KeptRunning.java"
# The quick compiler, one thread for each chore, a small heap: it asks, and holds nothing.
LEAN = ("-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:+UseSerialGC", "-Xms16m", "-Xmx128m", "-XX:-UsePerfData")


class NoAnswer(Exception):
    """It ended, or its time did."""


class Jvm:
    def __init__(self, told: Sequence[str]) -> None:
        """`told`: what it is told before the first question, a line each."""
        self._process = subprocess.Popen(
            [_tool("java"), *LEAN, "-cp", os.pathsep.join((_jar(), _compiled())), SOURCE.stem],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in a terminal does not look like a broker's failure
        )
        self._in, self._out = _pipe(self._process.stdin), _pipe(self._process.stdout)
        self._buffer = b""
        self._say("".join(f"{line}\n" for line in told))

    def ask(self, timeout: float) -> str:
        """One line. `NoAnswer` if there is none by then: it is of no use any more and should be killed."""
        deadline = time.monotonic() + timeout
        self._say("\n")
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._out.fileno(), 1 << 20) if ready else b""
            if not part:
                raise NoAnswer
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def kill(self) -> None:
        """From any thread: one that waits for an answer sees that there will be none."""
        self._process.kill()  # it holds nothing but a connection

    def close(self) -> None:
        """When nobody waits for an answer."""
        self.kill()
        self._process.wait()
        self._out.close()
        with contextlib.suppress(OSError):  # what it was not told any more
            self._in.close()

    def _say(self, text: str) -> None:
        try:
            self._in.write(text.encode())
            self._in.flush()
        except OSError:
            raise NoAnswer from None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise NoAnswer
    return pipe


def _jar() -> str:
    from jmxquery import JAR_PATH

    return str(JAR_PATH)


_one_at_a_time = threading.Lock()


def _compiled() -> str:
    with _one_at_a_time:
        return _compile().name


@functools.cache
def _compile() -> "tempfile.TemporaryDirectory[str]":
    """Into a folder that goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="kafka-trial-jmx-")
    done = subprocess.run(
        [_tool("javac"), "-proc:none", "-cp", _jar(), "-d", folder.name, str(SOURCE)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        folder.cleanup()
        raise MissingTool(f"javac could not compile {SOURCE.name}: {done.stderr.strip().splitlines()[:1]}.")
    return folder


def _tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    if found := shutil.which(name, path=f"{home}/bin") if home else shutil.which(name):
        return found
    where = f"in JAVA_HOME ({home})" if home else "on the PATH"
    raise MissingTool(
        f"{name} is not {where}: jmxquery needs a JDK, 11 or newer (Debian: apt-get install openjdk-17-jdk-headless)."
    )
