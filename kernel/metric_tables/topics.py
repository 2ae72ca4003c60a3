"""Records and bytes, in all and by topic: under one name, as family A has it. The series without a topic is the total.

A sum over the name would count everything twice; say topic="" for the total or topic!="" for the parts.
"""

from typing import Any

from kernel.metric_tables.rows import counter
from kernel.metrics import EVERY_ROLE, Metric, Scope

_NODE: dict[str, Any] = {"roles": EVERY_ROLE}  # controllers register them too, and count nothing
_TRAFFIC = "kafka.server:type=BrokerTopicMetrics,name={0}PerSec"

# What is counted → help, its unit, whether it is singled out.
_COUNTED = {
    "BytesIn": ("Bytes that clients sent.", "bytes", True),
    "BytesOut": ("Bytes that consumers were sent.", "bytes", True),
    "MessagesIn": ("Records that clients sent.", "", True),
    "BytesRejected": ("Bytes refused because a batch was too large.", "bytes", True),
    "FailedProduceRequests": ("Produce requests that failed.", "", True),
    "FailedFetchRequests": ("Fetch requests that failed.", "", True),
    "TotalProduceRequests": ("Produce requests.", "", True),
    "TotalFetchRequests": ("Fetch requests, followers' too.", "", True),
    "ProduceMessageConversions": ("Records converted for an older client while producing.", "", True),
    "FetchMessageConversions": ("Records converted for an older client while fetching.", "", False),
    "InvalidMagicNumberRecords": ("Records refused for their format.", "", False),
    "InvalidMessageCrcRecords": ("Records refused because their checksum was wrong.", "", False),
    "InvalidOffsetOrSequenceRecords": ("Records refused for a wrong offset or sequence.", "", False),
    "NoKeyCompactedTopicRecords": ("Records without a key, refused by a compacted topic.", "", False),
}
_NEVER_BY_TOPIC = {
    "ReplicationBytesIn": "Bytes that followers on this broker fetched.",
    "ReplicationBytesOut": "Bytes that this broker sent to followers.",
    "ReassignmentBytesIn": "Bytes received for reassigned partitions.",
    "ReassignmentBytesOut": "Bytes sent for reassigned partitions.",
}


def _by_topic(total: Metric) -> Metric:
    return counter(
        total.bean + ",topic={topic}",
        total.help,
        unit=total.unit,
        scope=Scope.TOPIC,
        appears="with the topic's first event, which rate() therefore misses",
    )


_TOTALS = tuple(
    counter(_TRAFFIC.format(name), help, unit=unit, star=star, **_NODE)
    for name, (help, unit, star) in _COUNTED.items()  # noqa: A001
)
_INTERNAL = tuple(
    counter(_TRAFFIC.format(name), help, unit="bytes", star=True, **_NODE)
    for name, help in _NEVER_BY_TOPIC.items()  # noqa: A001
)
ROWS = (*_TOTALS, *_INTERNAL, *(_by_topic(total) for total in _TOTALS if total.star))
