"""How long things took: every duration in its bucket, and buckets that add up as Prometheus wants them."""

from hypothesis import given
from hypothesis import strategies as st

from exporters.histogram import BOUNDS, Histogram


def buckets(histogram: Histogram) -> dict[str, float]:
    return {labels["le"]: value for suffix, labels, value in histogram.samples({}) if suffix == "_bucket"}


def test_nothing_was_measured_yet():
    assert set(buckets(Histogram()).values()) == {0}
    assert [value for suffix, _, value in Histogram().samples({}) if suffix != "_bucket"] == [0, 0.0]


def test_a_bound_belongs_to_its_bucket_and_what_is_longer_to_the_next():
    histogram = Histogram()
    histogram.add(0.5)
    histogram.add(0.500001)

    assert (buckets(histogram)["0.25"], buckets(histogram)["0.5"], buckets(histogram)["1.0"]) == (0, 1, 2)


def test_what_took_too_long_for_every_bound_is_still_counted():
    histogram = Histogram()
    histogram.add(1e6)

    assert (buckets(histogram)["120.0"], buckets(histogram)["+Inf"]) == (0, 1)


def test_every_sample_carries_the_labels_it_is_given():
    assert all(labels["broker"] == "3" for _, labels, _ in Histogram().samples({"broker": "3"}))


@given(st.lists(st.floats(0, 1000)))
def test_buckets_rise_and_the_last_is_the_count(durations: list[float]):
    histogram = Histogram()
    for seconds in durations:
        histogram.add(seconds)

    counts = list(buckets(histogram).values())
    told = {suffix: value for suffix, _, value in histogram.samples({}) if suffix != "_bucket"}
    assert counts == [*(sum(seconds <= bound for seconds in durations) for bound in BOUNDS), len(durations)]
    assert told == {"_count": len(durations), "_sum": sum(durations)}
