"""Anybody's Grafana dashboard, read into plain values: its panels, their queries, units and places on the page. Pure.

Reads what Grafana exports, what its API answers, what lies in a repository, and rows from before Grafana 5. What cannot be
read is noted on the panel with its reason; only a document that is no dashboard at all is an error.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernel.errors import UsageError

ALL = ("$__all", "All")
PROMETHEUS = ("prometheus", "grafana-amazonprometheus-datasource", "grafana-azureprometheus-datasource")
NOT_PROMETHEUS = {  # names that Grafana gives to what is no database
    "-- Grafana --": "grafana",
    "-- Dashboard --": "another panel's data",
    "__expr__": "an expression of Grafana's",
    "grafana": "grafana",
    "-100": "an expression of Grafana's",
}
WITHOUT_DATA = (
    "text",
    "row",
    "dashlist",
    "alertlist",
    "annolist",
    "news",
    "welcome",
    "pluginlist",
)  # targets are left-overs
COLUMNS = 24


@dataclass(frozen=True, slots=True)
class Grid:
    x: int = 0
    y: int = 0
    w: int = 12
    h: int = 8


@dataclass(frozen=True, slots=True)
class Target:
    """One query of a panel."""

    ref: str
    expression: str
    legend: str = ""
    instant: bool = False
    format: str = "time_series"
    hidden: bool = False
    datasource: str = ""
    skipped: str = ""  # why it cannot be judged or drawn; empty if it can


@dataclass(frozen=True, slots=True)
class Threshold:
    value: float | None  # None: from the very bottom
    color: str


@dataclass(frozen=True, slots=True)
class Panel:
    id: int
    title: str
    type: str
    targets: tuple[Target, ...] = ()
    unit: str = ""
    description: str = ""
    no_value: str = ""  # what the reader is told when there is nothing; set, it says that empty is expected
    grid: Grid = Grid()
    row: str = ""
    repeat: str = ""  # the variable for whose every value it is drawn
    skipped: str = ""  # why it cannot be judged or drawn; empty if it can
    minimum: float | None = None
    maximum: float | None = None
    decimals: int | None = None
    thresholds: tuple[Threshold, ...] = ()
    thresholds_mode: str = "absolute"
    mappings: tuple[Mapping[str, Any], ...] = ()
    stacking: str = "none"  # none, normal or percent
    legend: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  # fieldConfig.defaults, as they are
    overrides: tuple[Mapping[str, Any], ...] = ()
    transformations: tuple[Mapping[str, Any], ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def queries(self) -> tuple[Target, ...]:
        """Those that Prometheus is asked when somebody looks at the panel."""
        return tuple(one for one in self.targets if not (self.skipped or one.skipped or one.hidden))


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    kind: str  # query, custom, constant, datasource, interval, textbox, adhoc
    query: str = ""
    chosen: tuple[str, ...] = ()  # when the dashboard was saved
    options: tuple[str, ...] = ()
    all_value: str = ""
    include_all: bool = False
    multi: bool = False
    label: str = ""
    regex: str = ""

    @property
    def current(self) -> str:
        return self.chosen[0] if self.chosen else ""

    @property
    def is_all(self) -> bool:
        return self.current in ALL


@dataclass(frozen=True, slots=True)
class Annotation:
    name: str
    expression: str = ""
    datasource: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    panels: tuple[Panel, ...] = ()
    description: str = ""
    variables: tuple[Variable, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    links: tuple[Mapping[str, Any], ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""  # the file


def read(path: Path) -> Dashboard:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.")
    except RecursionError:
        raise UsageError(f"{path} is not a Grafana dashboard: it is nested too deeply.")
    except ValueError as error:
        raise UsageError(f"{path} is not a Grafana dashboard: it is not JSON ({error}).")
    return dashboard_of(document, str(path))


def dashboard_of(document: object, source: str = "the document") -> Dashboard:
    board = _unwrapped(document, source)
    inputs = {_text(one.get("name")): _text(one.get("pluginId")) for one in _mappings(board.get("__inputs"))}
    variables = tuple(_variables(board))
    kinds = inputs | {one.name: one.query for one in variables if one.kind == "datasource"}
    library = {name: _mapping(_mapping(one).get("model")) for name, one in _mapping(board.get("__elements")).items()}
    return Dashboard(
        uid=_text(board.get("uid")),
        title=_text(board.get("title")) or "(no title)",
        description=_text(board.get("description")),
        panels=tuple(_panel(raw, row, kinds, library) for raw, row in _panels(board)),
        variables=variables,
        annotations=tuple(_annotations(board)),
        links=_mappings(board.get("links")),
        tags=tuple(_text(one) for one in _list(board.get("tags"))),
        source=source,
    )


def _unwrapped(document: object, source: str) -> Mapping[str, Any]:
    """The dashboard inside what the API, Kubernetes or a request wraps around it."""
    board = _mapping(document)
    if not board:
        raise UsageError(f"{source} is not a Grafana dashboard: it is {_what(document)}, not an object with panels.")
    if isinstance(board.get("dashboard"), Mapping):
        board = _mapping(board["dashboard"])
    if isinstance(board.get("spec"), Mapping):
        board = _mapping(board["spec"])
    if "elements" in board and "layout" in board:
        raise UsageError(
            f"{source} is a dashboard in Grafana's new v2 format (elements and layout), which is not read yet: "
            "export it with the classic model (Share, Export, V1 resource or Classic)."
        )
    if not any(isinstance(board.get(key), list) for key in ("panels", "rows")):
        if isinstance(board.get("schemaVersion"), int) and "title" in board:
            return board  # one without panels, as Grafana makes it
        has = ", ".join(sorted(map(str, board))[:5]) or "nothing"
        raise UsageError(f"{source} is not a Grafana dashboard: it has no panels (it has {has}).")
    return board


def _panels(board: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every panel with the title of its row, in the order of the page."""
    y = 0
    for old in _mappings(board.get("rows")):  # before Grafana 5: widths in twelfths, heights in pixels
        x, height = 0, max(1, _pixels(old.get("height"), 250) // 30)
        for raw in _mappings(old.get("panels")):
            width = min(COLUMNS, max(1, (_whole(raw.get("span")) or 4) * 2))
            if x + width > COLUMNS:
                x, y = 0, y + height
            yield {"gridPos": {"x": x, "y": y, "w": width, "h": height}} | dict(raw), _text(old.get("title"))
            x += width
        y += height
    row = ""
    for raw in _mappings(board.get("panels")):
        if raw.get("type") != "row":
            yield raw, row
            continue
        row = _text(raw.get("title"))
        for nested in _mappings(raw.get("panels")):  # of a row that was closed when the dashboard was saved
            yield nested, row


def _panel(raw: Mapping[str, Any], row: str, kinds: Mapping[str, str], library: Mapping[str, Mapping[str, Any]]) -> Panel:
    reference = _mapping(raw.get("libraryPanel"))
    model = library.get(_text(reference.get("uid"))) or _mapping(reference.get("model"))
    if reference and model:
        raw = dict(model) | {
            "id": raw.get("id"),
            "gridPos": raw.get("gridPos"),
            "title": raw.get("title") or model.get("title"),
        }
    defaults = _mapping(_mapping(raw.get("fieldConfig")).get("defaults"))
    custom, options = _mapping(defaults.get("custom")), _mapping(raw.get("options"))
    asked = () if raw.get("type") in WITHOUT_DATA else _mappings(raw.get("targets"))
    targets = tuple(_target(one, raw.get("datasource"), kinds, at) for at, one in enumerate(asked))
    skipped = ""
    if reference and not targets:
        name = _text(reference.get("name")) or _text(reference.get("uid"))
        skipped = f"a library panel ({name}), whose queries are not in this file"
    elif targets and all(one.skipped for one in targets):
        skipped = targets[0].skipped
    thresholds = _mapping(defaults.get("thresholds"))
    return Panel(
        id=_whole(raw.get("id")) or 0,
        title=_text(raw.get("title")) or _text(reference.get("name")),
        type=_text(raw.get("type")) or "unknown",
        targets=targets,
        unit=_unit(raw, defaults),
        description=_text(raw.get("description")),
        no_value=_text(defaults.get("noValue")),
        grid=_grid(_mapping(raw.get("gridPos"))),
        row=row,
        repeat=_text(raw.get("repeat")),
        skipped=skipped,
        minimum=_number(defaults.get("min")),
        maximum=_number(defaults.get("max")),
        decimals=_whole(defaults.get("decimals")),
        thresholds=tuple(
            Threshold(_number(step.get("value")), _text(step.get("color"))) for step in _mappings(thresholds.get("steps"))
        ),
        thresholds_mode=_text(thresholds.get("mode")) or "absolute",
        mappings=_mappings(defaults.get("mappings")),
        stacking=_stacking(raw, custom),
        legend=_mapping(options.get("legend")).get("showLegend") is not False,
        options=options,
        defaults=defaults,
        overrides=_mappings(_mapping(raw.get("fieldConfig")).get("overrides")),
        transformations=_mappings(raw.get("transformations")),
        raw=raw,
    )


def _target(raw: Mapping[str, Any], of_panel: object, kinds: Mapping[str, str], position: int) -> Target:
    chosen = raw.get("datasource") or of_panel
    kind, name = _datasource(chosen, kinds)
    expression = _text(raw.get("expr"))
    skipped = ""
    if kind and kind not in PROMETHEUS:
        skipped = f"its data source is {kind}, not Prometheus"
    elif not expression.strip():
        skipped = "it has no expression"
    return Target(
        ref=_text(raw.get("refId")) or (chr(ord("A") + position) if position < 26 else str(position + 1)),
        expression=expression,
        legend=_text(raw.get("legendFormat")),
        instant=raw.get("instant") is True and raw.get("range") is not True,
        format=_text(raw.get("format")) or "time_series",
        hidden=raw.get("hide") is True,
        datasource=name,
        skipped=skipped,
    )


def _datasource(chosen: object, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Its kind, empty if nothing tells, and its name or uid."""
    if isinstance(chosen, Mapping):
        name, kind = _text(chosen.get("uid")), _text(chosen.get("type"))
    else:
        name, kind = _text(chosen), ""
    variable = name.strip("${}[]")
    told = NOT_PROMETHEUS.get(name) or (kinds.get(variable, "") if name != variable else "")
    if kind == "datasource":  # Grafana's own
        kind = ""
        told = told or "grafana"
    return told or kind, name


def _unit(raw: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Also where panels had it before Grafana 7."""
    left = next(iter(_mappings(raw.get("yaxes"))), {})
    old = raw.get("format") if raw.get("type") in ("singlestat", "gauge", "grafana-singlestat-panel") else ""
    return _text(defaults.get("unit")) or _text(left.get("format")) or _text(old)


def _stacking(raw: Mapping[str, Any], custom: Mapping[str, Any]) -> str:
    mode = _text(_mapping(custom.get("stacking")).get("mode"))
    if not mode and raw.get("stack") is True:
        mode = "percent" if raw.get("percentage") is True else "normal"
    return mode if mode in ("normal", "percent") else "none"


def _grid(raw: Mapping[str, Any]) -> Grid:
    plain = Grid()
    return Grid(
        *(
            max(least, otherwise if (number := _whole(raw.get(key))) is None else number)
            for key, otherwise, least in (("x", plain.x, 0), ("y", plain.y, 0), ("w", plain.w, 1), ("h", plain.h, 1))
        )
    )


def _variables(board: Mapping[str, Any]) -> Iterator[Variable]:
    for raw in _mappings(_mapping(board.get("templating")).get("list")):
        name = _text(raw.get("name"))
        if not name:
            continue
        query = raw.get("query")
        value = _mapping(raw.get("current")).get("value")
        options = (_text(one.get("value")) for one in _mappings(raw.get("options")))
        yield Variable(
            name=name,
            kind=_text(raw.get("type")) or "query",
            query=_text(_mapping(query).get("query") if isinstance(query, Mapping) else query),
            chosen=tuple(text for one in (value if isinstance(value, list) else [value]) if (text := _text(one))),
            options=tuple(one for one in options if one and one not in ALL),
            all_value=_text(raw.get("allValue")),
            include_all=raw.get("includeAll") is True,
            multi=raw.get("multi") is True,
            label=_text(raw.get("label")),
            regex=_text(raw.get("regex")),
        )


def _annotations(board: Mapping[str, Any]) -> Iterator[Annotation]:
    for raw in _mappings(_mapping(board.get("annotations")).get("list")):
        kind, name = _datasource(raw.get("datasource"), {})
        expression = _text(raw.get("expr")) if not kind or kind in PROMETHEUS else ""
        yield Annotation(_text(raw.get("name")), expression, name, raw.get("enable") is not False)


def with_queries(panel: Panel, *expressions: str) -> Panel:
    """The same panel asking other things; for tests and for trying an expression in its place."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return replace(panel, targets=tuple(Target(letters[at % 26], one) for at, one in enumerate(expressions)))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(one for one in _list(value) if isinstance(one, Mapping))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.15g}" if _number(value) is not None and not isinstance(value, bool) else ""


def _number(value: object) -> float | None:
    """Also of a number in quotes, as old dashboards have them."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _pixels(value: object, otherwise: int) -> int:
    return _whole(_text(value).removesuffix("px")) or otherwise


def _what(document: object) -> str:
    kinds = {dict: "an empty object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(document), "a number")
