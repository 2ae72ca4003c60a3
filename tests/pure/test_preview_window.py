"""The time a preview looks at: what people write, how finely it is asked, where its axis has marks."""

import pytest

from dashboards.preview.window import MOST_POINTS, Window, parsed, window
from kernel.errors import UsageError

NOW = 1_794_938_400.0  # 2026-11-17 18:00:00


@pytest.mark.parametrize(
    ("word", "at"),
    [
        ("now", NOW),
        ("-1h", NOW - 3600),
        ("now-1h30m", NOW - 5400),
        ("-2d", NOW - 172800),
        ("2026-11-17T17:00", NOW - 3600),
        ("2026-11-17T18:00:00+01:00", NOW - 3600),
        ("2026-11-17", NOW - 18 * 3600),
        ("1794934800", NOW - 3600),
        ("1794934800000", NOW - 3600),
    ],
)
def test_a_time_as_people_write_it(word: str, at: float):
    assert parsed(word, NOW) == at


@pytest.mark.parametrize("word", ["", "yesterday", "1h", "-1", "-1x", "nan", "inf", "-h", "99999999999999999"])
def test_what_is_no_time_is_refused_with_examples(word: str):
    with pytest.raises(UsageError, match="is no time: say now, -1h, 2026"):
        parsed(word, NOW)


@pytest.mark.parametrize(
    ("begin", "step"), [("-5m", 1), ("-1h", 10), ("-6h", 60), ("-24h", 300), ("-7d", 1800), ("-30d", 7200)]
)
def test_lines_have_hundreds_of_points_and_no_more(begin: str, step: int):
    chosen = window(begin, "now", now=NOW)

    assert chosen.step == step and 250 <= chosen.points <= MOST_POINTS + 1


def test_a_window_begins_at_a_multiple_of_its_step_so_that_two_previews_agree():
    chosen = window("-1h", "now", now=NOW + 7.3)

    assert (chosen.start % 10, chosen.end % 10) == (0, 0)


def test_single_values_are_as_new_as_was_asked_for_however_long_the_step():
    chosen = window("-7d", "now", now=NOW + 1234.5)

    assert chosen.latest == NOW + 1234.5 > chosen.end + 1000


@pytest.mark.parametrize(
    ("begin", "end", "step", "words"),
    [
        ("now", "-1h", None, "is not before"),
        ("-1h", "-1h", None, "is not before"),
        ("-30d", "now", 1, "take 1296 or more"),
        ("-1m", "now", 100, "longer than the 60 s"),
    ],
)
def test_a_window_that_cannot_be_drawn_is_refused(begin: str, end: str, step: int | None, words: str):
    with pytest.raises(UsageError, match=words):
        window(begin, end, now=NOW, step=step)


def test_a_rate_has_four_scrapes_to_look_at_and_leaves_no_gap_between_points():
    assert window("-5m", "now", now=NOW).rate_interval == "60s"
    assert window("-7d", "now", now=NOW).rate_interval == "1815s"


@pytest.mark.parametrize(
    ("length", "first", "last"),
    [
        (120, "17:58:00", "18:00:00"),
        (3600, "17:00", "18:00"),
        (18 * 3600, "00:00", "18:00"),
        (42 * 3600, "Nov 16", "18:00"),
        (5 * 86400, "Nov 13", "Nov 17"),
    ],
)
def test_marks_are_round_times(length: int, first: str, last: str):
    marks = Window(NOW - length, NOW, 1).marks(8)

    assert (marks[0][1], marks[-1][1]) == (first, last) and 3 <= len(marks) <= 9
