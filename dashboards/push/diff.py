"""How two versions of a dashboard differ, in words that people read: panels, expressions, units; and line by line."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dashboards.push.plan import NOT_CONTENT

PLAIN = ("title", "description", "refresh", "timezone", "tags", "time", "editable", "schemaVersion")
TOLD = {"id", "title", "type", "description", "targets", "fieldConfig", "gridPos", "panels"}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A line for each; empty if nothing differs but what Grafana counts up."""
    lines = [_change(key, old.get(key), new.get(key)) for key in PLAIN if old.get(key) != new.get(key)]
    lines += _panels(old, new)
    lines += _named("variable", _listed(old, "templating"), _listed(new, "templating"))
    lines += _named("annotation query", _listed(old, "annotations"), _listed(new, "annotations"))
    known = {*PLAIN, *NOT_CONTENT, "panels", "templating", "annotations"}
    lines += [
        f"{key} changed" for key in sorted(old.keys() | new.keys()) if key not in known and old.get(key) != new.get(key)
    ]
    return lines


def unified(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> list[str]:
    before, after = (
        json.dumps({key: value for key, value in one.items() if key not in NOT_CONTENT}, indent=1, sort_keys=True).split(
            "\n"
        )
        for one in (old, new)
    )
    return list(difflib.unified_diff(before, after, f"{name} in Grafana", f"{name} to be pushed", lineterm=""))


def _panels(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = dict(_flat(old)), dict(_flat(new))
    yield from (f"panel added: {_name(panel)}" for key, panel in after.items() if key not in before)
    yield from (f"panel removed: {_name(panel)}" for key, panel in before.items() if key not in after)
    for key, panel in after.items():
        if key in before:
            yield from _panel(before[key], panel)


def _flat(dashboard: Mapping[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """By id, which stays when a panel is renamed; those inside a folded row too."""
    for panel in dashboard.get("panels") or ():
        if isinstance(panel, dict):
            yield panel.get("id") or panel.get("title"), panel
            yield from _flat(panel)


def _panel(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    who = f"panel {_name(new)}"
    if _name(old) != _name(new):
        yield f"panel renamed: {_name(old)} → {_name(new)}"
    for key in ("type", "description"):
        if old.get(key) != new.get(key):
            yield f"{who}: {_change(key, old.get(key), new.get(key))}"
    yield from (f"{who}: {line}" for line in _expressions(old, new))
    if _unit(old) != _unit(new):
        yield f"{who}: {_change('unit', _unit(old), _unit(new))}"
    elif old.get("fieldConfig") != new.get("fieldConfig"):
        yield f"{who}: thresholds, colours or other settings of its fields changed"
    if old.get("gridPos") != new.get("gridPos"):
        yield f"{who}: moved or resized"
    others = [key for key in sorted(old.keys() | new.keys()) if key not in TOLD and old.get(key) != new.get(key)]
    if others:
        yield f"{who}: {', '.join(others)} changed"


def _expressions(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    before, after = _targets(old), _targets(new)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None and now is not None:
            yield f"query {name} added: {now.get('expr')}"
        elif now is None and was is not None:
            yield f"query {name} removed: {was.get('expr')}"
        elif was is not None and now is not None and was.get("expr") != now.get("expr"):
            yield f"query {name}: {was.get('expr')} → {now.get('expr')}"
        elif was != now:
            yield f"query {name}: its legend or other settings changed"


def _targets(panel: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [target for target in panel.get("targets") or () if isinstance(target, dict)]
    return {str(target.get("refId") or number): target for number, target in enumerate(found)}


def _unit(panel: dict[str, Any]) -> Any:
    return ((panel.get("fieldConfig") or {}).get("defaults") or {}).get("unit")


def _listed(dashboard: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = (dashboard.get(key) or {}).get("list") or ()
    return {str(one.get("name")): one for one in found if isinstance(one, dict)}


def _named(kind: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{kind} {name} {'added' if name not in old else 'removed' if name not in new else 'changed'}"


def _name(panel: dict[str, Any]) -> str:
    return str(panel.get("title") or f"without a title ({panel.get('type')})")


def _change(what: str, old: Any, new: Any) -> str:
    return f"{what}: {_value(old)} → {_value(new)}"


def _value(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
