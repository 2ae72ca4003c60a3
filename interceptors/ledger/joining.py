"""One run, one folder, any number of clients in any number of processes: how each of them joins.

The folder is made by whoever comes first. The manifest, in which every client has a name and a number of its own, is changed
by one at a time and is whole at any moment.
"""

import fcntl
import json
import os
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interceptors.ledger.valuing import COUNT_BITS, LIFE_BITS
from interceptors.loading import BadInterceptor

SCENARIO = "application"
LOCK = ".manifest.lock"
FORMAT = 1  # as chaos/evidence/folder.py has it


@dataclass(frozen=True, slots=True)
class Joined:
    """A client of a run, with what only it has."""

    folder: Path
    run_id: str
    client: str
    first: int  # value

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"


def join(folder: Path, *, name: str, facts: Mapping[str, Any], run_id: str | None, value: str | None) -> Joined:
    """`value`: how records carry theirs; the same for all clients of a run, or their records would pass each other by."""
    with _opened(folder), changing(folder) as manifest:
        if not manifest:
            fresh = {"run_id": run_id or f"{folder.resolve().name}-{secrets.token_hex(4)}", "scenario": SCENARIO}
            manifest |= {"format": FORMAT, **fresh, "seed": 0, "permitted": [], "clients": {}, "value": value}
            manifest["clock"] = this_clock()
        _refuse_other(folder, manifest, run_id, value)
        clients = manifest.setdefault("clients", {})
        life = new_life(name, clients)
        number = _number(clients)
        clients[life] = {**facts, "life": number}
        return Joined(folder, str(manifest["run_id"]), life, number << COUNT_BITS)


def new_life(name: str, taken: Mapping[str, Any]) -> str:
    """A name that was used before gets a number: a client that comes back is a new client. Its files bear the name."""
    name = re.sub(r"[^\w-]+", "-", name).strip("-") or "client"
    lives = (name if number == 1 else f"{name}.{number}" for number in range(1, len(taken) + 2))
    return next(life for life in lives if life not in taken)


def default_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


@contextmanager
def changing(folder: Path) -> Iterator[dict[str, Any]]:
    """The manifest, to be changed in place: locked against everybody else, and written back whole if nothing was raised."""
    with (folder / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        manifest = _read(folder / "manifest.json")
        yield manifest
        draft = folder / ".manifest.json.new"
        draft.write_text(json.dumps(manifest, indent=1, default=str) + "\n")
        draft.rename(folder / "manifest.json")


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    try:
        (folder / "ledger").mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").touch()
        yield
    except OSError as error:
        raise BadInterceptor(
            f"interceptor.ledger.folder {str(folder)!r} cannot be written: {error.strerror or error}; give a folder of this "
            "application's own."
        ) from error


def _read(file: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInterceptor(f"{file} is not JSON ({error}): give interceptor.ledger.folder a folder of its own.") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("clients", {}), dict):
        raise BadInterceptor(f"{file} is no manifest of a run: give interceptor.ledger.folder a folder of its own.")
    return manifest


def _refuse_other(folder: Path, manifest: Mapping[str, Any], run_id: str | None, value: str | None) -> None:
    if "finished" in manifest:
        raise BadInterceptor(f"the run in {folder} is over, and drained: give interceptor.ledger.folder a new folder.")
    if run_id is not None and manifest["run_id"] != run_id:
        raise BadInterceptor(f"{folder} holds run {manifest['run_id']!r} and not interceptor.ledger.run {run_id!r}.")
    if manifest.get("value", value) != value:
        raise BadInterceptor(
            f"the clients of the run in {folder} have their values by {manifest['value']!r}, and this one by {value!r}: "
            "give all of them the same interceptor.ledger.value."
        )


def _number(clients: Mapping[str, Any]) -> int:
    """By chance, so that those on other machines differ too; not zero, and nobody else's here."""
    taken = {facts.get("life") for facts in clients.values() if isinstance(facts, dict)} | {0}
    while (number := secrets.randbits(LIFE_BITS)) in taken:
        pass
    return number


def this_clock() -> str:
    """Whose monotonic clock the times are: of one boot of one machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "unknown"
    return f"{socket.gethostname()} {boot}"
