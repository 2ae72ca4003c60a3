"""Is somebody let in? A connection of its own, made for the question."""

import time

from kernel.cluster import ClusterAddress

PATIENCE_S = 10.0


def login_error(address: ClusterAddress) -> str | None:
    """None if this principal is let in; else the first error librdkafka names, such as _AUTHENTICATION or _SSL."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    told: list[str] = []
    admin = AdminClient({**address.librdkafka(), "log_level": 0, "error_cb": lambda error: told.append(error.name())})
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            admin.list_topics(timeout=1)
            return None
        except KafkaException as error:
            admin.poll(0)
            known = [name for name in told if name not in ("_TRANSPORT", "_ALL_BROKERS_DOWN")]
            if known:
                return known[0]
            last = str(error.args[0].name())
    return last
