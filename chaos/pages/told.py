"""What the runs of a folder say, for pages: manifest, verdict and events of each, newest first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from kernel.errors import UsageError


@dataclass(frozen=True, slots=True)
class Told:
    """One run."""

    manifest: Mapping[str, Any]
    verdict: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    path: Path | None = None

    @property
    def scenario(self) -> str:
        return str(self.manifest["scenario"])

    @property
    def options(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in (self.manifest.get("options") or {}).items()}

    @property
    def started(self) -> str:
        return str(self.manifest.get("started", ""))

    @property
    def day(self) -> str:
        return self.started[:10]

    @property
    def kafka(self) -> str:
        return str(self.manifest.get("kafka", "unknown"))

    def plain(self, words: str) -> str:
        """On a shared cluster topics bear the id of their run, which tells the reader of a page nothing."""
        run_id = self.manifest.get("run_id")
        return words.replace(f"-{run_id}", "") if run_id else words


def told(runs: Path) -> list[Told]:
    """Every run that can be read, newest first. One that is damaged or has no verdict yet says nothing."""
    if not runs.is_dir():
        raise UsageError(f"{runs} is no folder of runs: give --runs the folder that runs were written to.")
    return sorted(_all(runs), key=lambda run: run.started, reverse=True)


def _all(runs: Path) -> Iterator[Told]:
    for file in runs.glob("*/*/*/verdict.json"):
        folder = RunFolder(file.parent)
        try:
            yield Told(folder.manifest(), folder.verdict(), tuple(folder.events()), folder.path)
        except UsageError:
            continue
