"""Durations as Prometheus writes them, and rules at another pace.

A chaos run has no quarter of an hour to wait: there every duration of a rule, windows included, is shortened by the same
factor by which the scrapes come more often. What is judged, and how, stays the same.
"""

import re
from dataclasses import replace

from dashboards.alerts.alert import Alert

SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)")
_WHOLE = re.compile(r"(?:\d+(?:ms|s|m|h|d))+")
_RANGE = re.compile(r"\[([^\]]+)\]")


def seconds(words: str) -> float:
    """90.0 of "1m30s"."""
    if not _WHOLE.fullmatch(words):
        raise ValueError(f"{words!r} is no duration")
    return sum(int(number) * SECONDS[unit] for number, unit in _DURATION.findall(words))


def windows(expression: str) -> list[float]:
    """How far back it looks, in seconds; of a subquery the range, not the step."""
    return [seconds(found.partition(":")[0]) for found in _RANGE.findall(expression)]


def at_pace(alert: Alert, pace: float) -> Alert:
    """`pace`: 0.1 makes of five minutes half a minute. Thresholds are left alone."""
    if pace == 1:
        return alert
    expression = _RANGE.sub(lambda found: f"[{_scaled(found.group(1), pace)}]", alert.expression)
    return replace(alert, expression=expression, hold=_scaled(alert.hold, pace))


def _scaled(words: str, pace: float) -> str:
    """Each as one number: Prometheus takes no unit twice."""
    return _WHOLE.sub(lambda found: f"{round(seconds(found.group()) * pace * 1000)}ms", words)
