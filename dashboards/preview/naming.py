"""What a series is called: by its legend format, or, left to Grafana, by the labels that tell it from others. Pure."""

import re
from collections.abc import Mapping, Sequence

from dashboards.preview.values import Asked, Line
from dashboards.variables import filled

AUTO = "__auto"
ROOM = 60  # letters that a legend has room for
_LABEL = re.compile(r"\{\{\s*(.+?)\s*\}\}")
_DIGITS = re.compile(r"(\d+)")


def names(asked: Asked, variables: Mapping[str, str]) -> list[str]:
    """One for each line of the answer."""
    lines = asked.answer.lines
    auto = [_auto(line, lines, asked.question.expression) for line in lines]
    pattern = asked.target.legend
    if pattern == AUTO:
        return auto
    if not pattern:  # as Grafana has it, as long as there is room to see in what they differ
        return [
            whole if 0 < len(whole := full(line.labels)) <= ROOM else name for line, name in zip(lines, auto, strict=True)
        ]
    # A format that leaves nothing, as {{cluster}} of what has no such label, would be a line without a name.
    return [formatted(pattern, line.labels, variables) or name for line, name in zip(lines, auto, strict=True)]


def formatted(pattern: str, labels: Mapping[str, str], variables: Mapping[str, str]) -> str:
    return " ".join(_LABEL.sub(lambda found: labels.get(found[1], ""), filled(pattern, variables)).split())


def full(labels: Mapping[str, str]) -> str:
    """name{label="value"}, as Prometheus writes it."""
    pairs = ", ".join(f'{label}="{value}"' for label, value in sorted(labels.items()) if label != "__name__")
    return labels.get("__name__", "") + (f"{{{pairs}}}" if pairs else "")


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key to sort by: node 2 before node 10."""
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in _DIGITS.split(text)]


def _auto(line: Line, among: Sequence[Line], expression: str) -> str:
    labels = {label: value for label, value in line.labels.items() if label != "__name__"}
    told = {label for label in labels if len({other.labels.get(label) for other in among}) > 1}
    if len(told or labels) == 1:
        return labels[next(iter(told or labels))]
    return full({label: value for label, value in labels.items() if not told or label in told}) or _plain(line, expression)


def _plain(line: Line, expression: str) -> str:
    return line.labels.get("__name__") or " ".join(expression.split())
