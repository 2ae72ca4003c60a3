"""The frame proxy beside Toxiproxy: client → Toxiproxy → frame proxy → broker, for as long as somebody needs it."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Protocol

from compose.frames.proxy import FrameProxy
from compose.links import CLIENT, Link
from compose.spec import ClusterSpec
from compose.toxiproxies import Toxiproxies
from kernel.errors import UsageError


class CanBeListenedTo(Protocol):
    """What the frame proxy needs of a cluster."""

    @property
    def spec(self) -> ClusterSpec: ...
    @property
    def provider(self) -> str: ...
    @property
    def brokers(self) -> tuple[int, ...]: ...
    @property
    def links(self) -> Toxiproxies: ...


class Beside:
    """One proxy, however many ask for it at the same time; it goes with the last of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._road = ExitStack()
        self._proxy: FrameProxy | None = None

    @contextmanager
    def opened(self, cluster: CanBeListenedTo) -> Iterator[FrameProxy]:
        check(cluster)
        with self._lock:
            if self._proxy is None:
                self._proxy = self._open(cluster)
            proxy, self._users = self._proxy, self._users + 1
        try:
            yield proxy
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._proxy = None
                    self._road.close()

    def _open(self, cluster: CanBeListenedTo) -> FrameProxy:
        links = {broker: Link(CLIENT, broker) for broker in cluster.brokers}
        upstreams: Mapping[int, tuple[str, int]] = {b: cluster.links.addresses_of(link)[1] for b, link in links.items()}
        with ExitStack() as road:
            proxy = road.enter_context(FrameProxy(upstreams))
            for broker, link in links.items():
                road.enter_context(cluster.links.redirected(link, proxy.listening[broker]))
            self._road = road.pop_all()
        return proxy


def check(cluster: CanBeListenedTo) -> None:
    if cluster.spec.security != "plaintext":
        raise UsageError(
            f"single requests cannot be told apart on a cluster with security {cluster.spec.security}, where everything is "
            "encrypted: use plaintext.",
            security=cluster.spec.security,
        )
    if cluster.provider != "processes":
        raise UsageError(
            "the frame proxy cannot stand beside brokers in containers, whose listeners behind Toxiproxy it does not reach: "
            "use --provider processes.",
            provider=cluster.provider,
        )
