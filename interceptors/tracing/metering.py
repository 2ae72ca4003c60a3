"""OpenTelemetry's four messaging metrics, where the application has set a MeterProvider; else there is nobody to feed."""

from typing import Any

from interceptors.tracing import names


class Meters:
    def __init__(self, provider: Any) -> None:
        from interceptors.tracing.sdk import our_version

        meter = provider.get_meter(names.SCOPE, our_version(), names.SCHEMA)
        self._operation = _histogram(
            meter, names.OPERATION_DURATION, "Duration of messaging operation initiated by a producer or consumer client."
        )
        self._process = _histogram(meter, names.PROCESS_DURATION, "Duration of processing operation.")
        self._sent = meter.create_counter(
            names.SENT, "{message}", "Number of messages producer attempted to send to the broker."
        )
        self._consumed = meter.create_counter(
            names.CONSUMED, "{message}", "Number of messages that were delivered to the application."
        )

    def sent(self, ns: int, facts: dict[str, Any], *, attempted: bool) -> None:
        """A record that never reached the client's queue was not sent, however long it took to find out."""
        self._operation.record(ns / 1e9, facts)
        if attempted:
            self._sent.add(1, facts)

    def operation(self, ns: int, facts: dict[str, Any]) -> None:
        self._operation.record(ns / 1e9, facts)

    def consumed(self, count: int, facts: dict[str, Any]) -> None:
        self._consumed.add(count, facts)

    def processed(self, ns: int, facts: dict[str, Any]) -> None:
        self._process.record(ns / 1e9, facts)


def _histogram(meter: Any, name: str, description: str) -> Any:
    try:
        return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=list(names.BOUNDS))
    except TypeError:  # an API from before 1.30
        return meter.create_histogram(name, "s", description)
