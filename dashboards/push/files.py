"""Dashboards from files, each checked to be one that can be pushed again and again: it has a uid, a title and panels."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel.errors import UsageError

UID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


def read_dashboards(paths: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """By the name of the file; of a directory, every *.json in it."""
    return checked({str(file): _read(file) for path in paths for file in _files(path)})


def checked(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Names the first that is no dashboard, or that has the uid of another."""
    boards: dict[str, dict[str, Any]] = {}
    owners: dict[str, str] = {}
    for name, content in found.items():
        board = _checked(name, content)
        if board["uid"] in owners:
            raise UsageError(f"{name} has the uid {board['uid']} of {owners[board['uid']]}: give it one of its own.")
        owners[board["uid"]] = name
        boards[name] = board
    return boards


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.json"))
    if not files:
        raise UsageError(f"{path} holds no *.json: name a directory with dashboards, or the files themselves.")
    return files


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.")
    except RecursionError:
        raise UsageError(f"{file} is not a dashboard: it is nested too deeply.")
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}.")


def _checked(name: str, content: Any) -> dict[str, Any]:
    if isinstance(content, dict) and isinstance(content.get("dashboard"), dict):
        content = content["dashboard"]  # as Grafana's own API hands it out
    if not isinstance(content, dict):
        raise UsageError(f"{name} is not a dashboard: it holds {_kind(content)}, not an object.")
    if "apiVersion" in content and "spec" in content:
        raise UsageError(f"{name} is a dashboard of the form {content['apiVersion']}: export it in the classic form.")
    if content.get("__inputs"):
        raise UsageError(f"{name} was exported for sharing and asks for its data source on import: export it without that.")
    if not isinstance(content.get("panels"), list):
        raise UsageError(f"{name} is not a dashboard: it has no list of panels.")
    title, uid = content.get("title"), content.get("uid")
    if not isinstance(title, str) or not title.strip():
        raise UsageError(f"{name} is not a dashboard: its title is {title!r}.")
    if not isinstance(uid, str) or not UID.fullmatch(uid):
        raise UsageError(
            f"{name}: its uid is {uid!r}; it needs one of 1 to 40 letters, digits, - or _, to be found again by."
        )
    return content


def _kind(content: Any) -> str:
    return {list: "a list", str: "a string", type(None): "null"}.get(type(content), "a value")
