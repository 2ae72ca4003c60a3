"""Grafana's variables, filled in: what a panel's expression is by the time Prometheus sees it. Pure.

A variable that nobody gave a value stands for anything: inside a label matcher it becomes `.*`. Where it cannot be a
pattern, as in `topk($count, …)`, it is left as it is, and `unfilled` names it.
"""

import re
from collections.abc import Mapping

from dashboards.reading import Dashboard, Variable

ANYTHING = ".*"
NOTHING = "a^"  # a pattern that matches nothing, so that what is excluded by an unknown variable is nothing
_VARIABLE = re.compile(r"\$(\w+)|\[\[(\w+)(?::\w+)?\]\]|\$\{(\w+)(?:\.[^:}]+)?(?::[^}]*)?\}")
_OPERATOR = re.compile(r"(=~|!~|!=|=)(\s*)$")
_STRING = re.compile(r'#[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`', re.DOTALL)
_DURATION = re.compile(r"(\d+)(ms|s|m|h|d|w|y)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}


def filled(
    expression: str,
    values: Mapping[str, str],
    *,
    rate_interval: str = "1m",
    interval: str = "15s",
    range_seconds: int = 3600,
) -> str:
    """The expression as Prometheus gets it; `values` are put in as they are."""
    known = dict(values) | built_in(rate_interval, interval, range_seconds)
    made: list[str] = []
    end = 0
    for string in _STRING.finditer(expression):  # or a comment, in which an apostrophe begins nothing
        made.append(_outside(expression[end : string.start()], known))
        operator, text = _inside(made[-1], string.group(), known)
        made[-1:] = [operator, text]
        end = string.end()
    made.append(_outside(expression[end:], known))
    return "".join(made)


def unfilled(expression: str) -> list[str]:
    """The variables that are still in it, outside of strings: they need a value that nobody gave."""
    return list(dict.fromkeys(_name(one) for one in _VARIABLE.finditer(_STRING.sub('""', expression)) if _is_variable(one)))


def used(expression: str) -> list[str]:
    """The names of all variables in an expression."""
    return list(dict.fromkeys(_name(one) for one in _VARIABLE.finditer(expression) if _is_variable(one)))


def values_of(dashboard: Dashboard, given: Mapping[str, str] | None = None, *, saved: bool = False) -> dict[str, str]:
    """The value of every variable: as given, else as Grafana would choose.

    What a query would offer is not asked for: it is anything, or with `saved` what was chosen when the dashboard was
    saved. That choice is another cluster's as soon as the dashboard has travelled.
    """
    values = {variable.name: _value(variable, saved) for variable in dashboard.variables}
    return {name: value for name, value in values.items() if value is not None} | dict(given or {})


def built_in(rate_interval: str, interval: str, range_seconds: int) -> dict[str, str]:
    """The variables that Grafana makes up itself."""
    milliseconds = {"rate_interval": rate_interval, "interval": interval}
    return {
        "__rate_interval": rate_interval,
        "__interval": interval,
        "__range": f"{range_seconds}s",
        "__range_s": str(range_seconds),
        "__range_ms": str(range_seconds * 1000),
        "__from": "0",
        "__to": str(range_seconds * 1000),
    } | {f"__{name}_ms": str(round(seconds(text) * 1000)) for name, text in milliseconds.items()}


def seconds(duration: str) -> float:
    """90 of "1m30s"; 0 of what is no duration."""
    return sum(int(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration))


def _value(variable: Variable, saved: bool) -> str | None:
    if variable.kind in ("adhoc", "groupby", "system", "snapshot"):
        return None
    if variable.kind == "interval":
        return variable.current if seconds(variable.current) else "1m"
    if variable.kind in ("constant", "textbox"):
        return variable.current or variable.query
    if variable.kind == "datasource":
        return variable.current
    if variable.kind == "custom" or saved:
        if variable.current and not variable.is_all:
            return _escaped(variable)
        if variable.kind == "custom" and variable.is_all and not variable.all_value and variable.options:
            return "(" + "|".join(map(_pattern, variable.options)) + ")"
    return variable.all_value or ANYTHING


def _escaped(variable: Variable) -> str:
    """As Grafana's Prometheus data source does: a pattern where several may be chosen, else only quoted."""
    if variable.multi or variable.include_all:
        chosen = [_pattern(one) for one in variable.chosen]
        return chosen[0] if len(chosen) == 1 else "(" + "|".join(chosen) + ")"
    return variable.current.replace("\\", "\\\\").replace('"', '\\"')


def _pattern(text: str) -> str:
    return re.sub(r"[\\^$*+?.()|[\]{}]", lambda found: "\\\\" + found.group(), text).replace('"', '\\"')


def _outside(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda one: _put(one, known, None if _is_variable(one) else one.group()), text)


def _put(one: re.Match[str], known: Mapping[str, str], otherwise: str | None) -> str:
    value = known.get(_name(one), otherwise)
    return one.group() if value is None or value == ANYTHING else value


def _inside(before: str, string: str, known: Mapping[str, str]) -> tuple[str, str]:
    """What stands before the string, which may be an operator that cannot take a pattern, and the string."""
    operator = _OPERATOR.search(before)
    if operator is None:  # an argument of label_replace and its like: $1 is a group there, and the rest Grafana fills
        return before, _VARIABLE.sub(lambda one: known.get(_name(one), one.group()), string)
    excludes = operator.group(1).startswith("!")
    open_ended = False

    def put(one: re.Match[str]) -> str:
        nonlocal open_ended
        if not _is_variable(one):
            return one.group()
        value = known.get(_name(one), ANYTHING)
        open_ended = open_ended or value == ANYTHING
        return NOTHING if excludes and value == ANYTHING else value

    text = _VARIABLE.sub(put, string)
    if open_ended and operator.group(1) == "=":
        before = before[: operator.start()] + "=~" + operator.group(2)
    return before, text


def _name(one: re.Match[str]) -> str:
    return one.group(1) or one.group(2) or one.group(3)


def _is_variable(one: re.Match[str]) -> bool:
    return not _name(one).isdigit()
