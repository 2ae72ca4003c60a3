"""What a push would do, before it does anything: each dashboard compared with what Grafana has, by what was pushed last.

A save carries the hash of what was pushed as its message in the dashboard's history. Whoever saves it in Grafana leaves
another message there: so a change by hand is known, whatever Grafana itself does to the JSON.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dashboards.push.port import Folder, Stored

OURS = "kafka-trial "
NOT_CONTENT = ("id", "version", "iteration")  # counted up by Grafana


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    EDITED = "edited by hand"
    ELSEWHERE = "in another folder"
    PROVISIONED = "provisioned"


@dataclass(frozen=True, slots=True)
class Step:
    name: str  # of the file
    wanted: Mapping[str, Any]
    action: Action
    folder: Folder  # where it is to be
    stored: Stored | None = None

    @property
    def uid(self) -> str:
        return str(self.wanted["uid"])

    @property
    def title(self) -> str:
        return str(self.wanted["title"])

    @property
    def message(self) -> str:
        return message_of(self.wanted)

    def writes(self, overwrite: bool) -> bool:
        return self.action in (Action.CREATE, Action.UPDATE) or (
            overwrite and self.action in (Action.EDITED, Action.ELSEWHERE)
        )

    def refusal(self, overwrite: bool) -> str:
        """Why it must not be written, "" if it may be."""
        if self.stored is None or (overwrite and self.action is not Action.PROVISIONED):
            return ""
        who = f"{self.title} ({self.stored.address})"
        if self.action is Action.PROVISIONED:
            return f"{who} comes from Grafana's provisioning files and cannot be saved: change it there, or remove it there."
        if self.action is Action.EDITED:
            return f"{who} was made or changed by hand since the last push: keep a copy, then push with --overwrite."
        if self.action is Action.ELSEWHERE:
            where = f"in the folder {self.stored.folder.title}, not in {self.folder.title}"
            return f"{who} is {where}: push to that folder, or move it here with --overwrite."
        return ""


def step_for(name: str, wanted: Mapping[str, Any], stored: Stored | None, folder: Folder | None) -> Step:
    """Without a folder, what is there stays where it is."""
    if stored is None:
        return Step(name, wanted, Action.CREATE, folder or Folder("", "General"))
    place = folder or stored.folder
    return Step(name, wanted, _action(wanted, stored, place), place, stored)


def _action(wanted: Mapping[str, Any], stored: Stored, place: Folder) -> Action:
    same = pushed(stored) == hash_of(wanted) or hash_of(stored.dashboard) == hash_of(wanted)
    if same and stored.folder.uid == place.uid:
        return Action.UNCHANGED
    if stored.provisioned:
        return Action.PROVISIONED
    if not same and not pushed(stored):
        return Action.EDITED
    return Action.UPDATE if stored.folder.uid == place.uid else Action.ELSEWHERE


def pushed(stored: Stored) -> str:
    """The hash of what was pushed last, if nobody has saved anything since."""
    newest = stored.newest
    if newest is None or newest.number != stored.version or not newest.message.startswith(OURS):
        return ""
    return newest.message.removeprefix(OURS)


def message_of(dashboard: Mapping[str, Any]) -> str:
    return OURS + hash_of(dashboard)


def hash_of(dashboard: Mapping[str, Any]) -> str:
    content = {key: value for key, value in dashboard.items() if key not in NOT_CONTENT}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
