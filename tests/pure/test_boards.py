"""Our own dashboards: nine of them, complete, described, honest about what may be missing, and sound to our own judge."""

import re
from collections import Counter

import pytest

from dashboards.board import Board, Form, Panel
from dashboards.boards.every import BOARDS
from dashboards.expressions import known
from dashboards.grafana import as_grafana, identity
from dashboards.lint.known import of_catalogue
from dashboards.lint.linting import lint
from dashboards.lint.tree import bare, everything, name_of, operator, parsed, pinned, selectors
from dashboards.reading import dashboard_of
from dashboards.variables import filled, unfilled, used
from kernel.metric_tables import METRICS
from kernel.metrics import Scope

EVERY = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
UIDS = [
    "kafka-trial-health",
    "kafka-trial-brokers",
    "kafka-trial-controllers",
    "kafka-trial-topics",
    "kafka-trial-lag",
    "kafka-trial-clients",
    "kafka-trial-probe",
    "kafka-trial-freshness",
    "kafka-trial-trials",
]
PROMETHEUS_OWN = {"ALERTS", "up", "scrape_duration_seconds", "scrape_samples_scraped"}
# Of these the greatest is what is meant, though the catalogue tells them apart by more labels.
GREATEST = {
    ("kafka_server_replicafetchermanager_maxlag", "client_id"),
    ("kafka_server_replicafetchermanager_failedpartitionscount", "client_id"),
    ("kafka_server_replicafetchermanager_deadthreadcount", "client_id"),
}
COMPOSED = re.compile(r"\{\{(\w+)\}\}")


def queries(board: Board) -> list[tuple[Panel, str]]:
    return [(panel, query.expression) for panel in board.panels for query in panel.queries]


def names(expression: str) -> set[str]:
    return {name_of(one) for one in selectors(parsed(filled(expression, {})))}


def shown_names() -> set[str]:
    return {name for board in BOARDS for _, expression in queries(board) for name in names(expression)}


def of_catalogue_named(names: set[str]) -> set[str]:
    return {known(name).name for name in names - PROMETHEUS_OWN}


# Names that links and pushes rest on ----------------------------------------------------------------------------------


def test_there_are_nine_boards_under_the_uids_by_which_links_know_them():
    assert [board.uid for board in BOARDS] == UIDS


def test_no_uid_is_longer_than_grafana_takes():
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", board.uid) for board in BOARDS)


def test_no_two_boards_have_one_title():
    assert len({board.title for board in BOARDS}) == len(BOARDS)
    assert all(board.title.startswith("Kafka: ") for board in BOARDS)


@EVERY
def test_no_two_panels_or_rows_of_a_board_have_one_number(board):
    ids = Counter(panel["id"] for panel in as_grafana(board)["panels"])

    assert [one for one, times in ids.items() if times > 1] == []
    assert all(0 < one < 2**31 for one in ids)


def test_the_numbers_of_panels_are_those_of_yesterday():
    assert {title: identity(title) for title in ("Brokers", "Offline partitions", "row Now", "Newest verdict")} == {
        "Brokers": 1699657027,
        "Offline partitions": 766376291,
        "row Now": 586744623,
        "Newest verdict": 1312488195,
    }


def test_a_panel_keeps_its_number_when_the_order_changes():
    board = BOARDS[0]
    turned = Board(board.uid, board.title, board.description, tuple(reversed(board.rows)), board.variables)

    assert numbers(turned) == numbers(board)
    assert [*numbers(turned)] != [*numbers(board)]


def numbers(board: Board) -> dict[str, int]:
    return {panel["title"]: panel["id"] for panel in as_grafana(board)["panels"] if panel["type"] != "row"}


# What is on them ------------------------------------------------------------------------------------------------------


def test_every_metric_that_the_documents_single_out_is_on_some_panel():
    singled_out = {row.name for row in METRICS if row.star and not row.until}

    assert singled_out - of_catalogue_named(shown_names()) == set()
    assert len(singled_out) > 30


def test_what_is_gone_with_kafka_4_is_on_no_panel():
    gone = {row.name for row in METRICS if row.until}

    assert gone, "the catalogue names none"
    assert gone & of_catalogue_named(shown_names()) == set()


def test_every_name_that_is_asked_for_is_in_the_catalogue_or_prometheus_own():
    known_names = {row.name for row in METRICS}

    assert of_catalogue_named(shown_names()) <= known_names


@EVERY
def test_every_panel_has_a_unit_a_description_and_a_query(board):
    for panel in board.panels:
        assert panel.title and panel.unit and panel.queries, panel
        assert panel.description.strip().endswith((".", "…")), f"{panel.title}: {panel.description!r}"
        assert all(query.expression for query in panel.queries)


@EVERY
def test_every_line_says_whose_it_is(board):
    """A legend is made of labels that the query keeps; one that is not there would be an empty word."""
    for panel in board.panels:
        for query in panel.queries:
            kept = labels_kept(query.expression)
            missing = {label for label in COMPOSED.findall(query.legend) if kept is not None and label not in kept}
            assert not missing, f"{panel.title}: {query.legend} has {missing}, which {query.expression} drops"
            if panel.form is not Form.TABLE and len(panel.queries) > 1:
                assert query.legend, f"{panel.title}: which of its lines is which?"


def labels_kept(expression: str) -> set[str] | None:
    """Of the outermost aggregation that every side of the expression has; None where there is none to go by."""
    found = [one for one in everything(parsed(filled(expression, {}))) if hasattr(one, "modifier") and hasattr(one, "op")]
    sides = [set(one.modifier.labels) for one in found if one.__class__.__name__ == "AggregateExpr" and one.modifier]
    return set.union(*sides) if sides else None


@EVERY
def test_every_query_parses_once_its_variables_are_filled(board):
    for panel, expression in queries(board):
        made = filled(expression, {})
        assert unfilled(made) == [], panel.title
        parsed(made)


@EVERY
def test_no_query_asks_for_a_variable_that_the_board_does_not_have(board):
    there = {variable.name for variable in board.variables} | {"__rate_interval", "__range"}

    for panel, expression in queries(board):
        assert set(used(expression)) <= there, panel.title


@EVERY
def test_every_query_heeds_the_cluster_that_was_chosen(board):
    if board.uid == "kafka-trial-trials":
        return
    for panel, expression in queries(board):
        for one in selectors(parsed(filled(expression, {"cluster": "chosen"}))):
            if known_scope(name_of(one)) is not Scope.TRIAL:  # runs are of no cluster that still is
                assert heeds(one), f"{panel.title}: {expression}"


def heeds(selector) -> bool:
    return any(one.name == "cluster" and one.value == "chosen" for one in selector.matchers.matchers)


def known_scope(name: str) -> Scope | None:
    return None if name in PROMETHEUS_OWN else known(name).scope


@EVERY
def test_only_what_is_added_up_is_told_of_many_at_once(board):
    """The greatest of a node's partitions, versions or clients is not what the node has."""
    dropped = {
        (name_of(inner), label)
        for _, expression in queries(board)
        for one, inner in aggregated(expression)
        if operator(one) == "max" and name_of(inner) not in PROMETHEUS_OWN
        for label in known(name_of(inner)).label_names
        if known(name_of(inner)).scope not in (Scope.CONTROLLERS, Scope.ACTIVE, Scope.TRIAL)
        if label not in one.modifier.labels and label not in pinned(inner)
    }

    assert dropped <= GREATEST


def aggregated(expression: str):
    """Each aggregation that is right around a selector, or around a rate of one, with it."""
    for one in everything(parsed(filled(expression, {}))):
        if one.__class__.__name__ == "AggregateExpr":
            inner = bare(one.expr)
            inner = bare(inner.args[0]) if hasattr(inner, "args") and len(inner.args) == 1 else inner
            inner = getattr(inner, "vector_selector", inner)
            if inner.__class__.__name__ == "VectorSelector":
                yield one, inner


def test_how_long_a_twin_took_to_fail_is_not_mixed_with_what_was_promised():
    """A twin has its scenario's name, and is run to fail."""
    told = [
        (panel.title, expression)
        for board in BOARDS
        for panel, expression in queries(board)
        if {known_scope(name) for name in names(expression)} == {Scope.TRIAL} and "twin" not in expression
    ]

    assert [title for title, _ in told] == ["Since the newest run", *["Runs without a verdict, or damaged"] * 2]


# What the reader is told ----------------------------------------------------------------------------------------------


@EVERY
def test_a_panel_that_may_be_empty_says_why_in_a_sentence(board):
    for panel in board.panels:
        if panel.empty:
            assert panel.empty[0].isupper() and panel.empty.endswith((".", "file.")), panel.empty
            made = next(one for one in as_grafana(board)["panels"] if one["title"] == panel.title)
            assert made["fieldConfig"]["defaults"]["noValue"] == panel.empty


def test_what_needs_something_that_not_everybody_runs_says_so_when_it_is_not_there():
    """Of a cluster with an exporter alone these have nothing to show."""
    elsewhere = {Scope.PROBE, Scope.GROUP, Scope.AUDIT, Scope.CLIENT, Scope.TRIAL}
    own_board = {"kafka-trial-lag"}  # whoever opens it has a lag monitor: its cluster variable is empty else
    for board in BOARDS:
        for panel, expression in queries(board):
            told = {known_scope(name) for name in names(expression)}
            if told & elsewhere and board.uid not in own_board:
                assert panel.empty, f"{board.uid}: {panel.title}"


def test_what_appears_only_with_an_event_says_so_while_it_is_not_there():
    silent = [
        (board.uid, panel.title)
        for board in BOARDS
        for panel, expression in queries(board)
        if not panel.empty
        for name in names(expression) - PROMETHEUS_OWN
        if known(name).appears
    ]

    assert silent == []


@EVERY
def test_a_board_describes_itself_in_a_line(board):
    assert board.description and "\n" not in board.description and board.description.endswith((".", "?"))


# Our own judge --------------------------------------------------------------------------------------------------------


@EVERY
def test_our_own_judge_finds_nothing(board):
    report = lint(dashboard_of(as_grafana(board), source=board.uid), of_catalogue(METRICS))

    assert [f"{one.panel}: {one.sentence}" for one in (*report.findings, *report.skipped)] == []
    assert report.queries == len(queries(board))


def test_our_own_judge_would_find_a_mistake():
    made = as_grafana(BOARDS[0])
    panel = next(one for one in made["panels"] if one["title"] == "Offline partitions")
    panel["targets"][0]["expr"] = panel["targets"][0]["expr"].replace("max by (cluster)", "sum by (cluster)", 1)
    report = lint(dashboard_of(made, source="wrong"), of_catalogue(METRICS))

    assert [one.check for one in report.findings] == ["sum-of-replicated"]
