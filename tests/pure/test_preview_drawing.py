"""The parts of a preview's drawings: paths with their gaps, axes, colours, names, the grid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.preview.axis import axis
from dashboards.preview.colours import colour, of_line, own
from dashboards.preview.drawing import reduced
from dashboards.preview.layout import places, shelves, style
from dashboards.preview.naming import formatted, names, natural
from dashboards.preview.svg import area, el, path
from dashboards.preview.values import Answer, Asked, Line, Question
from dashboards.reading import Grid, Target, dashboard_of


def test_a_gap_lifts_the_pen_and_one_point_alone_is_a_dot():
    assert path([(0, 1), (5, 9), None, (10, 3), None, (15, 4), (20, 2)]) == "M0 1L5 9M10 3h0M15 4L20 2"


def test_the_middle_of_a_level_is_left_out_but_not_its_ends():
    assert path([(0, 7), (1, 7), (2, 7), (3, 7), (4, 0)]) == "M0 7L3 7L4 0"


def test_an_area_has_the_gaps_of_its_line():
    upper = [(0, 1), (5, 2), None, (10, 3), (15, 4)]
    lower = [(0, 9), (5, 9), None, (10, 9), (15, 9)]

    assert area(upper, lower) == "M0 1L5 2L5 9L0 9ZM10 3L15 4L15 9L10 9Z"
    assert area([(0, 1), None], [(0, 9), None]) == ""


def test_markup_in_an_attribute_or_a_text_is_escaped():
    assert el("a", '<b>"', title='"><script>') == '<a title="&#34;&gt;&lt;script&gt;">&lt;b&gt;&#34;</a>'


@pytest.mark.parametrize(
    ("values", "unit", "more", "words"),
    [
        ([0.0, 3.0], "short", {}, ["0", "1", "2", "3"]),
        ([0.0, 0.0], "short", {}, ["0", "1"]),
        ([1.0, 1.0], "none", {}, ["0", "1"]),
        ([0.0, 9000.0], "short", {}, ["0", "2 K", "4 K", "6 K", "8 K", "10 K"]),
        ([0.0, 5 * 1024.0], "bytes", {}, ["0 B", "1 KiB", "2 KiB", "3 KiB", "4 KiB", "5 KiB"]),
        ([0.0, 3000.0], "bytes", {}, ["0 B", "1 KiB", "2 KiB", "3 KiB"]),
        ([0.0, 280.0], "s", {}, ["0 s", "1 min", "2 min", "3 min", "4 min", "5 min"]),
        ([0.2, 0.9], "percentunit", {"least": 0, "most": 1}, ["0%", "20%", "40%", "60%", "80%", "100%"]),
        ([-5.0, 5.0], "short", {}, ["-6", "-4", "-2", "0", "2", "4", "6"]),
    ],
)
def test_an_axis_has_round_marks_in_its_unit(values: list[float], unit: str, more: dict[str, float], words: list[str]):
    assert [text for _, text in axis(values, unit, **more).marks] == words


def test_lines_far_above_nothing_keep_their_shape_unless_they_are_stacked():
    assert axis([1000.0, 1040.0], "short").low > 900
    assert axis([1000.0, 1040.0], "short", from_zero=True).low == 0


def test_a_threshold_near_the_lines_is_in_the_picture_and_one_far_off_does_not_flatten_them():
    assert axis([0.0, 2000.0], "ms", thresholds=[5000.0]).high >= 5000
    assert axis([0.0, 2000.0], "ms", thresholds=[500_000.0]).high < 5000


@given(
    st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=20),
    st.sampled_from(["short", "bytes", "s", "cps"]),
)
def test_whatever_the_values_the_axis_reaches_them_and_its_marks_differ(values: list[float], unit: str):
    found = axis(values, unit)

    hair = 1e-6 * (found.high - found.low)  # less than anybody sees
    assert found.low - hair <= min(values) and found.high + hair >= max(values) and found.low < found.high
    assert len({text for _, text in found.marks}) == len(found.marks) < 15


@pytest.mark.parametrize(
    ("word", "look"),
    [
        ("red", "k-red"),
        ("dark-red", "k-red"),
        ("super-light-blue", "k-blue"),
        ("#EAB839", "x-eab839"),
        ("#f0a", "x-ff00aa"),
        ("rgba(50, 172, 45, 0.97)", "x-32ac2d"),
        ("transparent", ""),
        ('red"><script>', ""),
        ("url(http://x)", ""),
    ],
)
def test_a_colour_is_a_class_or_nothing(word: str, look: str):
    assert colour(word) == look


def test_colours_by_number_get_a_style_of_their_own():
    assert own('<i class="tile x-eab839"></i><i class="x-ff00aa">') == ".x-eab839{--c:#eab839}.x-ff00aa{--c:#ff00aa}"


def test_the_first_24_lines_look_all_different():
    assert len({of_line(place) for place in range(24)}) == 24


def _names(legend: str, *labels: dict[str, str], expression: str = "up") -> list[str]:
    lines = tuple(Line(one, (1.0,)) for one in labels)
    return names(Asked(Target("A", expression, legend), Question(expression, True), Answer(lines)), {})


def test_a_legend_format_takes_labels_and_leaves_out_those_that_are_not_there():
    assert formatted("{{ cluster }} node {{node}}{{gone}}", {"cluster": "main", "node": "1"}, {}) == "main node 1"
    assert formatted("$topic {{node}}", {"node": "1"}, {"topic": "orders"}) == "orders 1"


def test_left_to_grafana_a_line_is_called_by_what_tells_it_from_the_others():
    first, second = {"__name__": "up", "job": "kafka", "node": "1"}, {"__name__": "up", "job": "kafka", "node": "2"}

    assert _names("__auto", first, second) == ["1", "2"]
    assert _names("__auto", first, {**second, "job": "x"}) == ['{job="kafka", node="1"}', '{job="x", node="2"}']
    assert _names("__auto", {}, expression="sum(up)") == ["sum(up)"]
    assert _names("__auto", first) == ['{job="kafka", node="1"}']


def test_without_a_format_the_whole_name_is_shown_and_a_format_that_leaves_nothing_is_none():
    assert _names("", {"__name__": "up", "job": "kafka"}) == ['up{job="kafka"}']
    assert _names("{{gone}}", {"job": "kafka"}) == ["kafka"]


def test_node_2_comes_before_node_10():
    assert sorted(["node 10", "node 2", "node x"], key=natural) == ["node 2", "node 10", "node x"]


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("lastNotNull", 3.0),
        ("last", None),
        ("max", 5.0),
        ("min", 1.0),
        ("mean", 3.0),
        ("sum", 9.0),
        ("range", 4.0),
        ("count", 3.0),
        ("delta", 4.0),
        ("odd", 3.0),
    ],
)
def test_one_value_of_many(how: str, value: float | None):
    assert reduced([1.0, None, 5.0, 3.0, None], how) == value


def test_panels_stand_where_grafana_has_them():
    found = places([Grid(0, 0, 12, 8), Grid(12, 0, 12, 8), Grid(0, 8, 24, 5)])

    assert [(one.left, one.right, one.top, one.bottom) for one in found] == [(1, 13, 1, 2), (13, 25, 1, 2), (1, 25, 2, 3)]


def test_what_overlaps_is_pushed_down_and_what_floats_falls_up():
    over, floating = places([Grid(0, 0, 12, 8), Grid(6, 2, 12, 4)])[1], places([Grid(0, 90, 12, 8)])[0]

    assert (over.top, floating.top) == (2, 1)


@pytest.mark.slow
@given(
    st.lists(st.builds(Grid, st.integers(0, 40), st.integers(0, 60), st.integers(1, 40), st.integers(1, 50)), max_size=12)
)
def test_no_two_panels_ever_cover_each_other_or_leave_the_page(grids: list[Grid]):
    found = places(grids)

    for place, one in enumerate(found):
        assert 1 <= one.left < one.right <= 25 and 1 <= one.top < one.bottom
        for other in found[place + 1 :]:
            beside = one.right <= other.left or other.right <= one.left
            assert beside or one.bottom <= other.top or other.bottom <= one.top


def test_each_row_of_a_dashboard_is_a_shelf():
    plain = {"type": "stat", "gridPos": {"x": 0, "y": 1, "w": 4, "h": 4}}
    board = dashboard_of({"panels": [plain, {"type": "row", "title": "Two"}, plain, plain]})
    found = shelves(board.panels)

    assert [(one.title, [number for number, _ in one.places]) for one in found] == [("", [0]), ("Two", [1, 2])]
    assert style(found).startswith(".p0{--at:1/1/2/5;--h:4}")
