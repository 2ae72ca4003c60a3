"""The panel's unit against the value's: milliseconds read as seconds, a share of one as per cent, bytes as plain numbers."""

from collections.abc import Iterator
from typing import Any

from promql_parser import Expr

from dashboards.lint.findings import Finding
from dashboards.lint.known import Known
from dashboards.lint.quantities import Quantity, quantity
from dashboards.reading import Panel

_KILO = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
# Grafana's unit → what it is for, and the size of one.
UNITS: dict[str, tuple[str, float]] = (
    {f"{prefix}bytes": ("bytes", 1024.0**power) for prefix, power in _KILO.items()}
    | {f"dec{prefix}bytes": ("bytes", 1000.0**power) for prefix, power in _KILO.items()}
    | {"bits": ("bytes", 1 / 8), "decbits": ("bytes", 1 / 8)}
    | {"Bps": ("bytes/s", 1.0), "binBps": ("bytes/s", 1.0), "bps": ("bytes/s", 1 / 8), "binbps": ("bytes/s", 1 / 8)}
    | {f"{prefix.upper()}Bs": ("bytes/s", 1000.0**power) for prefix, power in _KILO.items() if prefix}
    | {f"{prefix.upper()}iBs": ("bytes/s", 1024.0**power) for prefix, power in _KILO.items() if prefix}
    | {"s": ("time", 1.0), "ms": ("time", 1e-3), "µs": ("time", 1e-6), "ns": ("time", 1e-9)}
    | {"m": ("time", 60.0), "h": ("time", 3600.0), "d": ("time", 86400.0)}
    | {"dtdurations": ("time", 1.0), "dtdurationms": ("time", 1e-3), "clocks": ("time", 1.0), "clockms": ("time", 1e-3)}
    | {"dateTimeAsIso": ("time", 1e-3), "dateTimeAsUS": ("time", 1e-3), "dateTimeFromNow": ("time", 1e-3)}
    | {"dateTimeAsLocal": ("time", 1e-3), "dateTimeAsSystem": ("time", 1e-3), "dateTimeAsIsoNoDateIfToday": ("time", 1e-3)}
    | {"percentunit": ("ratio", 1.0), "percent": ("ratio", 0.01)}
    | dict.fromkeys(("none", "short", "locale", "sishort"), ("plain", 1.0))
    | dict.fromkeys(("cps", "ops", "reqps", "rps", "wps", "iops", "eps", "mps", "recps", "pps"), ("count/s", 1.0))
    | dict.fromkeys(("cpm", "opm", "reqpm", "rpm", "wpm", "mpm", "recpm"), ("count/s", 1 / 60))
)
_WORDS = {
    "bytes": "bytes",
    "bytes/s": "bytes per second",
    "time": "a time",
    "time/s": "a share of time",
    "ratio": "a share",
    "count": "a plain number",
    "count/s": "so many per second",
    "plain": "plain numbers",
}
_FITS = {  # what a unit may also be used for, whatever the size of one
    ("time/s", "plain"),
    ("time/s", "time"),
    ("ratio", "plain"),
    ("count", "plain"),
    ("count", "ratio"),  # the average of what is 0 or 1
    ("count/s", "plain"),
}
_SIZES = {1.0: "", 1e-3: "thousandths", 1e-6: "millionths", 1e-9: "billionths", 0.01: "per cent"}
_NEAR = 1.13  # a thousand and 1024 are told apart by nobody; up to tera they differ by a tenth
_OTHERWISE = {"calculateField", "convertFieldType", "heatmap", "histogram"}


def unit(panel: Panel, expression: Expr, known: Known) -> Iterator[Finding]:
    if panel.unit not in UNITS or panel.type in ("heatmap", "histogram", "text") or _made_into_something_else(panel):
        return
    is_of = quantity(expression, known)
    if is_of is None or is_of.what == "constant":
        return
    wrong = contradiction(is_of, panel.unit)
    if wrong:
        yield Finding("unit", wrong, _advice(is_of))


def contradiction(is_of: Quantity, shown: str) -> str:
    """Empty if there is none."""
    what, size = UNITS[shown]
    measured = is_of.what
    if (measured, what) in _FITS or (is_of.window and what.endswith("/s")):
        return ""
    if measured == "time/s" and what == "ratio":
        measured = "ratio"
    if measured != what:
        return f"the query gives {_WORDS[measured]}, the panel's unit is {shown}, for {_WORDS[what]}"
    times = is_of.size / size
    if max(times, 1 / times) <= _NEAR:
        return ""
    by = f"{times:g} times too small" if times > 1 else f"{1 / times:g} times too large"
    return f"the query gives {_in_words(is_of)}, the panel's unit is {shown}: the number shown is {by}"


def _in_words(is_of: Quantity) -> str:
    size = next((word for one, word in _SIZES.items() if abs(one / is_of.size - 1) < 1e-6), f"units of {is_of.size:g}")
    if is_of.what in ("ratio", "time/s"):
        return "a value in per cent" if size == "per cent" else "a share of 1" if not size else f"a share in {size}"
    base = {"time": "seconds"}.get(is_of.what, _WORDS[is_of.what])
    if is_of.what == "time" and size in ("thousandths", "millionths", "billionths"):
        return {"thousandths": "milliseconds", "millionths": "microseconds", "billionths": "nanoseconds"}[size]
    return f"{base} in {size}" if size else base


def _advice(is_of: Quantity) -> str:
    right = [
        name
        for name, (what, size) in UNITS.items()
        if (what == is_of.what or (is_of.what == "time/s" and what == "ratio"))
        and max(size / is_of.size, is_of.size / size) <= 1.001
        and not name.startswith("dateTime")
    ]
    if is_of.what == "count":
        return "set the panel's unit to short"
    return f"set the panel's unit to {' or '.join(right[:2])}" if right else "bring the value to a unit that Grafana has"


def _made_into_something_else(panel: Panel) -> bool:
    """Units set for some fields only, or values worked out by Grafana: not certain."""
    properties = (one for over in panel.overrides for one in _list(over.get("properties")))
    if any(isinstance(one, dict) and one.get("id") == "unit" for one in properties):
        return True
    if any(str(one.get("id")) in _OTHERWISE for one in panel.transformations):
        return True
    reduce = panel.options.get("reduceOptions")
    calculations = _list(reduce.get("calcs")) if isinstance(reduce, dict) else []
    return any(str(one) in ("count", "changeCount", "distinctCount", "diffperc") for one in calculations)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
