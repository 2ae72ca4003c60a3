"""What a check says of a query, and the report of all of them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """A check fills in the first three; where it was found is added by whoever called it."""

    check: str
    sentence: str
    hint: str = ""
    board: str = ""
    panel: str = ""
    ref: str = ""

    def as_json(self) -> dict[str, str]:
        return {
            "check": self.check,
            "board": self.board,
            "panel": self.panel,
            "ref": self.ref,
            "sentence": self.sentence,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Report:
    board: str
    source: str
    panels: int = 0
    queries: int = 0
    findings: tuple[Finding, ...] = ()
    quiet: tuple[Finding, ...] = ()  # empty, and the panel tells its reader so
    skipped: tuple[Finding, ...] = ()  # could not be judged

    def as_json(self) -> dict[str, Any]:
        return {
            "board": self.board,
            "source": self.source,
            "panels": self.panels,
            "queries": self.queries,
            "findings": [one.as_json() for one in self.findings],
            "quiet": [one.as_json() for one in self.quiet],
            "skipped": [one.as_json() for one in self.skipped],
        }
