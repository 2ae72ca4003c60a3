"""One run, one folder: `runs/<date>/<scenario>/<run_id>/`, and the way to its parts.

Whoever opens a folder that is not a run, is damaged or comes from a newer version gets one sentence that names the
file, the field and the value.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.errors import UsageError

WITH_ID = ("fault", "bite", "heal")  # so that each bite is known for its fault's
FORMAT = 1  # raised when an older kafka-trial could no longer read what this one writes


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @staticmethod
    def create(runs: Path, *, day: str, scenario: str, run_id: str) -> "RunFolder":
        path = runs / day / scenario / run_id
        path.mkdir(parents=True, exist_ok=False)
        for part in ("ledger", "logs"):
            (path / part).mkdir()
        return RunFolder(path)

    @property
    def ledger(self) -> Path:
        return self.path / "ledger"

    @property
    def events_file(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def manifest(self) -> dict[str, Any]:
        manifest = self._json("manifest.json")
        written = manifest.get("format", FORMAT)
        if not isinstance(written, int) or written > FORMAT:
            raise UsageError(
                f"{self.path / 'manifest.json'}: format {written!r} is newer than {FORMAT}, the newest this version reads: "
                "use the kafka-trial that wrote it."
            )
        return manifest

    def verdict(self) -> dict[str, Any]:
        return self._json("verdict.json")

    def events(self) -> list[dict[str, Any]]:
        """In order of time. A last line that a crash cut off is left out; any other that is no event is refused."""
        try:
            text = self.events_file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            raise UsageError(f"{self.events_file} is missing: a run folder has one, if only an empty one.")
        except OSError as error:
            raise UsageError(f"{self.events_file} cannot be read: {error}.")
        lines = text.split("\n")
        if not _is_json(lines[-1]):
            lines.pop()  # without a newline and without an end: torn. Written by hand, it is whole and counts.
        events = [self._event(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        return sorted(events, key=lambda event: int(event["t_ns"]))

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        self._write("manifest.json", {"format": FORMAT, **manifest})

    def write_verdict(self, verdict: dict[str, Any]) -> None:
        self._write("verdict.json", verdict)

    def _event(self, number: int, line: str) -> dict[str, Any]:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise UsageError(f"{self.events_file} line {number} is not a JSON object: {line[:80]!r}.")
        for field, kind in (("t_ns", int), ("event", str)):
            if not isinstance(event.get(field), kind) or isinstance(event[field], bool):
                raise UsageError(f"{self.events_file} line {number}: {field} is {event.get(field)!r}, not {kind.__name__}.")
        if event["event"] in WITH_ID and not isinstance(event.get("id"), str | int):
            raise UsageError(f"{self.events_file} line {number}: id is {event.get('id')!r}; a {event['event']} has one.")
        return event

    def _json(self, name: str) -> dict[str, Any]:
        file = self.path / name
        try:
            content = json.loads(file.read_text())
        except FileNotFoundError:
            raise UsageError(f"{file} is missing: {self.path} is not a run folder, or its run ended before it was written.")
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}.")
        if not isinstance(content, dict):
            raise UsageError(f"{file} holds {type(content).__name__}, not an object.")
        return content

    def _write(self, name: str, content: dict[str, Any]) -> None:
        """Whole or not at all: a reader never sees half a file."""
        draft = self.path / f".{name}.new"
        draft.write_text(json.dumps(content, indent=1, default=str) + "\n")
        draft.rename(self.path / name)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
