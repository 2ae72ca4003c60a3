"""What a page is made of: a line of lag, and figures and times in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lag_monitor.pages.sparkline import HEIGHT, MOST, WIDTH, sparkline
from lag_monitor.pages.words import absolute, ago, clean, duration, grouped, iso, word
from lag_monitor.verdict import Status

NAN = float("nan")


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)]


def test_a_growing_lag_is_a_line_from_the_bottom_to_the_top():
    drawn = sparkline([(0, 0), (10, 50), (20, 100)])

    assert drawn.line == "M2 26L60 14L118 2" and drawn.dot == (118, 2)
    assert drawn.area == "M2 26L60 14L118 2L118 26L2 26Z"
    assert drawn.words == "lag from 0 to 100 in 20 s, at most 100"


def test_no_samples_are_no_line():
    assert (sparkline([]).line, sparkline([]).dot, sparkline([]).words) == ("", None, "no lag seen yet")
    assert sparkline([(NAN, NAN)]).dot is None


def test_one_sample_is_a_dot_at_the_end():
    drawn = sparkline([(10, 7)])

    assert (drawn.line, drawn.dot, drawn.words) == ("", (118, 2), "lag 7, seen once")


@pytest.mark.parametrize(("lag", "height"), [(0, 26), (5, 2)])
def test_a_steady_lag_is_flat_and_does_not_look_like_none(lag: float, height: float):
    assert sparkline([(at, lag) for at in range(3)]).line == f"M2 {height}L60 {height}L118 {height}"


def test_the_line_breaks_where_nothing_was_seen():
    times = [0, 10, 20, 80, 90, 100]

    assert sparkline([(at, 1) for at in times]).line.count("M") == 2
    assert sparkline([(at, 1) for at in range(0, 110, 10)]).line.count("M") == 1
    assert sparkline([(0, 1), (10, 1), (20, NAN), (30, 1), (40, 1)]).line.count("M") == 2


def test_one_that_stands_alone_between_two_gaps_is_seen():
    assert "h.1" in sparkline([(0, 1), (10, 1), (20, 1), (100, 5), (200, 1), (210, 1), (220, 1)]).line


def test_of_many_samples_the_peak_is_kept():
    samples = [(float(at), 1_000.0 if at == 777 else 1.0) for at in range(5_000)]
    drawn = points(sparkline(samples).line)

    assert len(drawn) <= MOST + 2 and min(y for _, y in drawn) == 2


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 1e10), st.floats(allow_nan=True, allow_infinity=True)), max_size=200))
def test_whatever_was_seen_stays_inside(samples: list[tuple[float, float]]):
    drawn = sparkline(sorted(samples, key=lambda sample: sample[0]))

    for x, y in points(drawn.line) + points(drawn.area) + ([drawn.dot] if drawn.dot else []):
        assert 0 <= x <= WIDTH and 0 <= y <= HEIGHT


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"), (NAN, "–"), (float("inf"), "–"), (0, "0 s"), (-5, "0 s"), (0.4, "0.4 s"), (3, "3 s"), (9.96, "10 s"),
        (42.4, "42 s"), (59.7, "1 min"), (200, "3 min 20 s"), (3_600, "1 h"), (7_500, "2 h 5 min"), (90_000, "1 d 1 h"),
        (1e9, "11\u202f574 d 1 h"),
    ],
)  # fmt: skip
def test_a_duration_is_told_in_two_units(seconds: float | None, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("gone", "words"),
    [(0.4, "just now"), (-60, "just now"), (4, "4 s ago"), (250, "4 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")],
)
def test_a_time_is_told_by_how_long_ago_it_was(gone: float, words: str):
    assert ago(1_000_000 - gone, 1_000_000) == words


def test_what_is_no_time_is_not_told():
    assert (ago(None, 0), ago(NAN, 0), absolute(None), absolute(1e300), iso(NAN)) == (
        "–",
        "–",
        "not known",
        "not known",
        None,
    )
    assert (iso(0.5), absolute(0)) == ("1970-01-01T00:00:00.500Z", "1970-01-01 00:00:00 UTC")


def test_figures_and_names_are_readable():
    assert (grouped(1_234_567), grouped(None), grouped(-1_000)) == ("1\u202f234\u202f567", "–", "-1\u202f000")
    assert clean("a\x00b\nc\u202ed\ud800") == "a\ufffdb c\ufffdd\ufffd"
    assert [word(one) for one in (Status.OK, Status.STUCK_TRANSACTION, Status.BEHIND_SLO)] == [
        "OK",
        "stuck transaction",
        "behind SLO",
    ]
