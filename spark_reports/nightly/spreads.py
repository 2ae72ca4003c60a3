"""All distributions of a report in one job: named samples in, a `Spread` for each name out."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from pyspark.sql import SparkSession

from spark_reports.contents import Spread
from spark_reports.frames import frame
from spark_reports.nightly.samples import NOTHING
from spark_reports.nightly.statistics import Sample
from spark_reports.recovery.distributions import distributions

Name = TypeVar("Name", bound=Hashable)


def spreads(spark: SparkSession, samples: Mapping[Name, Sample]) -> dict[Name, Spread]:
    """A sample without values has a spread of nothing."""
    names = list(samples)
    rows = [
        (nth, seconds, is_open)
        for nth, name in enumerate(names)
        for seconds, is_open in zip(samples[name].values, samples[name].open, strict=True)
    ]
    found = dict.fromkeys(names, NOTHING)
    if not rows:
        return found
    named = frame(spark, rows, "nth bigint, seconds double, censored boolean")
    for row in distributions(named, ["nth"]).collect():
        name = names[row["nth"]]
        worst, worst_open = _worst(samples[name])
        found[name] = Spread(
            n=row["n"],
            open=row["censored"],
            median_s=row["median"],
            median_low_s=row["median_low"],
            median_high_s=row["median_high"],
            p95_s=row["p95"],
            p95_low_s=row["p95_low"],
            p95_high_s=row["p95_high"],
            worst_s=worst,
            worst_open=worst_open,
        )
    return found


def _worst(sample: Sample) -> tuple[float, bool]:
    """One that never ended outranks any that did, however little was seen of it: the worst is at least the longest seen."""
    return max(sample.values), any(sample.open)
