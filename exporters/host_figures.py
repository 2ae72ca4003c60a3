"""How full the disks of a node's log directories are: the one thing every operator asks for and no bean tells.

The directories are known from what the node itself told; they are looked at where they are, on this host or in the node's
container. What cannot be looked at is left out, and told in the log once.
"""

import logging
import os
from collections.abc import Callable, Iterable, Sequence

from exporters.object_names import parse
from exporters.readings import Reading
from exporters.translate import Family
from kernel.metric_tables import METRICS

log = logging.getLogger(__name__)
FREE, TOTAL = (
    next(metric for metric in METRICS if metric.name == f"kafka_log_dir_{which}_bytes") for which in ("free", "total")
)
Space = dict[str, tuple[int, int]]  # directory → bytes free, bytes in all


def log_directories(readings: Iterable[Reading]) -> list[str]:
    names = (parse(reading.bean) for reading in readings if "name=LogDirectoryOffline" in reading.bean)
    return sorted({directory for name in names if (directory := name.get("logDirectory"))})


class HostFigures:
    """Called with what a node told; `look` knows where its disks are."""

    def __init__(self, look: Callable[[Sequence[str]], Space]) -> None:
        self._look, self._told = look, ""

    def __call__(self, readings: Sequence[Reading]) -> list[Family]:
        directories = log_directories(readings)
        if not directories:
            return []
        try:
            space = self._look(directories)
        except Exception as trouble:  # of the host or of Docker: the node itself is well
            self._tell(f"the disks of {', '.join(directories)} cannot be looked at: {trouble}")
            return []
        self._tell("")
        return [
            Family(FREE, [("", (("dir", directory),), float(free)) for directory, (free, _) in space.items()]),
            Family(TOTAL, [("", (("dir", directory),), float(total)) for directory, (_, total) in space.items()]),
        ]

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self._told:
            log.warning("%s", trouble)
        self._told = trouble


def on_this_host(directories: Sequence[str]) -> Space:
    space = {}
    for directory in directories:
        told = os.statvfs(directory)
        space[directory] = (told.f_bavail * told.f_frsize, told.f_blocks * told.f_frsize)
    return space


def in_container(container: str, timeout: float = 10) -> Callable[[Sequence[str]], Space]:
    """`df` in the container. Docker itself does not tell."""

    def look(directories: Sequence[str]) -> Space:
        import docker

        client = docker.from_env(timeout=int(timeout) or 1)
        try:
            code, output = client.containers.get(container).exec_run(["df", "-P", "-k", *directories])
        finally:
            client.close()
        if code:
            raise OSError(output.decode(errors="replace").strip())
        return from_df(output.decode(), directories)

    return look


def from_df(text: str, directories: Sequence[str]) -> Space:
    """One line for each directory, in the order they were asked for, after a heading."""
    lines = [line.split() for line in text.splitlines()[1:]]
    return {
        directory: (int(words[3]) * 1024, int(words[1]) * 1024) for directory, words in zip(directories, lines, strict=True)
    }
