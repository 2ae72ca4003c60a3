"""What a producer is told that is there to see what brokers do when they are stopped in good order.

With several requests of a partition under way, an idempotent librdkafka can write records twice when leaders move: that is
shown by `sequence-gap`, and upgrades with its own setting, 5, had such records in one run of nine (whether by the same way
was not seen). It would be held against the brokers. Whoever wants to see it gives `--client max.in.flight=5`.
"""

from collections.abc import Mapping

IN_FLIGHT = ("max.in.flight.requests.per.connection", "max.in.flight")


def one_by_one(told: Mapping[str, object]) -> dict[str, int]:
    """One request under way, unless clients were told otherwise."""
    return {} if any(name in told for name in IN_FLIGHT) else {IN_FLIGHT[0]: 1}
