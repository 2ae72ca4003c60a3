"""How one column or line is shown: a panel's defaults with the overrides that name it; words and colours by value. Pure."""

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboards.preview.colours import colour
from dashboards.preview.units import said
from dashboards.reading import Panel, Threshold

NO_VALUE = "–"


@dataclass(frozen=True, slots=True)
class Field:
    unit: str = ""
    decimals: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    mappings: tuple[Mapping[str, Any], ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    percentage: bool = False  # thresholds are shares of the way from minimum to maximum
    colour_mode: str = ""
    fixed: str = ""  # a class, if the colour does not depend on the value
    name: str = ""  # instead of its own
    hidden: bool = False
    right: bool = False  # has its axis there
    negative: bool = False
    cells: bool = False  # of a table are coloured


@dataclass(frozen=True, slots=True)
class Shown:
    text: str
    colour: str = ""  # a class
    mapped: bool = False


def field(panel: Panel, *names: str, ref: str = "") -> Field:
    """`names`: all that it is called by; an override may know it before or after its renaming."""
    mode = _mapping(panel.defaults.get("color"))
    custom = _mapping(panel.defaults.get("custom"))
    made = Field(
        unit=panel.unit,
        decimals=panel.decimals,
        minimum=panel.minimum,
        maximum=panel.maximum,
        mappings=panel.mappings,
        thresholds=panel.thresholds,
        percentage=panel.thresholds_mode == "percentage",
        right=custom.get("axisPlacement") == "right",
        negative=custom.get("transform") == "negative-Y",
        colour_mode=str(mode.get("mode", "")),
        fixed=_fixed(mode),
        cells=_coloured(custom.get("cellOptions") or custom.get("displayMode")),
    )
    for override in panel.overrides:
        if _matches(_mapping(override.get("matcher")), names, ref):
            for change in _list(override.get("properties")):
                made = _changed(made, str(_mapping(change).get("id", "")), _mapping(change).get("value"))
    return made


def shown(field: Field, value: float | None, *, now: float) -> Shown:
    """The words of a value, and the colour that its words or its thresholds give it."""
    mapped = mapping_of(field, value)
    if value is None and mapped is None:
        return Shown(NO_VALUE)
    by_threshold = threshold_colour(field, value) if value is not None and field.colour_mode == "thresholds" else field.fixed
    if mapped is not None:
        text = str(mapped.get("text") or "")
        return Shown(text or _said(field, value, now), colour(str(mapped.get("color") or "")) or by_threshold, bool(text))
    return Shown(_said(field, value, now), by_threshold)


def mapping_of(field: Field, value: float | str | None) -> Mapping[str, Any] | None:
    """The first mapping that names this value."""
    for mapping in field.mappings:
        options = _mapping(mapping.get("options"))
        kind = mapping.get("type")
        if kind == "value":
            found = next((_mapping(result) for key, result in options.items() if _same(str(key), value)), None)
            if found is not None:
                return found
        elif (
            (kind == "range" and isinstance(value, float) and _within(options, value))
            or (kind == "special" and _special(str(options.get("match")), value))
            or (kind == "regex" and value is not None and _fits(str(options.get("pattern", "")), _plain(value)))
        ):
            return _mapping(options.get("result"))
    return None


def threshold_colour(field: Field, value: float) -> str:
    """Of the last step that the value reaches; nothing without steps."""
    if field.percentage:
        low, high = field.minimum or 0.0, 100.0 if field.maximum is None else field.maximum
        value = (value - low) / (high - low) * 100 if high != low else value
    reached = [step.color for step in field.thresholds if step.value is None or value >= step.value]
    return colour(reached[-1]) if reached and not math.isnan(value) else ""


def _said(field: Field, value: float | None, now: float) -> str:
    return NO_VALUE if value is None else said(value, field.unit, decimals=field.decimals, now=now)


def _changed(made: Field, what: str, value: Any) -> Field:
    if what == "color":
        return replace(made, colour_mode=str(_mapping(value).get("mode", "")), fixed=_fixed(_mapping(value)))
    if what == "thresholds":
        steps = tuple(
            Threshold(_number(_mapping(step).get("value")), str(_mapping(step).get("color", "")))
            for step in _list(_mapping(value).get("steps"))
        )
        return replace(made, thresholds=steps, percentage=_mapping(value).get("mode") == "percentage")
    if what == "custom.hideFrom":
        return replace(made, hidden=_mapping(value).get("viz") is True)
    changes: dict[str, dict[str, Any]] = {
        "unit": {"unit": str(value or "")},
        "decimals": {"decimals": None if _number(value) is None else int(_number(value) or 0)},
        "min": {"minimum": _number(value)},
        "max": {"maximum": _number(value)},
        "mappings": {"mappings": tuple(one for one in _list(value) if isinstance(one, Mapping))},
        "displayName": {"name": str(value or "")},
        "custom.hidden": {"hidden": value is True},
        "custom.axisPlacement": {"right": value == "right"},
        "custom.transform": {"negative": value == "negative-Y"},
        "custom.cellOptions": {"cells": _coloured(value)},
        "custom.displayMode": {"cells": _coloured(value)},
    }
    return replace(made, **changes.get(what, {}))


def _matches(matcher: Mapping[str, Any], names: tuple[str, ...], ref: str) -> bool:
    wanted, kind = matcher.get("options"), matcher.get("id")
    if kind == "byName":
        return wanted in names
    if kind == "byRegexp":
        return any(_fits(str(wanted or ""), name) for name in names)
    if kind == "byFrameRefID":
        return bool(ref) and wanted == ref
    return kind == "byType" and wanted == "number"


def _fits(pattern: str, text: str) -> bool:
    """As JavaScript writes them, /between slashes/ or plain; one that Python cannot read fits nothing."""
    plain = re.fullmatch(r"/(.*)/([a-z]*)", pattern, re.DOTALL)
    with warnings.catch_warnings(action="ignore"):  # what Python may read otherwise one day
        try:
            return re.search(plain[1] if plain else pattern, text, re.I if plain and "i" in plain[2] else 0) is not None
        except (re.error, OverflowError, RecursionError):
            return False


def _same(key: str, value: float | str | None) -> bool:
    if isinstance(value, str) or value is None:
        return key == value
    return _number(key) == value


def _within(options: Mapping[str, Any], value: float) -> bool:
    low, high = _number(options.get("from")), _number(options.get("to"))
    return (low is None or value >= low) and (high is None or value <= high)


def _special(match: str, value: float | str | None) -> bool:
    nothing, nan = value is None, isinstance(value, float) and math.isnan(value)
    return {"null": nothing, "nan": nan, "null+nan": nothing or nan, "empty": value == ""}.get(match, False)


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _fixed(mode: Mapping[str, Any]) -> str:
    return colour(str(mode.get("fixedColor") or "")) if mode.get("mode") in ("fixed", "shades") else ""


def _coloured(way: Any) -> bool:
    return str(way.get("type") if isinstance(way, Mapping) else way).startswith("color-")


def _number(value: Any) -> float | None:
    try:
        number = None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
