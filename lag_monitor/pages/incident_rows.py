"""Incidents as a page shows them. They are handed over as mappings, and what one lacks is simply not shown.

Read are `cluster`, `group`, when it was opened (`opened_at`, or `opened` or `since`: seconds since the epoch, or text), and
`status`, `reason` and `gravity`, beside those or inside `reading`. One that is held (its `opened_at` is None) or that has
ended (`closed` or `closed_at`) is left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lag_monitor.pages import words
from lag_monitor.pages.addresses import group_page
from lag_monitor.verdict import Gravity, Status


@dataclass(frozen=True, slots=True)
class IncidentRow:
    cluster: str
    group: str
    href: str
    gravity: Gravity
    word: str
    reason: str
    opened: str
    opened_at: str


def open_incidents(known: Iterable[Mapping[str, Any]], now: float) -> list[IncidentRow]:
    return sorted((_row(one, now) for one in known if _is_open(one)), key=lambda row: -row.gravity)


def _is_open(one: Mapping[str, Any]) -> bool:
    held = "opened_at" in one and one["opened_at"] is None
    return not (held or one.get("closed") or one.get("closed_at"))


def _row(one: Mapping[str, Any], now: float) -> IncidentRow:
    reading = one.get("reading")
    seen = reading if isinstance(reading, Mapping) else one
    cluster, group = str(one.get("cluster") or ""), str(one.get("group") or "")
    opened = next((one[name] for name in ("opened_at", "opened", "since") if one.get(name) is not None), None)
    timed = isinstance(opened, int | float)
    status = _status(seen.get("status"))
    return IncidentRow(
        cluster=cluster,
        group=group,
        href=group_page(cluster, group),
        gravity=status.gravity if status is not None else _gravity(seen.get("gravity")),
        word=words.word(status) if status is not None else str(seen.get("status") or "incident"),
        reason=str(seen.get("reason") or ""),
        opened=words.ago(opened, now) if timed else str(opened or words.NONE),
        opened_at=words.absolute(opened) if timed else str(opened or ""),
    )


def _status(told: object) -> Status | None:
    try:
        return told if isinstance(told, Status) else Status[str(told).upper().replace("-", "_").replace(" ", "_")]
    except KeyError:
        return None


def _gravity(told: object) -> Gravity:
    """For a word that is not ours, such as Burrow's. Who opened an incident found it grave."""
    return Gravity(told) if isinstance(told, int) and told in Gravity._value2member_map_ else Gravity.ERROR
