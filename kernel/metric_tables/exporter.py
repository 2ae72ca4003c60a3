"""What the exporter says of its own work, for each node it was told to look at."""

from typing import Any

from kernel.metric_tables.rows import own
from kernel.metrics import EVERY_ROLE, Kind, Scope

_OF: dict[str, Any] = {"scope": Scope.EXPORTER, "roles": EVERY_ROLE}

ROWS = (
    own(
        "kafka_jmx_up",
        Kind.GAUGE,
        "1 if the last collection from this node succeeded and is not older than max_age, else 0.",
        star=True,
        **_OF,
    ),
    own(
        "kafka_jmx_age_seconds",
        Kind.GAUGE,
        "Age of the values shown for this node; missing when none are shown.",
        unit="seconds",
        **_OF,
    ),
    own(
        "kafka_jmx_collection_seconds",
        Kind.GAUGE,
        "How long the last collection from this node took.",
        unit="seconds",
        **_OF,
    ),
    own("kafka_jmx_collections_total", Kind.COUNTER, "Collections from this node that succeeded.", **_OF),
    own("kafka_jmx_errors_total", Kind.COUNTER, "Collections from this node that failed, by reason.", "reason", **_OF),
    own("kafka_jmx_missing", Kind.GAUGE, "Metrics that this node should have and did not answer with.", **_OF),
    own(
        "kafka_jmx_unusable_values",
        Kind.GAUGE,
        "Values in the last collection that were no numbers, or meant nothing yet, and are not shown.",
        **_OF,
    ),
    own("kafka_jmx_series", Kind.GAUGE, "Series shown for this node.", **_OF),
    own(
        "kafka_jmx_dropped_series_total",
        Kind.COUNTER,
        "Series left out, one count per collection, because the node had more than max_series.",
        **_OF,
    ),
)
