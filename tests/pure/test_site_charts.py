"""Charts as figures: everything lies inside its picture, whatever the values, and says in words what it shows."""

import math
import re
from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_reports import contents as c
from spark_reports.site.charts.distribution import distribution
from spark_reports.site.charts.strips import recovery_axis, strip
from spark_reports.site.charts.timeline import ceiling, note, timeline_chart
from spark_reports.site.charts.trend import path, told, trend_chart
from spark_reports.site.scales import day_axis, plain_axis, seconds_axis, swarm, time_axis
from tests.pure.nightly_example import LAST, example_report, spread

times = st.lists(st.floats(0, 5000, allow_nan=False), max_size=30)


def trend(nights: Sequence[tuple[Sequence[float], Sequence[float]]], band: c.Band | None = None) -> c.Trend:
    """A night: what ended, and what never did."""
    points = [
        c.Point(
            date=LAST - timedelta(days=len(nights) - 1 - number),
            n=len(ended) + len(never),
            median_s=sorted(ended)[len(ended) // 2] if ended and len(ended) > len(never) else None,
            values=list(ended),
            open_values=list(never),
        )
        for number, (ended, never) in enumerate(nights)
    ]
    values = [value for ended, _ in nights for value in ended]
    return c.Trend(kafka="4.3.1", config="", operation="send", points=points, baseline=band, spread=spread(values))


@given(times)
def test_an_axis_holds_its_values_and_its_marks(values: list[float]):
    axis = seconds_axis(values, 40, 300)

    places = [axis.at(value) for value in values] + [tick.at for tick in axis.ticks]
    assert all(40 - 1e-6 <= place <= 300 + 1e-6 for place in places)
    assert 1 <= len(axis.ticks) <= 12
    assert [axis.at(value) for value in sorted(values)] == sorted(axis.at(value) for value in values)


def test_a_few_seconds_begin_at_zero_and_have_round_marks():
    assert [tick.label for tick in seconds_axis([8.2, 9.1, 14.6], 0, 100, about=4).ticks] == ["0 s", "5 s", "10 s", "15 s"]


def test_milliseconds_beside_minutes_are_drawn_in_powers():
    axis = seconds_axis([0.2, 9.0, 120.0], 0, 300)

    assert axis.logarithmic and [tick.label for tick in axis.ticks] == ["300 ms", "1 s", "3 s", "10 s", "30 s", "100 s"]
    assert [tick.label for tick in seconds_axis([0.2, 9.0, 120.0], 0, 160).ticks] == ["1 s", "10 s", "100 s"]  # less room
    assert not seconds_axis([4.0, 9.0, 50.0], 0, 300).logarithmic


def test_counts_are_told_in_thousands():
    assert [tick.label for tick in plain_axis(2900, 100, 0).ticks] == ["0", "1k", "2k", "3k"]


def test_a_runs_time_ends_with_the_run():
    axis = time_axis(33.0, 0, 330, about=6)

    assert (axis.at(33.0), [tick.label for tick in axis.ticks][-1]) == (330, "30 s")
    assert math.isfinite(time_axis(0.0, 0, 330, about=6).at(0.0))


@pytest.mark.parametrize("count", [1, 2, 20, 400])
def test_days_are_named_as_far_as_there_is_room(count: int):
    days = [LAST - timedelta(days=back) for back in range(count)]
    axis = day_axis(days, 46, 338)

    assert axis.ticks[-1].label == "17 Nov"
    gaps = [after.at - before.at for before, after in zip(axis.ticks, axis.ticks[1:], strict=False)]
    assert all(gap >= 51 for gap in gaps)


@given(st.lists(st.floats(0, 300), max_size=60), st.floats(5, 20))
def test_stacked_dots_stay_in_their_strip(places: list[float], room: float):
    assert all(abs(off) <= room + 1e-6 for off in swarm(places, room))


def test_dots_at_one_place_do_not_hide_one_another():
    assert len(set(swarm([50.0, 50.0, 50.0], 12))) == 3 and swarm([50.0], 12) == [0.0]


NIGHTS: dict[str, list[tuple[list[float], list[float]]]] = {
    "one run": [([9.0], [])],
    "two nights": [([9.0], []), ([9.5, 10.0], [])],
    "none ended": [([], [24.0]), ([], [24.0, 30.0])],
    "zeros": [([0.0], []), ([0.0], [])],
    "many nights": [([9.0 + night % 3], [30.0] if night % 7 == 0 else []) for night in range(200)],
    "many runs": [([float(one) for one in range(1, 201)], [])],
    "an empty night": [([9.0], []), ([], []), ([9.2], [])],
}


@pytest.mark.parametrize("width", [508, 338])
@pytest.mark.parametrize("nights", NIGHTS.values(), ids=NIGHTS)
def test_a_trend_is_drawn_inside_its_picture(nights: list[tuple[list[float], list[float]]], width: int):
    chart = trend_chart(trend(nights, c.Band(median_s=9, low_s=8, high_s=10, n=5)), LAST, worse=True, width=width)

    assert chart is not None and chart.band is not None
    drawn = [*chart.dots, *chart.open_dots, *chart.marked]
    assert len(chart.dots) + len(chart.open_dots) == sum(len(ended) + len(never) for ended, never in nights)
    assert all(chart.left - 8 <= x <= chart.right + 8 and chart.top <= y <= chart.floor for x, y in drawn)
    assert chart.top <= chart.band[0] <= chart.band[0] + chart.band[1] <= chart.floor


def test_a_trend_without_values_is_words_alone():
    assert trend_chart(trend([]), LAST, worse=False, width=508) is None
    assert trend_chart(trend([([], [])]), LAST, worse=False, width=508) is None
    assert told(trend([])) == "No night has a value."


def test_only_the_judged_nights_are_marked_and_only_where_they_are_worse():
    nights = [([9.0], []), ([9.0], []), ([14.0], [])]
    worse, same = (trend_chart(trend(nights), LAST, worse=worse, width=508) for worse in (True, False))

    assert worse and same and (len(worse.marked), len(same.marked)) == (1, 0)
    assert worse.marked[0] == worse.dots[2]


def test_a_trend_says_in_words_what_never_ended():
    words = told(trend([([9.0], []), ([9.4], [24.0])], c.Band(median_s=9.1, low_s=8, high_s=10.4, n=9)))

    assert words == (
        "3 runs in the nights 2026-11-16 to 2026-11-17; in 1 run it never ended; the median of the judged nights is 9.4 s; "
        "the baseline's is 9.1 s, its middle 90 % 8.0 s to 10.4 s."
    )
    assert "never" not in told(trend([([9.0], [])]))


def test_a_line_is_lifted_where_a_night_has_no_median():
    assert path([(0, 1), (1, 2), None, (3, 4)]) == "M0.0 1.0L1.0 2.0M3.0 4.0h0"


RUNS = example_report(nights=3, names=("storm",), repeats=8).runs


def test_a_strip_has_a_dot_for_each_run_that_was_measured():
    unknown = RUNS[0].model_copy(update={"recovery_s": None})
    axis = recovery_axis(RUNS, [], 10, 300)
    drawn = strip([*RUNS, unknown], None, axis, {RUNS[0].key: "here"}.get, 14)

    assert len(drawn.dots) == len(RUNS) and [dot.href for dot in drawn.dots].count("here") == 1
    assert {dot.open for dot in drawn.dots} == {True, False}
    assert (drawn.median, drawn.interval, drawn.p95) == (None, None, None)


def test_a_median_that_never_ended_has_no_line_and_its_interval_no_end():
    open_half = spread([9.0, 9.5, 24.0, 24.0], never=2)
    axis = recovery_axis([], [open_half], 10, 300)
    drawn = strip([], open_half, axis, lambda key: None, 14)

    assert open_half.median_s is None and drawn.median is None
    assert drawn.interval and sum(drawn.interval) == pytest.approx(300)
    assert drawn.words == "No run has a measured recovery."


def test_too_many_dots_for_a_finger_are_one_path():
    axis = recovery_axis(RUNS, [], 10, 300)

    assert (
        not strip(RUNS * 20, None, axis, lambda key: None, 14).linked
        and strip(RUNS, None, axis, lambda key: None, 14).linked
    )


def test_now_stands_above_before():
    report = example_report(nights=3, names=("storm",), repeats=8)
    chart = distribution(report.scenarios[0].cells, report.runs, lambda key: None, 338)

    assert chart and [[row.name for row in group.rows] for group in chart.groups] == [["now", "before"]] * 2
    assert [len(row.strip.dots) for row in chart.groups[0].rows] == [8, 16]
    assert all(2 <= dot.y <= chart.floor for group in chart.groups for row in group.rows for dot in row.strip.dots)


def test_where_nothing_was_measured_nothing_is_drawn():
    cells = example_report(nights=1, names=("storm",)).scenarios[0].cells
    unmeasured = [run.model_copy(update={"recovery_s": None}) for run in RUNS]

    assert (
        distribution(cells, unmeasured, lambda key: None, 338) is None
        and distribution([], RUNS, lambda key: None, 338) is None
    )


def timeline(**changes: object) -> c.Timeline:
    fault = c.FaultSpan(id="f1", sentence="broker 2 is killed", begin_s=5, end_s=25, bite_s=5.2)
    whole = {
        "run": "k", "length_s": 33.0, "faults": [fault], "lanes": [], "marks": [], "bucket_s": 0.5,
        "acked": [50] * 66, "read": [40] * 66,
    }  # fmt: skip
    return c.Timeline.model_validate({**whole, **changes})


@pytest.mark.parametrize("width", [1054, 338])
def test_a_timeline_shades_its_faults_and_fills_its_lanes(width: int):
    dark = [c.Dark(begin_s=5.1, end_s=14.2, open=False), c.Dark(begin_s=30, end_s=99.0, open=True)]
    lanes = [c.Lane(topic="orders" * 40, partition=number, operation="send", dark=dark) for number in range(16)]
    chart = timeline_chart(timeline(lanes=lanes), width)

    assert chart.shades[0].x == pytest.approx(chart.x.at(5)) and chart.shades[0].width > 20
    assert len(chart.lanes) == 16 and chart.lanes[0].note.startswith("≥ 69.0 s without")
    assert all(one.x + one.width <= chart.x.end + 1.6 for lane in chart.lanes for one in lane.dark)
    assert (
        chart.lanes[15].name.endswith("ers-15") and len(chart.lanes[0].name) * 7.4 + len(chart.lanes[0].note) * 6.4 < width
    )
    assert chart.lanes[15].y + 28 < chart.floor


def test_a_fault_that_never_healed_is_shaded_to_the_end_and_those_together_are_one_shade():
    faults = [
        c.FaultSpan(id="f1", sentence="a", begin_s=5, end_s=None, bite_s=None),
        c.FaultSpan(id="f2", sentence="b", begin_s=9, end_s=12, bite_s=9.1),
    ]
    (shade,) = timeline_chart(timeline(faults=faults), 1054).shades

    assert shade.x + shade.width == pytest.approx(1042) and len(shade.bites) == 1
    assert "never healed" in shade.words and "never seen to bite" in shade.words
    assert timeline_chart(timeline(faults=[]), 1054).shades == []


def test_an_empty_run_is_drawn_without_a_line():
    chart = timeline_chart(timeline(length_s=0.0, acked=[], read=[], faults=[], bucket_s=0.0), 338)

    assert (chart.y, chart.acked, chart.read) == (None, "", "")
    assert note(timeline(acked=[0], read=[])) == "How many records a second is not known."


def test_one_burst_does_not_press_the_rest_to_the_floor():
    assert ceiling([100.0] * 99 + [5000.0]) == 125.0 and ceiling([100.0, 120.0]) == 120.0 and ceiling([]) == 1.0
    assert "the highest is 10\u202f000 records a second" in note(timeline(read=[50] * 65 + [5000]))
    assert note(timeline()) == ""


def test_a_thousand_elections_at_once_are_one_line():
    many = [c.Mark(at_s=14.0 + one / 10**5, kind="election", sentence=f"orders-{one}") for one in range(1000)]
    other = c.Mark(at_s=14.0, kind="alert", sentence="it fires")
    lines = timeline_chart(timeline(marks=[*many, other]), 1054).lines

    assert [(line.kind, line.words) for line in lines] == [
        ("election", "14.0 s: orders-0 and 999 more"),
        ("alert", "14.0 s: it fires"),
    ]


@pytest.mark.slow
@given(times, times)
def test_any_night_can_be_drawn(ended: list[float], never: list[float]):
    chart = trend_chart(trend([(ended, never)]), date(2026, 11, 17), worse=True, width=338)

    assert (chart is None) == (not ended and not never)
    assert chart is None or not re.search("nan|inf", chart.line)
