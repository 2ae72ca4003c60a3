"""Boards as Grafana reads them, from version 10 to 12: every setting in the place where Grafana looks for it."""

import json
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import Board, Form, Panel, Query, Row, Step, Variable, Word
from dashboards.boards.every import BOARDS
from dashboards.grafana import TAG, as_grafana

EVERY = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
SOURCE = {"type": "prometheus", "uid": "$datasource"}
WIDTH = 24


def drawn(panel: Panel) -> dict[str, Any]:
    """The one panel of a board, as Grafana gets it."""
    made = as_grafana(Board("uid", "Title", "What it is.", (Row("Row", (panel,)),), (Variable("cluster", "Cluster", "up"),)))
    found: dict[str, Any] = made["panels"][-1]
    return found


def panels(board: Board) -> list[dict[str, Any]]:
    return [panel for panel in as_grafana(board)["panels"] if panel["type"] != "row"]


def empty_places(value: Any, path: str = "") -> list[str]:
    """Where there is null."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in empty_places(one, f"{path}/{key}")]
    return [found for one in value for found in empty_places(one, f"{path}/*")] if isinstance(value, list) else []


# The whole -------------------------------------------------------------------------------------------------------------


@EVERY
def test_a_board_is_in_the_form_that_every_grafana_from_10_on_takes(board):
    made = as_grafana(board)

    assert made["schemaVersion"] == 36  # Grafana 9; every later one brings it up to date by itself
    assert made["uid"] == board.uid and made["title"] == board.title
    assert "id" not in made  # of the place it is pushed to, not of the board
    assert {panel["type"] for panel in made["panels"]} <= {"row", "timeseries", "stat", "table", "state-timeline"}


@EVERY
def test_grafana_s_own_models_read_it_and_write_the_same(board):
    made = as_grafana(board)
    again = json.loads(json.dumps(Dashboard.from_json(made), cls=JSONEncoder))

    assert again == made


@EVERY
def test_nothing_is_null_but_the_first_step_which_grafana_wants_so(board):
    found = set(empty_places(as_grafana(board)))

    assert found <= {"/panels/*/fieldConfig/defaults/thresholds/steps/*/value"}


@EVERY
def test_every_panel_and_query_goes_to_the_data_source_that_was_chosen(board):
    made = as_grafana(board)
    first = made["templating"]["list"][0]

    assert (first["type"], first["name"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert all(panel["datasource"] == SOURCE for panel in panels(board))
    assert all(target.get("datasource", SOURCE) == SOURCE for panel in panels(board) for target in panel["targets"])
    assert all(one["datasource"] == SOURCE for one in made["templating"]["list"][1:])


@EVERY
def test_every_board_has_its_variables_and_shows_everything_until_one_is_chosen(board):
    listed = as_grafana(board)["templating"]["list"][1:]
    wanted = ["scenario", "kafka"] if board.uid == "kafka-trial-trials" else ["cluster"]

    assert [one["name"] for one in listed][: len(wanted)] == wanted
    for one in listed:
        assert (
            one["type"] == "query"
            and one["query"].startswith("label_values(")
            and one["query"].endswith(f", {one['name']})")
        )
        assert (one["includeAll"], one["allValue"], one["current"]["value"]) == (True, ".*", "$__all")
        assert one["refresh"] == 2  # when the time that is looked at changes: a cluster of last week can be found


@EVERY
def test_every_board_leads_to_the_others_with_what_was_chosen(board):
    (link,) = as_grafana(board)["links"]

    assert (link["type"], link["tags"], link["asDropdown"]) == ("dashboards", [TAG], True)
    assert link["includeVars"] and link["keepTime"]
    assert TAG in as_grafana(board)["tags"]  # by which it is found itself


@EVERY
def test_every_board_shows_what_trials_broke(board):
    (query,) = as_grafana(board)["annotations"]["list"]

    assert query["enable"] and query["datasource"] == {"type": "grafana", "uid": "-- Grafana --"}
    assert (query["target"]["type"], query["target"]["tags"]) == ("tags", ["kafka-trial"])


@EVERY
def test_no_two_panels_overlap_and_none_reaches_beyond_the_edge(board):
    taken: dict[tuple[int, int], str] = {}
    for panel in as_grafana(board)["panels"]:
        place = panel["gridPos"]
        assert place["w"] > 0 and place["h"] > 0 and place["x"] >= 0 and place["x"] + place["w"] <= WIDTH, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies over {taken[x, y]}"
                taken[x, y] = panel["title"]


@EVERY
def test_every_query_of_a_panel_has_a_letter_of_its_own(board):
    for panel in panels(board):
        letters = [target["refId"] for target in panel["targets"]]
        assert letters == sorted(set(letters)) and letters[0] == "A"


def test_rows_are_open_and_in_the_order_of_the_board():
    for board in BOARDS:
        rows = [panel for panel in as_grafana(board)["panels"] if panel["type"] == "row"]
        assert [row["title"] for row in rows] == [row.title for row in board.rows]
        assert all(row["collapsed"] is False and row["panels"] == [] for row in rows)
        assert [row["gridPos"]["y"] for row in rows] == sorted({row["gridPos"]["y"] for row in rows})


# One panel -------------------------------------------------------------------------------------------------------------

UP = Query("up", "{{job}}")


def test_lines_ask_for_a_range_and_a_number_for_this_moment():
    lines, number = drawn(Panel("P", (UP,))), drawn(Panel("P", (UP,), form=Form.NUMBER))

    assert (lines["type"], lines["targets"][0]["range"], lines["targets"][0]["instant"]) == ("timeseries", True, False)
    assert (number["type"], number["targets"][0]["range"], number["targets"][0]["instant"]) == ("stat", False, True)
    assert number["options"]["reduceOptions"]["calcs"] == ["lastNotNull"]
    assert lines["targets"][0]["legendFormat"] == "{{job}}"


def test_unit_edges_and_the_words_for_nothing_are_where_grafana_reads_them():
    made = drawn(Panel("P", (UP,), unit="percentunit", least=0, most=1, empty="No probe is scraped."))

    assert made["fieldConfig"]["defaults"] | {"custom": 0} == {
        "unit": "percentunit",
        "min": 0,
        "max": 1,
        "noValue": "No probe is scraped.",
        "custom": 0,
    }
    assert {"min", "max", "noValue", "thresholds", "mappings"}.isdisjoint(
        drawn(Panel("P", (UP,)))["fieldConfig"]["defaults"]
    )


def test_colours_begin_with_green_and_change_at_their_steps():
    made = drawn(Panel("P", (UP,), form=Form.NUMBER, steps=(Step(1, "orange"), Step(5, "red"))))

    assert made["fieldConfig"]["defaults"]["thresholds"] == {
        "mode": "absolute",
        "steps": [{"value": None, "color": "green"}, {"value": 1, "color": "orange"}, {"value": 5, "color": "red"}],
    }
    assert made["fieldConfig"]["defaults"]["color"] == {"mode": "thresholds"}
    assert made["options"]["colorMode"] == "background"


def test_steps_of_lines_are_drawn_as_lines_and_leave_each_its_colour():
    made = drawn(Panel("P", (UP,), steps=(Step(5000, "red"),)))["fieldConfig"]["defaults"]

    assert made["custom"]["thresholdsStyle"] == {"mode": "dashed"}
    assert "color" not in made
    assert "thresholdsStyle" not in drawn(Panel("P", (UP,)))["fieldConfig"]["defaults"]["custom"]


def test_words_stand_for_values():
    made = drawn(Panel("P", (UP,), form=Form.STATES, words=(Word(0, "down", "red"), Word(1, "up", "green"), Word(2, "so"))))

    assert made["type"] == "state-timeline"
    assert made["fieldConfig"]["defaults"]["mappings"] == [
        {
            "type": "value",
            "options": {
                "0": {"text": "down", "color": "red", "index": 0},
                "1": {"text": "up", "color": "green", "index": 1},
                "2": {"text": "so", "index": 2},
            },
        }
    ]


def test_lines_are_stacked_only_where_that_is_asked_for():
    assert drawn(Panel("P", (UP,), stacked=True))["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
    assert "stacking" not in drawn(Panel("P", (UP,)))["fieldConfig"]["defaults"]["custom"]


def test_a_table_merges_its_queries_and_names_hides_and_measures_its_columns():
    made = drawn(
        Panel(
            "P",
            (Query("a", column="so"), Query("b", column="behind", unit="s")),
            form=Form.TABLE,
            hidden=("so", "instance"),
        )
    )

    assert [(one["refId"], one["format"], one["instant"]) for one in made["targets"]] == [
        ("A", "table", True),
        ("B", "table", True),
    ]
    assert made["transformations"] == [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True, "Value #A": True, "instance": True},  # Grafana leaves out before it renames
                "renameByName": {"Value #A": "so", "Value #B": "behind"},
            },
        },
    ]
    assert made["fieldConfig"]["overrides"] == [
        {"matcher": {"id": "byName", "options": "behind"}, "properties": [{"id": "unit", "value": "s"}]}
    ]
    assert made["options"]["showHeader"] is True


def test_a_table_of_one_query_has_its_value_under_the_plain_name():
    made = drawn(Panel("P", (Query("a", column="runs"),), form=Form.TABLE))

    assert made["transformations"][1]["options"]["renameByName"] == {"Value": "runs"}


@EVERY
def test_every_column_of_a_table_has_a_name_and_what_is_hidden_is_there_to_hide(board):
    for panel in (panel for panel in board.panels if panel.form is Form.TABLE):
        columns = [query.column for query in panel.queries]
        assert all(columns) and len(set(columns)) == len(columns), panel.title
        options = drawn(panel)["transformations"][1]["options"]
        assert set(options["excludeByName"]) - {"Time"} <= {*options["renameByName"], "instance", "job"}, panel.title
