"""Tables: the answers of several instant queries merged, columns renamed, hidden and ordered, cells in words. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from dashboards.preview.colours import colour
from dashboards.preview.drawing import NOTHING, Drawing, finite
from dashboards.preview.fields import Field, field, mapping_of, shown
from dashboards.preview.naming import natural
from dashboards.preview.svg import el, joined
from dashboards.preview.values import Asked, Scene

MOST_ROWS = 200
Cell = str | float | None
Row = dict[str, Cell]
# Queries are merged whether or not the file says so, and a series already is one row.
DONE = (
    "merge",
    "organize",
    "sortBy",
    "limit",
    "seriesToColumns",
    "joinByField",
    "joinByLabels",
    "labelsToFields",
    "seriesToRows",
)


@dataclass(frozen=True, slots=True)
class Column:
    name: str  # as the answer has it
    words: str  # as it is headed
    field: Field
    numeric: bool


def table(scene: Scene) -> Drawing:
    frames = [rows_of(asked, "Value" if len(scene.asked) == 1 else f"Value #{asked.target.ref}") for asked in scene.asked]
    rows = merged(frames)
    if not rows:
        return NOTHING
    columns = columns_of(scene, rows)
    rows = _ordered(scene, rows, columns)
    head = joined(el("th", escape(one.words), scope="col", class_="n" if one.numeric else None) for one in columns)
    body = joined(el("tr", joined(_cell(row.get(one.name), one, scene.now) for one in columns)) for row in rows[:MOST_ROWS])
    made = el("table", el("thead", el("tr", head)) + el("tbody", body))
    notes: tuple[str, ...] = (f"{len(rows) - MOST_ROWS} more rows are not shown.",) if len(rows) > MOST_ROWS else ()
    undone = [
        str(one.get("id")) for one in scene.panel.transformations if one.get("id") not in DONE and not one.get("disabled")
    ]
    notes += (f"Not done here: Grafana's {' and '.join(undone)}.",) if undone else ()
    return Drawing(el("div", made, class_="box", tabindex=0), notes=notes)


def rows_of(asked: Asked, value: str) -> list[Row]:
    """A row for each series: its labels, and its last value under a name of its own. The time is the same in all."""
    rows = []
    for line in asked.answer.lines:
        labels: Row = {label: text for label, text in line.labels.items() if label != "__name__"}
        rows.append(labels | {value: finite(line.values[-1]) if line.values else None})
    return rows


def merged(frames: Sequence[Sequence[Row]]) -> list[Row]:
    """As Grafana merges: rows that agree on every label that all queries have become one, unless they contradict."""
    told = [frame for frame in frames if frame]
    if not told:
        return []
    common = sorted(set.intersection(*({name for row in frame for name in row} for frame in told)))
    made: list[Row] = []
    by_key: dict[tuple[Cell, ...], list[Row]] = {}
    for frame in told:
        for row in frame:
            alike = by_key.setdefault(tuple(row.get(name) for name in common), [])
            same = next((other for other in alike if len(told) > 1 and _agree(row, other)), None)
            if same is None:
                alike.append(dict(row))
                made.append(alike[-1])
            else:
                same.update(row)
    return made


def columns_of(scene: Scene, rows: Sequence[Row]) -> list[Column]:
    """Labels first, in the order of the answer, then values, in the order of the queries; unless the file says otherwise."""
    organize = _options(scene, "organize")
    hidden, renamed, order = (_mapping(organize.get(f"{what}ByName")) for what in ("exclude", "rename", "index"))
    seen = list(dict.fromkeys(name for row in rows for name in row))
    names = sorted((name for name in seen if not _is_value(name)), key=seen.index) + [n for n in seen if _is_value(n)]
    if order:
        names.sort(key=lambda name: _place(order.get(name), len(order)))
    made = []
    for name in names:
        words = str(renamed.get(name) or name)
        look = field(scene.panel, name, words, ref=name.removeprefix("Value #"))
        if not (hidden.get(name) or look.hidden):  # Grafana leaves out before it renames
            numeric = any(isinstance(row.get(name), float) for row in rows)
            made.append(Column(name, look.name or words, look, numeric))
    return made


def _agree(row: Row, other: Row) -> bool:
    return all(other.get(name) in (None, value) for name, value in row.items() if value is not None)


def _ordered(scene: Scene, rows: list[Row], columns: Sequence[Column]) -> list[Row]:
    """By the first column, or as the file or the reader before us chose."""
    wishes = [*_list(_options(scene, "sortBy").get("sort")), *_list(scene.panel.options.get("sortBy"))]
    wish = next(iter(wishes), None)
    named = {words: one.name for one in columns for words in (one.name, one.words)}
    wanted = named.get(str(wish.get("field", wish.get("displayName", "")))) if isinstance(wish, Mapping) else None
    if wanted:
        down = isinstance(wish, Mapping) and wish.get("desc") is True
        return sorted(rows, key=lambda row: _key(row.get(wanted)), reverse=down)
    return sorted(rows, key=lambda row: [_key(row.get(one.name)) for one in columns if not one.numeric])


def _key(cell: Cell) -> tuple[int, float, list[tuple[int, int, str]]]:
    if cell is None:
        return (0, 0.0, [])
    return (1, cell, []) if isinstance(cell, float) else (2, 0.0, natural(cell))


def _cell(cell: Cell, column: Column, now: float) -> Markup:
    if isinstance(cell, str):
        mapped = mapping_of(column.field, cell)
        words = str((mapped or {}).get("text") or cell)
        tint = colour(str((mapped or {}).get("color") or ""))
        return el("td", _marked(words, tint))
    look = shown(column.field, cell, now=now)
    tint = look.colour if look.mapped or column.field.cells else ""  # thresholds colour a table only if it was asked for
    return el("td", _marked(look.text, tint), class_="n")


def _marked(words: str, tint: str) -> Markup:
    return el("span", escape(words), class_=f"coloured {tint}") if tint else escape(words)


def _options(scene: Scene, what: str) -> Mapping[str, Any]:
    found = (one.get("options") for one in scene.panel.transformations if one.get("id") == what and not one.get("disabled"))
    return _mapping(next(found, None))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_value(name: str) -> bool:
    return name == "Value" or name.startswith("Value #")


def _place(wish: Any, otherwise: int) -> float:
    return float(wish) if isinstance(wish, int | float) and abs(wish) < 1e6 else float(otherwise)
