"""A run's configuration in words, the same for all runs that may be compared: equal words, equal circumstances.

Kafka's version stands beside them, because versions are what people compare. The seed is left out: it is chance.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

BETWEEN = " · "
SETTINGS = ("quick", "default")  # what these say to clients is known by their name
ORDINARY = "plaintext"


def config_words() -> Column:
    """From the fields of a manifest, each in a column `manifest_…`; null where it was not written."""
    parts = (
        _pairs("manifest_options"),
        F.col("manifest_settings"),
        _counted("manifest_brokers", "broker"),
        F.when(F.col("manifest_controllers") > 0, _counted("manifest_controllers", "controller")),
        F.col("manifest_provider"),
        F.when(F.col("manifest_security") != ORDINARY, F.col("manifest_security")),
        F.when(~F.coalesce("manifest_settings", F.lit("")).isin(*SETTINGS), _pairs("manifest_client_config")),
        F.when(F.size("manifest_permitted") > 0, F.concat(F.lit("permitted: "), _listed("manifest_permitted"))),
    )
    return F.concat_ws(BETWEEN, *parts)


def _pairs(column: str) -> Column:
    """By name, so that the order in which a program wrote them does not matter."""
    entries = F.array_sort(F.map_entries(column))
    words = F.array_join(F.transform(entries, lambda entry: F.concat_ws("=", entry["key"], entry["value"])), " ")
    return F.when(F.size(column) > 0, words)


def _counted(column: str, noun: str) -> Column:
    return F.concat(F.col(column).cast("string"), F.lit(f" {noun}"), F.when(F.col(column) == 1, "").otherwise("s"))


def _listed(column: str) -> Column:
    return F.array_join(F.array_sort(column), ", ")
