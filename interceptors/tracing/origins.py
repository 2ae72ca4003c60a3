"""Which consumer did a Message come from? It does not say: it knows neither its group nor its client, and takes no notes.

A traced consumer is remembered by the topics it reads. If one alone in this process reads a topic, it is that one; if
several do, only what they have in common can be said, unless the application names its consumer.
"""

import threading
import weakref
from typing import TYPE_CHECKING, Any

from interceptors.tracing.settings import Settings

if TYPE_CHECKING:
    from interceptors.tracing.interceptor import Tracing


class Origins:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[str, weakref.WeakSet[Tracing]] = {}

    def reads(self, topic: str, tracing: "Tracing") -> None:
        with self._lock:
            self._readers.setdefault(topic, weakref.WeakSet()).add(tracing)

    def gone(self, tracing: "Tracing") -> None:
        with self._lock:
            for topic, readers in list(self._readers.items()):
                readers.discard(tracing)
                if not readers:
                    del self._readers[topic]

    def of(self, topic: str | None) -> list["Tracing"]:
        if topic not in self._readers:
            return []
        with self._lock:
            return list(self._readers.get(topic, ()))


ORIGINS = Origins()


def in_common(settings: list[Settings]) -> Settings:
    """What several consumers agree on."""
    first, *others = settings
    shared = {key: value for key, value in first.client.items() if all(other.client.get(key) == value for other in others)}
    return Settings(link=all(each.link for each in settings), keys=all(each.keys for each in settings), client=shared)


def tracing_of(consumer: Any) -> "Tracing":
    """The tracing interceptor of a client that has one."""
    from interceptors.loading import BadInterceptor
    from interceptors.tracing.interceptor import Tracing

    if isinstance(consumer, Tracing):
        return consumer
    for interceptor in getattr(consumer, "interceptors", ()):
        if isinstance(interceptor, Tracing):
            return interceptor
    raise BadInterceptor(
        f"{type(consumer).__name__} has no interceptor interceptors.tracing.Tracing: name it in interceptor.classes of that "
        "consumer, or leave the argument out."
    )
