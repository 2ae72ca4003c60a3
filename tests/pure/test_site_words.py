"""Figures in words: what is unknown, what never ended, and what is nearly but not quite everything."""

import pytest

from spark_reports.contents import Spread
from spark_reports.site.heat import by_age
from spark_reports.site.standing import level
from spark_reports.site.words import chance, clean, cut, effect, interval, median, p95, plural, seconds, share, worst
from tests.pure.nightly_example import spread


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0.0, "0.0 s"),
        (0.0434, "43 ms"),
        (0.9996, "1.0 s"),
        (9.14, "9.1 s"),
        (123.4, "123 s"),
        (754.0, "12.6 min"),
    ],
)
def test_seconds(value: float | None, words: str):
    assert seconds(value) == words


def test_a_gap_that_never_closed_is_at_least_so_long():
    assert (seconds(24.0, open=True), seconds(24.0)) == ("≥ 24.0 s", "24.0 s")


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "–"), (1.0, "100 %"), (0.99996, "99.99 %"), (0.9993, "99.93 %"), (0.29, "29.00 %"), (0.0, "0.00 %")],
)
def test_nearly_everything_is_not_everything(value: float | None, words: str):
    assert share(value) == words.replace(" ", "\u202f")


def test_a_median_comes_with_what_it_may_be():
    known = spread([8.0, 9.0, 9.1, 9.2, 10.0])

    assert (median(known), interval(known), p95(known), worst(known)) == ("9.1 s", "9.0 to 9.2 s", "10.0 s", "10.0 s")
    assert interval(spread([9.1])) == ""  # adds nothing


def test_an_interval_across_units_names_both():
    across = Spread(
        n=3, open=0, median_s=1.1, median_low_s=0.9, median_high_s=1.2, p95_s=2, p95_low_s=2, p95_high_s=2, worst_s=2
    )  # fmt: skip

    assert interval(across) == "900 ms to 1.2 s"
    assert interval(across.model_copy(update={"median_high_s": None})) == "900 ms to never"


def test_where_most_never_ended_there_is_no_median():
    stuck = spread([9.0, 24.0, 24.0], never=2)

    assert (median(stuck), p95(stuck), worst(stuck)) == ("never ended", "never ended", "≥ 24.0 s")
    assert (median(None), p95(spread([])), interval(None)) == ("–", "–", "")


def test_chance_and_effect():
    assert [chance(value) for value in (None, 0.0004, 0.0312)] == ["–", "p < 0.001", "p = 0.031"]
    assert [effect(value) for value in (None, 0.98, 0.4, -0.2, 0.1)] == [
        "–", "+0.98, large", "+0.40, medium", "−0.20, small", "+0.10, negligible",
    ]  # fmt: skip


def test_a_sentence_cannot_run_away():
    assert (cut("word " * 1000, 10), cut("word", 10)) == ("word word…", "word")
    assert (plural(1, "run"), plural(2000, "run"), plural(2, "clash", "clashes")) == (
        "1 run",
        "2\u202f000 runs",
        "2 clashes",
    )


def test_letters_that_would_reorder_or_end_a_page_are_replaced():
    assert clean("a\x00b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd" and clean("é → 99.9\u202f%\n") == "é → 99.9\u202f%\n"


def test_what_always_failed_is_known_and_not_bad():
    assert [level("FAIL", "FAIL"), level("FAIL", "PASS"), level("FAIL"), level("PASS", "FAIL")] == [
        "known",
        "bad",
        "bad",
        "good",
    ]


def test_versions_are_ordered_as_versions():
    assert by_age({"4.9.1", "4.10.0", "3.9.1", "trunk"}) == ["4.10.0", "4.9.1", "3.9.1", "trunk"]
