"""Every kind of panel, drawn of made-up answers: what it shows, what it says when there is nothing, and no text is code."""

import re
from dataclasses import replace

import pytest

from dashboards.preview.page import Source
from dashboards.preview.panels import Card, Standing, card
from dashboards.preview.site import Site, file_names, site
from dashboards.preview.values import Answer, Region
from tests.pure.preview_example import START, WINDOW, answer, course, everything, panel, scene, told

HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'&"
SOURCE = Source("http://localhost:9090", "kafka-trial")
RED = {"steps": [{"color": "green", "value": None}, {"color": "red", "value": 1}]}
LINE = r'class="line s\d" d="([^"]*)"'
UP = {"type": "value", "options": {"0": {"text": "down", "color": "red"}, "1": {"text": "up", "color": "green"}}}


def drawn(*given: object, **raw: object) -> Card:
    """A card of a panel's kind and its answers, one for each query."""
    kind, *answers = given
    made = panel(str(kind), *(chr(97 + place) for place in range(len(answers))), **raw)
    return card(scene(made, *answers))  # type: ignore[arg-type]


def cells(body: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_lines_have_a_legend_with_last_least_and_greatest_in_their_unit():
    values = [1024.0] * (WINDOW.points - 2) + [512.0, 2048.0]
    made = drawn("timeseries", answer(({"node": "1"}, values)), defaults={"unit": "bytes"}, legends=["node {{node}}"])

    assert cells(made.body) == [["", "last", "min", "max"], ["node 1", "2 KiB", "512 B", "2 KiB"]]
    assert made.standing is Standing.DRAWN


def test_a_line_that_ended_has_no_last_value():
    made = drawn("timeseries", answer(({"node": "1"}, [5.0] * 300 + [None] * (WINDOW.points - 300))))

    assert cells(made.body)[1] == ["1", "–", "5", "5"]


def test_gaps_stay_gaps():
    whole, torn = (drawn("timeseries", answer(({}, course(gap=gap)))) for gap in (None, (100, 140)))

    assert [re.search(r'class="line s0" d="([^"]*)"', one.body)[1].count("M") for one in (whole, torn)] == [1, 2]  # type: ignore[index]


def test_nan_and_infinity_are_gaps_and_alone_they_are_nothing():
    some = drawn("timeseries", answer(({}, [float("nan"), 1.0, float("inf"), 2.0])))

    assert some.standing is Standing.DRAWN and "nan" not in some.body.lower()
    assert drawn("timeseries", answer(({}, [float("nan")] * 9))).standing is Standing.EMPTY


def test_stacked_lines_stand_on_each_other():
    both = answer(({"node": "1"}, [10.0] * WINDOW.points), ({"node": "2"}, [30.0] * WINDOW.points))
    stacked = drawn("timeseries", both, defaults={"custom": {"stacking": {"mode": "normal"}}})
    shares = drawn("timeseries", both, defaults={"custom": {"stacking": {"mode": "percent"}}})

    assert re.findall(LINE, stacked.body)[:2] == ["M0 750L2000 750", "M0 0L2000 0"]  # of 40
    assert re.findall(LINE, shares.body)[:2] == ["M0 750L2000 750", "M0 0L2000 0"]
    assert ">100%</text>" in shares.body and ">40</text>" in stacked.body


def test_thresholds_are_lines_only_if_the_dashboard_says_so():
    values = answer(({}, [0.0, 2.0] * (WINDOW.points // 2)))
    dashed = drawn("timeseries", values, defaults={"thresholds": RED, "custom": {"thresholdsStyle": {"mode": "dashed"}}})
    off = drawn("timeseries", values, defaults={"thresholds": RED, "custom": {"thresholdsStyle": {"mode": "off"}}})

    assert 'class="threshold k-red" x1="0" x2="2000" y1="500" y2="500"' in dashed.body
    assert "threshold" not in off.body


def test_a_line_in_another_unit_has_an_axis_of_its_own():
    other = {"matcher": {"id": "byName", "options": "b"}, "properties": [{"id": "unit", "value": "s"}]}
    made = drawn(
        "timeseries",
        answer(({"n": "a"}, [4.0])),
        answer(({"n": "b"}, [0.25])),
        defaults={"unit": "bytes"},
        overrides=[other],
    )

    assert "scale left" in made.body and "scale right" in made.body
    assert [row[1] for row in cells(made.body)[1:]] == ["4 B", "250 ms"]


def test_overrides_hide_rename_colour_and_turn_lines_over():
    changes = [
        {"matcher": {"id": "byRegexp", "options": "/^h/"}, "properties": [
            {"id": "custom.hideFrom", "value": {"viz": True}}]},
        {"matcher": {"id": "byName", "options": "in"}, "properties": [{"id": "displayName", "value": "into"}]},
        {"matcher": {"id": "byFrameRefID", "options": "B"}, "properties": [
            {"id": "custom.transform", "value": "negative-Y"},
            {"id": "color", "value": {"mode": "fixed", "fixedColor": "#ff00aa"}}]},
        {"matcher": {"id": "byRegexp", "options": "(["}, "properties": [{"id": "unit", "value": "s"}]},
    ]  # fmt: skip
    made = drawn(
        "timeseries",
        answer(({"n": "in"}, [4.0]), ({"n": "hidden"}, [4.0])),
        answer(({"n": "out"}, [4.0])),
        overrides=changes,
    )

    assert [row[:2] for row in cells(made.body)[1:]] == [["into", "4"], ["out", "-4"]]
    assert 'class="line x-ff00aa"' in made.body


def test_more_lines_than_anybody_can_see_are_counted_not_drawn():
    made = drawn("timeseries", answer(*(({"n": str(number)}, [1.0]) for number in range(75))))

    assert made.notes == ("15 more series are not drawn.",) and made.body.count('class="line ') == 2 * 60
    assert "<summary>53 more</summary>" in made.body


def test_what_happened_is_shown_as_far_as_it_lies_in_the_window():
    at = START * 1000
    happened = (
        Region(at + 900_000, at + 1_800_000, "killed <1>"),
        Region(at - 600_000, at + 36_000, "before"),
        Region(at - 9_000_000, at - 8_000_000, "long ago"),
        Region(at + 2_700_000, None, "healthy"),
    )
    body = card(scene(panel("timeseries", "a"), answer(({}, course())), regions=happened)).body

    assert '<rect class="fault" x="500" y="0" width="500" height="1000"><title>killed &lt;1&gt;</title></rect>' in body
    assert '<rect class="fault" x="0" y="0" width="20" height="1000">' in body and "long ago" not in body
    assert '<line class="moment" x1="1500" x2="1500"' in body


@pytest.mark.parametrize(("value", "look"), [(0.0, "tile ground k-green"), (1.0, "tile ground k-red")])
def test_a_number_takes_the_colour_of_its_threshold(value: float, look: str):
    made = drawn("stat", answer(({}, [value])), defaults={"thresholds": RED}, options={"colorMode": "background"})

    assert f'class="{look}"' in made.body


def test_a_number_is_its_word_where_it_has_one_and_keeps_its_own_colour():
    made = drawn("stat", answer(({}, [0.0])), defaults={"mappings": [UP], "thresholds": RED}, options={"colorMode": "value"})

    assert "<b>down</b>" in made.body and 'class="tile coloured k-red"' in made.body


def test_numbers_have_names_when_there_are_several_and_no_colour_when_none_is_wanted():
    several = answer(({"n": "a"}, [1.0]), ({"n": "b"}, [2.0]))
    made = drawn("stat", several, defaults={"thresholds": RED, "unit": "s"}, options={"colorMode": "none"})

    assert "<b>1 s</b><small>a</small>" in made.body and "<b>2 s</b><small>b</small>" in made.body and "k-" not in made.body
    assert "<small>" not in drawn("stat", answer(({"n": "a"}, [1.0]))).body


def test_a_number_of_a_course_is_what_the_panel_reduces_it_to():
    made = drawn(
        "stat", answer(({}, [1.0, 7.0, 3.0, None])), options={"reduceOptions": {"calcs": ["max"]}, "graphMode": "area"}
    )

    assert "<b>7</b>" in made.body and 'class="course"' in made.body


def test_a_table_merges_its_queries_by_the_labels_they_share():
    verdict = answer(
        ({"cluster": "m", "group": "g2", "status": "OK"}, [1.0]), ({"cluster": "m", "group": "g1", "status": "SLOW"}, [1.0])
    )
    behind = answer(({"cluster": "m", "group": "g1"}, [90.0]), ({"cluster": "m", "group": "g3"}, [0.5]))
    organize = {
        "id": "organize",
        "options": {"excludeByName": {"Time": True, "Value #A": True}, "renameByName": {"Value #B": "behind"}},
    }
    unit = {"matcher": {"id": "byName", "options": "behind"}, "properties": [{"id": "unit", "value": "s"}]}
    made = drawn("table", verdict, behind, transformations=[{"id": "merge"}, organize], overrides=[unit])

    assert cells(made.body) == [
        ["cluster", "group", "status", "behind"],
        ["m", "g1", "SLOW", "1.5 min"],
        ["m", "g2", "OK", "–"],
        ["m", "g3", "–", "500 ms"],
    ]


def test_a_column_is_left_out_by_the_name_it_had_before_it_was_renamed():
    renamed = {"Value #A": "so", "Value #B": "behind"}
    both = (answer(({"group": "g"}, [1.0])), answer(({"group": "g"}, [5.0])))
    before, after = (
        drawn(
            "table",
            *both,
            transformations=[{"id": "organize", "options": {"excludeByName": {name: True}, "renameByName": renamed}}],
        )
        for name in ("Value #A", "so")
    )

    assert cells(before.body)[0] == ["group", "behind"]
    assert cells(after.body)[0] == ["group", "so", "behind"]  # as in Grafana


def test_rows_that_contradict_each_other_are_two_and_series_of_one_query_never_merge():
    twice = answer(({"group": "g", "status": "OK"}, [1.0]), ({"group": "g", "status": "SLOW"}, [1.0]))

    assert len(cells(drawn("table", twice, answer(({"group": "g"}, [5.0]))).body)) == 1 + 2
    assert len(cells(drawn("table", answer(({}, [1.0]), ({}, [1.0]))).body)) == 1 + 2


def test_a_table_is_sorted_and_ordered_as_its_file_says():
    three = answer(*(({"b": name, "a": "x"}, [value]) for name, value in (("n10", 1.0), ("n2", 3.0), ("n1", 2.0))))
    order = {"id": "organize", "options": {"indexByName": {"a": 0, "b": 1, "Value": 2}}}
    down = {"id": "sortBy", "options": {"sort": [{"field": "Value", "desc": True}]}}

    assert [row[0] for row in cells(drawn("table", three).body)] == ["b", "n1", "n2", "n10"]
    assert cells(drawn("table", three, transformations=[order, down]).body)[:2] == [["a", "b", "Value"], ["x", "n2", "3"]]


def test_a_table_says_what_it_did_not_do():
    made = drawn(
        "table",
        answer(({}, [1.0])),
        transformations=[{"id": "groupBy"}, {"id": "merge"}, {"id": "calculateField", "disabled": True}],
    )

    assert made.notes == ("Not done here: Grafana's groupBy.",)


def test_words_and_colours_of_cells():
    status = {"type": "value", "options": {"OK": {"text": "well", "color": "green"}}}
    made = drawn(
        "table",
        answer(({"status": "OK"}, [0.0])),
        defaults={"mappings": [UP, status], "thresholds": RED, "color": {"mode": "thresholds"}},
    )
    plain = drawn("table", answer(({"status": "x"}, [5.0])), defaults={"thresholds": RED, "color": {"mode": "thresholds"}})

    assert cells(made.body)[1] == ["well", "down"] and 'class="coloured k-green"' in made.body and "k-red" in made.body
    assert "k-red" not in plain.body  # Grafana colours cells by threshold only if asked to


def test_states_are_bands_with_their_words_and_what_is_missing_is_no_band():
    values = [1.0] * 100 + [0.0] * 100 + [None] * 61 + [1.0] * 100
    made = drawn("state-timeline", answer(({"node": "1"}, values)), defaults={"mappings": [UP]})
    bands = re.findall(r'<svg x="([\d.]+)%" width="([\d.]+)%" height="100%"><title>(\w+)', made.body)

    assert bands == [("0", "27.78", "up"), ("27.78", "27.78", "down"), ("72.5", "27.5", "up")]
    assert made.body.count('class="state k-red"') == 2 and "1: up, then down, then up" in made.body  # band and key


def test_states_with_many_values_explain_the_first_ones():
    made = drawn("state-timeline", answer(({}, [float(number) for number in range(WINDOW.points)])))

    assert made.notes == (f"{WINDOW.points - 12} more values are not explained.",)


def test_gauges_fill_from_their_least_to_their_most_and_pies_are_shares():
    three = answer(({"n": "a"}, [25.0]), ({"n": "b"}, [75.0]))

    assert re.findall(r'class="bar [^"]*" width="([^"]*)"', drawn("gauge", three, defaults={"min": 0, "max": 50}).body) == [
        "50%",
        "100%",
    ]
    assert re.findall(r'class="bar [^"]*" width="([^"]*)"', drawn("bargauge", three).body) == ["33.33%", "100%"]
    assert re.findall(r"<b>([^<]*)</b>", drawn("piechart", three).body) == ["25 (25.0%)", "75 (75.0%)"]


def test_a_panel_without_data_says_its_own_words_or_is_a_defect_with_its_query():
    explained = drawn("timeseries", Answer(), defaults={"noValue": "Nobody produces."})
    empty = card(scene(panel("timeseries", 'up{a="b"}'), Answer()))

    assert explained.standing is Standing.EXPLAINED and "<strong>Nobody produces.</strong>" in explained.body
    assert empty.standing is Standing.EMPTY and "no data" in empty.body and "up{a=&#34;b&#34;}" in empty.body


@pytest.mark.parametrize("kind", ["timeseries", "stat", "table", "state-timeline", "gauge", "piechart"])
def test_every_kind_knows_when_it_has_nothing_and_when_it_has(kind: str):
    assert drawn(kind, Answer()).standing is Standing.EMPTY
    assert drawn(kind, answer(({}, [1.0] * WINDOW.points))).standing is Standing.DRAWN


def test_a_refused_query_is_said_and_counts_even_where_the_other_is_drawn():
    alone = drawn("timeseries", Answer(trouble="Prometheus refuses it."), defaults={"noValue": "all is well"})
    beside = drawn("timeseries", Answer(trouble="Prometheus refuses it."), answer(({}, [1.0])))

    assert (alone.standing, alone.troubles) == (Standing.REFUSED, ("Prometheus refuses it.",)) and "well" not in alone.body
    assert beside.standing is Standing.REFUSED and "line s0" in beside.body


def test_a_kind_nobody_knows_here_shows_its_queries_and_is_no_defect():
    made = drawn("heatmap", answer(({}, [1.0])))
    loki = card(scene(panel("timeseries", "{a}", datasource={"type": "loki", "uid": "x"})))

    assert made.standing is loki.standing is Standing.NOT_DRAWN
    assert "cannot be drawn here" in made.body and made.queries == ("a",)
    assert "its data source is loki" in loki.body and loki.queries == ("{a}",)


def test_a_text_is_shown_as_it_is_written():
    assert '<div class="text"># Read &lt;b&gt;</div>' in drawn("text", options={"content": "# Read <b>"}).body


def _site(words: str) -> Site:
    return site([everything(words)], SOURCE)


def test_no_text_of_a_metric_or_a_file_becomes_markup():
    for name, page in _site(HOSTILE).files.items():
        assert "<img" not in page and page.count("</script>") == (1 if name == "index.html" else 2), name
        assert page.count("</style>") == 1 and "alert(1)" in page


def test_nothing_else_than_names_changes_the_page_s_style_and_no_element_has_one():
    hostile, plain = (next(iter(_site(words).files.values())) for words in (HOSTILE, "orders"))
    styles = [re.search("<style>(.*?)</style>", page, re.DOTALL)[1] for page in (hostile, plain)]  # type: ignore[index]

    assert styles[0] == styles[1] and "style=" not in plain.partition("<body>")[2].replace("noValue", "")


def test_a_page_counts_what_is_wrong_and_points_at_it():
    made = _site("orders")
    page = made.files[made.pages[0].file]

    assert made.pages[0].counts == {
        Standing.DRAWN: 9,
        Standing.NOT_DRAWN: 1,
        Standing.EXPLAINED: 1,
        Standing.EMPTY: 1,
        Standing.REFUSED: 1,
    }
    assert not made.whole and made.facts()[0]["empty"] == ["orders"] and made.facts()[0]["panels"] == 13
    assert '<a href="#panel-11">' in page and 'id="panel-11"' in page
    assert all(
        text in made.files["index.html"] for text in ("13 panels", "1 empty", "1 refused", f'href="{made.pages[0].file}"')
    )


def test_a_site_in_which_every_panel_has_data_or_a_reason_is_whole():
    fine = told(
        scene(panel("stat", "a"), answer(({}, [1.0]))), scene(panel("stat", "b", defaults={"noValue": "none"}), Answer())
    )

    assert site([fine], SOURCE).whole
    for wrong in (Answer(), Answer(trouble="refused")):
        assert not site([fine, told(scene(panel("stat", "c"), wrong))], SOURCE).whole


def test_files_are_named_for_the_dashboard_and_never_twice_the_same():
    def named(uid: str) -> object:
        one = told()
        return replace(one, dashboard=replace(one.dashboard, uid=uid))

    boards = [named(uid) for uid in ("kafka-trial-health", "a b", "a/b", "../../etc", "index", "…", "a b")]
    assert file_names(boards) == [  # type: ignore[arg-type]
        "kafka-trial-health.html", "a-b.html", "a-b-2.html", "etc.html", "dashboard-index.html", "dashboard.html",
        "a-b-3.html",
    ]  # fmt: skip
