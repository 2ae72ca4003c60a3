"""A board in the form Grafana reads, written by Grafana's own SDK: the oldest form that Grafana 10 to 12 all take."""

import json
import zlib
from typing import Any

from grafana_foundation_sdk.builders import common as parts
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.board import Board, Form, Panel, Query, Variable

TAG = "kafka-trial"
SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="$datasource")
GRAFANA = dashboard.DataSourceRef(type_val="grafana", uid="-- Grafana --")
WIDTH = 24
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ALL = dashboard.VariableOption(selected=True, text="All", value="$__all")


def as_grafana(board: Board) -> dict[str, Any]:
    made = (
        builders.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags([TAG, "kafka"])
        .editable()
        .timezone("browser")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .time("now-1h", "now")
        .refresh("30s")
        .link(
            builders.DashboardLink("Kafka")
            .type(dashboard.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .include_vars(True)
            .keep_time(True)
        )
        .annotation(_trials())
        .with_variable(builders.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    for variable in board.variables:
        made.with_variable(_variable(variable))
    for row in board.rows:
        made.with_row(builders.Row(row.title).id(identity(f"row {row.title}")))
        for panel in row.panels:
            made.with_panel(_panel(panel))
    found: dict[str, Any] = json.loads(json.dumps(made.build(), cls=JSONEncoder))
    _place(found["panels"])
    return found


def _place(panels: list[dict[str, Any]]) -> None:
    """From left to right, and below where it would not fit: the SDK lets a wide panel reach beyond the edge."""
    x = y = tallest = 0
    for place in (panel["gridPos"] for panel in panels):
        if x + place["w"] > WIDTH:
            x, y, tallest = 0, y + tallest, 0
        place["x"], place["y"] = x, y
        x, tallest = x + place["w"], max(tallest, place["h"])


def identity(title: str) -> int:
    """A panel's number: made of its title, so that links to it outlive any change of the order."""
    return zlib.crc32(title.encode()) & 0x7FFFFFFF


def _panel(panel: Panel) -> Any:
    made = _FORMS[panel.form](panel)
    made.id(identity(panel.title)).title(panel.title).description(panel.description).datasource(SOURCE)
    made.unit(panel.unit).span(panel.width).height(panel.height)
    made.targets([_target(query, LETTERS[place], panel.form) for place, query in enumerate(panel.queries)])
    if panel.empty:
        made.no_value(panel.empty)
    if panel.least is not None:
        made.min(panel.least)
    if panel.most is not None:
        made.max(panel.most)
    if panel.words:
        made.mappings([_words(panel)])
    if panel.steps:
        steps = [dashboard.Threshold(value=None, color="green")]
        steps += [dashboard.Threshold(value=step.value, color=step.color) for step in panel.steps]
        made.thresholds(builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps))
        if panel.form is not Form.LINES:
            made.color_scheme(builders.FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
    return made


def _lines(panel: Panel) -> Any:
    made = timeseries.Panel().line_width(1).fill_opacity(12 if panel.stacked else 4)
    made.show_points(common.VisibilityMode.NEVER)
    made.legend(
        parts.VizLegendOptions()
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs([])
    )
    made.tooltip(parts.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    if panel.stacked:
        made.stacking(parts.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    if panel.steps:
        made.thresholds_style(parts.GraphThresholdsStyleConfig().mode(common.GraphTresholdsStyleMode.DASHED))
    return made


def _number(panel: Panel) -> Any:
    several = len(panel.queries) > 1 or bool(panel.queries[0].legend)
    return (
        stat.Panel()
        .reduce_options(parts.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
        .color_mode(common.BigValueColorMode.BACKGROUND if panel.steps or panel.words else common.BigValueColorMode.NONE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .text_mode(common.BigValueTextMode.VALUE_AND_NAME if several else common.BigValueTextMode.AUTO)
    )


def _table(panel: Panel) -> Any:
    columns = {
        ("Value" if len(panel.queries) == 1 else f"Value #{LETTERS[place]}"): query.column
        for place, query in enumerate(panel.queries)
    }
    fields = {column: field for field, column in columns.items()}
    hidden = dict.fromkeys(("Time", *(fields.get(name, name) for name in panel.hidden)), True)  # by the name before renaming
    made = table.Panel().show_header(True)  # without any option of its own the SDK writes null for all of them
    made.with_transformation(dashboard.DataTransformerConfig(id_val="merge", options={}))
    made.with_transformation(
        dashboard.DataTransformerConfig(id_val="organize", options={"excludeByName": hidden, "renameByName": columns})
    )
    for query in panel.queries:
        if query.unit:
            made.override_by_name(query.column, [dashboard.DynamicConfigValue(id_val="unit", value=query.unit)])
    return made


def _states(panel: Panel) -> Any:
    return (
        statetimeline.Panel()
        .show_value(common.VisibilityMode.NEVER)
        .merge_values(True)
        .row_height(0.8)
        .legend(
            parts.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs([])
        )
    )


_FORMS = {Form.LINES: _lines, Form.NUMBER: _number, Form.TABLE: _table, Form.STATES: _states}


def _target(query: Query, letter: str, form: Form) -> Any:
    made = prometheus.Dataquery().ref_id(letter).expr(query.expression).legend_format(query.legend or "__auto")
    if form is Form.TABLE:
        return made.instant().format(PromQueryFormat.TABLE)
    return made.instant() if form is Form.NUMBER else made.range()


def _words(panel: Panel) -> Any:
    return dashboard.ValueMap(
        options={
            f"{word.value:g}": dashboard.ValueMappingResult(text=word.text, color=word.color or None, index=place)
            for place, word in enumerate(panel.words)
        }
    )


def _variable(variable: Variable) -> Any:
    return (
        builders.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(SOURCE)
        .query(variable.source)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.NUMERICAL_ASC)
        .include_all(True)
        .all_value(".*")  # what has no such label is shown too, as long as nothing was chosen
        .current(ALL)
    )


def _trials() -> Any:
    """What a trial broke, and for how long: `kafka-trial run --annotate` and `dashboards annotate` write it."""
    return (
        builders.AnnotationQuery()
        .name("Trials")
        .datasource(GRAFANA)
        .enable(True)
        .icon_color("orange")
        .target(builders.AnnotationTarget().limit(200).match_any(True).tags([TAG]).type("tags"))
    )
