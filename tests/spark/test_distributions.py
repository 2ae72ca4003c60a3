"""Quantiles are samples, what never ended stays so, and the interval is that of a bootstrap which never ends."""

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from spark_reports.recovery.bootstrap import coverage, interval, rank, share_up_to
from spark_reports.recovery.distributions import FIRM, distributions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Samples = list[tuple[float | None, bool | None]]


def spread(spark: "SparkSession", **groups: Samples) -> dict[str, dict[str, Any]]:
    rows = [(name, seconds, censored) for name, samples in groups.items() for seconds, censored in samples]
    frame = spark.createDataFrame(rows, "name string, seconds double, censored boolean")
    return {row["name"]: row.asDict() for row in distributions(frame, ["name"]).collect()}


def measured(*seconds: float) -> Samples:
    return [(float(one), False) for one in seconds]


def test_the_columns_and_their_types(spark: "SparkSession"):
    frame = spark.createDataFrame([("a", 1, 2.5, False)], "a string, b int, seconds double, censored boolean")

    told = distributions(frame, ["a", "b"])

    each = [("", "double"), ("_low", "double"), ("_high", "double"), ("_censored", "boolean"), ("_at_least", "double")]
    quantiles = [(f"{name}{end}", type_) for name in ("median", "p95") for end, type_ in [*each, ("_firm", "boolean")]]
    wanted = [("a", "string"), ("b", "int"), ("n", "bigint"), ("censored", "bigint"), *quantiles]
    assert told.dtypes == [*wanted, ("worst", "double"), ("worst_censored", "boolean")]


def test_a_quantile_is_the_first_sample_that_enough_of_them_do_not_exceed(spark: "SparkSession"):
    told = spread(
        spark, even=measured(4, 2, 3, 1), odd=measured(3, 1, 2), many=measured(*range(1, 101)), odd_many=measured(*range(21))
    )

    assert {name: (row["n"], row["median"], row["p95"], row["worst"]) for name, row in told.items()} == {
        "even": (4, 2.0, 4.0, 4.0),
        "odd": (3, 2.0, 3.0, 3.0),
        "many": (100, 50.0, 95.0, 100.0),
        "odd_many": (21, 10.0, 19.0, 20.0),
    }


def test_of_one_sample_everything_is_that_sample_and_nothing_is_firm(spark: "SparkSession"):
    row = spread(spark, one=measured(2.5))["one"]

    assert {row[name] for name in ("median", "median_low", "median_high", "p95", "p95_low", "p95_high", "worst")} == {2.5}
    assert (row["median_firm"], row["p95_firm"]) == (False, False)


def test_with_enough_samples_the_intervals_are_firm(spark: "SparkSession"):
    told = spread(spark, **{str(n): measured(*range(n)) for n in (3, 4, 31, 32)})

    assert {name: (row["median_firm"], row["p95_firm"]) for name, row in told.items()} == {
        "3": (False, False),
        "4": (True, False),
        "31": (True, False),
        "32": (True, True),
    }
    assert min(coverage(n, 50) for n in range(4, 1000)) > FIRM
    assert min(coverage(n, 95) for n in range(32, 1000)) > FIRM


def test_what_never_ended_is_longer_than_anything_measured_however_little_was_seen_of_it(spark: "SparkSession"):
    row = spread(spark, a=[*measured(10, 20, 30), (1.0, True)])["a"]

    assert (row["n"], row["censored"]) == (4, 1)
    assert (row["median"], row["median_censored"], row["median_at_least"]) == (20.0, False, None)
    assert (row["p95"], row["p95_censored"], row["p95_at_least"]) == (None, True, 30.0)
    assert (row["median_low"], row["median_high"]) == (10.0, None)
    assert (row["worst"], row["worst_censored"]) == (1.0, True)


def test_of_runs_that_mostly_never_ended_the_median_is_told_as_at_least(spark: "SparkSession"):
    told = spread(spark, most=[*measured(1), (5.0, True), (7.0, True)], all=[(3.0, True)])

    assert [told["most"][name] for name in ("median", "median_censored", "median_at_least")] == [None, True, 5.0]
    assert [told["all"][name] for name in ("median", "median_low", "median_at_least", "worst")] == [None, None, 3.0, 3.0]


def test_what_has_no_length_is_no_sample_and_what_is_not_said_to_be_open_is_not(spark: "SparkSession"):
    told = spread(spark, a=[(None, True), (2.0, None)], b=[(None, False)])

    assert list(told) == ["a"]
    assert (told["a"]["n"], told["a"]["censored"], told["a"]["median"]) == (1, 0, 2.0)


def test_groups_may_be_null_or_one_for_all(spark: "SparkSession"):
    frame = spark.createDataFrame([(None, 1.0, False), (None, 3.0, False), ("a", 9.0, False)], "name string, seconds double, censored boolean")  # fmt: skip  # noqa: E501

    assert {row["name"]: row["median"] for row in distributions(frame, ["name"]).collect()} == {None: 1.0, "a": 9.0}
    assert [row["median"] for row in distributions(frame, []).collect()] == [3.0]
    assert distributions(frame.limit(0), ["name"]).collect() == []


# ---- the interval ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 30, 100, 400])
def test_the_share_is_that_of_the_binomial_sum(n: int):
    for k in range(1, n + 1, max(1, n // 5)):
        for i in range(1, n + 1, max(1, n // 9)):
            plain = sum(comb(n, j) * i**j * (n - i) ** (n - j) for j in range(k, n + 1)) / n**n

            assert share_up_to(n, k, i) == pytest.approx(plain, abs=1e-12)


def test_the_interval_of_very_many_samples_is_that_of_the_normal_law():
    n, k = 10**6, 500_000

    low, high = interval(n, k)

    assert (k - low, high - k) == (pytest.approx(1.95996 * 500, abs=2), pytest.approx(1.95996 * 500, abs=2))


@pytest.mark.parametrize(("n", "percent"), [(2, 50), (5, 50), (17, 50), (40, 50), (40, 95), (150, 95)])
def test_resampling_by_hand_gives_the_same_interval(spark: "SparkSession", n: int, percent: int):
    """20,000 rounds hit a share of 2.5 % within ±0.55 %: five standard deviations of √(0.025 · 0.975 / 20,000)."""
    rounds, tolerance = 20_000, 0.0055
    random = np.random.default_rng(n + percent)
    values = np.sort(random.exponential(10.0, n))
    row = spread(spark, a=measured(*values.tolist()))["a"]
    name = {50: "median", 95: "p95"}[percent]

    resampled = np.sort(values[random.integers(0, n, (rounds, n))], axis=1)[:, rank(n, percent) - 1]

    for end, share in (("low", 0.025), ("high", 0.975)):
        value = row[f"{name}_{end}"]
        assert np.mean(resampled <= value) >= share - tolerance
        assert np.mean(resampled < value) <= share + tolerance


def test_the_interval_holds_the_true_value_as_often_as_it_says(spark: "SparkSession"):
    """600 nights of 40 exponential times each, beside what the binomial law says: within four standard deviations."""
    nights, n = 600, 40
    times = np.random.default_rng(8).exponential(1.0, (nights, n))
    table = pa.table({"night": np.repeat(np.arange(nights), n), "seconds": times.ravel(), "censored": [False] * nights * n})

    told = distributions(spark.createDataFrame(table), ["night"]).collect()

    for name, percent, truth in (("median", 50, np.log(2)), ("p95", 95, np.log(20))):
        held = np.mean([row[f"{name}_low"] <= truth < row[f"{name}_high"] for row in told])
        said = coverage(n, percent)
        assert held == pytest.approx(said, abs=4 * np.sqrt(said * (1 - said) / nights))
    assert 0.92 < coverage(40, 50) < 0.97
    assert [round(coverage(200, percent), 2) for percent in (50, 95)] == [0.95, 0.93]
