"""Numbers in the preview read as they do in Grafana: by unit, with three digits that count, never two marks alike."""

import math

import pytest

from dashboards.preview.units import LADDERS, ago, distinct, ladder, said

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0, "short", "0"),
        (7, "short", "7"),
        (1.5, "short", "1.5"),
        (0.1234, "short", "0.123"),
        (999, "short", "999"),
        (1234, "short", "1.23 K"),
        (-1234, "short", "-1.23 K"),
        (12_345, "short", "12.3 K"),
        (123_456, "short", "123 K"),
        (1_500_000, "short", "1.5 Mil"),
        (2.5e9, "", "2.5 Bil"),
        (1_234_567, "none", "1234567"),
        (0, "bytes", "0 B"),
        (1023, "bytes", "1023 B"),
        (1024, "bytes", "1 KiB"),
        (4_781_506, "bytes", "4.56 MiB"),
        (5 * 2**40, "bytes", "5 TiB"),
        (4, "mbytes", "4 MiB"),
        (2048, "mbytes", "2 GiB"),
        (1000, "decbytes", "1 kB"),
        (4_560_000, "decbytes", "4.56 MB"),
        (4_560_000, "Bps", "4.56 MB/s"),
        (2048, "binBps", "2 KiB/s"),
        (1500, "bps", "1.5 kb/s"),
        (0, "cps", "0 c/s"),
        (12.3456, "cps", "12.3 c/s"),
        (1234, "cps", "1.23 K c/s"),
        (1_234_000, "reqps", "1.23 M req/s"),
        (3, "ops", "3 ops/s"),
        (3, "rps", "3 rd/s"),
        (0, "s", "0 s"),
        (2e-9, "s", "2 ns"),
        (0.0000421, "s", "42.1 µs"),
        (0.25, "s", "250 ms"),
        (59.9, "s", "59.9 s"),
        (138, "s", "2.3 min"),
        (3600, "s", "1 hour"),
        (5400, "s", "1.5 hours"),
        (2 * 86400, "s", "2 days"),
        (15 * 86400, "s", "2.14 weeks"),
        (3 * 31536000, "s", "3 years"),
        (0.05, "ms", "0.05 ms"),
        (250, "ms", "250 ms"),
        (9000, "ms", "9 s"),
        (120_000, "ms", "2 min"),
        (500, "µs", "500 µs"),
        (1500, "µs", "1.5 ms"),
        (90, "m", "1.5 hours"),
        (12.345, "percent", "12.3%"),
        (0.5, "percentunit", "50%"),
        (0.99945, "percentunit", "99.9%"),
        (21.5, "celsius", "21.5 °C"),
        (12, "furlongs", "12 furlongs"),
        (12, "suffix:/d", "12/d"),
        (12, "prefix:$", "$12"),
        (1_234_567, "locale", "1,234,567"),
    ],
)
def test_a_number_in_its_unit(value: float, unit: str, words: str):
    assert said(value, unit, now=NOW) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (999.96, "short", "1 K"),
        (999_960, "short", "1 Mil"),
        (1023.99, "bytes", "1 KiB"),
        (59.99, "s", "1 min"),
        (0.9999, "s", "1 s"),
    ],
)
def test_what_rounds_up_to_the_next_step_is_on_it(value: float, unit: str, words: str):
    assert said(value, unit) == words


@pytest.mark.parametrize(
    ("value", "words"), [(math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (-0.0, "0"), (1e-12, "1.00e-12")]
)
def test_what_is_hardly_a_number(value: float, words: str):
    assert said(value, "short") == words


def test_decimals_that_were_asked_for_are_kept():
    assert said(1234, "short", decimals=1) == "1.2 K"
    assert said(5, "s", decimals=2) == "5.00 s"
    assert said(0.5, "percentunit", decimals=0) == "50%"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "now"),
        (1, "1 second ago"),
        (90, "1 minute ago"),
        (7200, "2 hours ago"),
        (-86400 * 3, "in 3 days"),
        (86400 * 400, "1 year ago"),
    ],
)
def test_how_long_ago(seconds: float, words: str):
    assert ago(NOW - seconds, NOW) == words


def test_dates_are_milliseconds_in_grafana():
    assert said((NOW - 120) * 1000, "dateTimeFromNow", now=NOW) == "2 minutes ago"
    assert said(NOW * 1000, "dateTimeAsIso", now=NOW) == "2027-01-15 08:00:00"
    assert said(1e30, "dateTimeAsIso", now=NOW) == "no date"


def test_marks_of_an_axis_differ_even_when_they_are_close():
    assert distinct([1234.0, 1234.5, 1235.0], "short") == ["1.234 K", "1.2345 K", "1.235 K"]
    assert distinct([0, 500, 1000, 1500], "short") == ["0", "500", "1 K", "1.5 K"]


@pytest.mark.parametrize("unit", LADDERS)
def test_every_ladder_begins_at_nothing_and_climbs(unit: str):
    steps = [rung.least for rung in ladder(unit)]

    assert steps[0] == 0.0 and steps == sorted(set(steps))


def test_a_unit_of_somebody_is_never_long_enough_to_be_a_text():
    assert len(said(1, "x" * 1000)) < 40
