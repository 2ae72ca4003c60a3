"""An interceptor that hears everything and keeps it, and originals that only note what they were asked."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from interceptors.contract import Event, Interceptor
from interceptors.record import ProducerRecord, Report

# librdkafka's own cluster of fakes, inside the client: real protocol, no broker.
MOCK: dict[str, Any] = {"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0}


class Recording(Interceptor):
    """All hooks, in the order in which they were called."""

    def __init__(self, log: list[Any] | None = None, name: str = "") -> None:
        self.log: list[Any] = [] if log is None else log
        self.name = name
        self.config: Mapping[str, Any] = {}
        self.closed = 0

    def _note(self, hook: str, *facts: Any) -> None:
        self.log.append((self.name, hook, *facts) if self.name else (hook, *facts))

    def configure(self, config: Mapping[str, Any]) -> None:
        self.config = config

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self._note("on_send", record.value)
        return record

    def on_acknowledgement(self, report: Report, error: Any, record: ProducerRecord) -> None:
        self._note("on_acknowledgement", record.value, None if error is None else error.name())

    def on_poll(self) -> None:
        self._note("on_poll")

    def on_consume(self, records: list[Any]) -> list[Any]:
        self._note("on_consume", *(record.value() for record in records))
        return records

    def on_commit(self, offsets: list[Any]) -> None:
        self._note("on_commit", *((where.topic, where.partition, where.offset) for where in offsets))

    def on_event(self, event: Event) -> None:
        self._note("on_event", str(event.what), *((where.topic, where.partition) for where in event.partitions))

    def close(self) -> None:
        self.closed += 1
        self._note("close")

    def heard(self, hook: str) -> list[Any]:
        """What one hook was called with, without its name."""
        skip = 2 if self.name else 1
        return [entry[skip:] for entry in self.log if entry[skip - 1] == hook]


def outcome(call: Callable[[], Any]) -> Any:
    """What a call answers or how it fails, to be compared with another one's."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def noting(original: type, log: list[Any]) -> type:
    """A class with the original's public methods, each of which notes how it was called and answers with its name."""

    def noted(name: str, waits: bool) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            log.append((name, args, kwargs))
            return {"produce": None, "commit": None, "produce_batch": 1}.get(name, name)

        async def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            return call(self, *args, **kwargs)

        return wait if waits else call

    public = [name for name in dir(original) if not name.startswith("_")]
    body: dict[str, Any] = {name: noted(name, inspect.iscoroutinefunction(getattr(original, name))) for name in public}
    body["__init__"] = lambda self, *args, **kwargs: log.append(("__init__", args, kwargs))
    body["__len__"] = lambda self: 7
    body["__bool__"] = lambda self: True
    body["__enter__"] = lambda self: self
    body["__exit__"] = lambda self, *exc: None
    return type(original.__name__, (), body)
