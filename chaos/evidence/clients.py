"""What the manifest says about clients and about what is permitted, checked before anything is judged by it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.errors import UsageError
from kernel.verdict import ANOMALIES

COMMITTED = "read_committed"
WORDS = {"isolation": (COMMITTED, "read_uncommitted"), "mode": ("assign", "subscribe")}


@dataclass(frozen=True, slots=True)
class Clients:
    """A client that is not listed reads what is committed and promises no order."""

    listed: dict[str, dict[str, Any]]

    def reads_committed(self, name: str) -> bool:
        return bool(self._fact(name, "isolation", COMMITTED) == COMMITTED)

    def ordered(self, name: str) -> bool:
        return bool(self._fact(name, "ordered", False))

    def _fact(self, name: str, fact: str, default: Any) -> Any:
        told = self.listed.get(name, {}).get(fact)
        return default if told is None else told


def clients_of(manifest: dict[str, Any], file: Path) -> Clients:
    listed = manifest.get("clients")
    if listed is None:
        return Clients({})
    if not isinstance(listed, dict):
        raise UsageError(f"{file}: clients is {listed!r}, not an object with a client's name for each key.")
    for name, facts in listed.items():
        if not isinstance(facts, dict):
            raise UsageError(f"{file}: clients.{name} is {facts!r}, not an object.")
        for fact, known in WORDS.items():
            if facts.get(fact) is not None and facts[fact] not in known:
                raise UsageError(f"{file}: clients.{name}.{fact} is {facts[fact]!r}, not {' or '.join(known)}.")
        if not isinstance(facts.get("ordered", False), bool | None):
            raise UsageError(f"{file}: clients.{name}.ordered is {facts['ordered']!r}, not true or false.")
    return Clients(listed)


def permitted_by(manifest: dict[str, Any], file: Path) -> list[str]:
    if "permitted" not in manifest:
        raise UsageError(f"{file}: permitted is missing: a list of the anomalies this configuration allows, [] for none.")
    permitted = manifest["permitted"]
    if not isinstance(permitted, list):
        raise UsageError(f"{file}: permitted is {permitted!r}, not a list of anomalies.")
    for name in permitted:
        if not isinstance(name, str) or name not in ANOMALIES:
            raise UsageError(f"{file}: permitted names {name!r}, which is none of {', '.join(ANOMALIES)}.")
    return permitted


def named(manifest: dict[str, Any], field: str, file: Path) -> str:
    """`run_id` and `scenario`: what a verdict is filed under."""
    name = manifest.get(field)
    if not isinstance(name, str) or not name:
        raise UsageError(f"{file}: {field} is {name!r}, not a name.")
    return name
