"""What a finished run tells others by the results topic: one document a run, small, and without a secret.

A reader far from the run's folder gets what `manifest.json` and `verdict.json` say, so both ways lead to the same summary.
Of the manifest, what is bulky and of use only beside the evidence stays at home.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FORMAT = 1
TOPIC = "kafka-trial.results"
STAYS = frozenset({"config", "process"})  # every broker's whole configuration; which process wrote the folder
# A key that names a secret, and a text that holds one under another name (a JAAS line, settings inside a setting).
SECRET_KEY = re.compile(r"password|passwd|secret|token|jaas|credential|private|ssl\.key", re.IGNORECASE)
SECRET_TEXT = re.compile(r"(password|passwd|secret)[\"']?\s*[:=]|PRIVATE KEY", re.IGNORECASE)


def document(
    folder: str, manifest: Mapping[str, Any], verdict: Mapping[str, Any], duration_s: float | None
) -> dict[str, Any]:
    """`folder` is where the evidence is, in words that help whoever looks for it; nobody opens it by this."""
    return {
        "format": FORMAT,
        "folder": folder,
        "manifest": _open_to_all({key: value for key, value in manifest.items() if key not in STAYS}),
        "verdict": _open_to_all(verdict),
        "duration_s": duration_s,
    }


def key(found: Mapping[str, Any]) -> str:
    """date/scenario/run_id: the record of a run that is judged again replaces the older one."""
    manifest = found["manifest"]
    names = (str(manifest.get(name)).replace("/", "_") for name in ("scenario", "run_id"))
    return "/".join((_date(manifest.get("started")), *names))


def encode(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, separators=(",", ":"), default=str).encode()


def _date(started: Any) -> str:
    try:
        moment = datetime.fromisoformat(started)
    except (TypeError, ValueError):
        return "undated"
    return f"{moment.astimezone(UTC) if moment.tzinfo else moment:%Y-%m-%d}"


def _open_to_all(value: Any) -> Any:
    """The same, without what only those who hold it may know."""
    if isinstance(value, Mapping):
        return {
            name: _open_to_all(inner)
            for name, inner in value.items()
            if not SECRET_KEY.search(str(name)) and not (isinstance(inner, str) and SECRET_TEXT.search(inner))
        }
    if isinstance(value, list | tuple):
        return [_open_to_all(inner) for inner in value]
    return value
