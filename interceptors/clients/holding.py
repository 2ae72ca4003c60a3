"""Which partitions a consumer was given and lost, told to the chain as it happens.

A group assigns by callbacks, an application by assign(). In a callback the application may call assign() too, to begin
elsewhere; that is one assignment, not two.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from interceptors.chain import Chain
from interceptors.contract import Happening

Callback = Callable[..., Any]


class Holding:
    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._held: dict[tuple[str, int], Any] = {}
        self._rebalancing = False

    # ---- by the group -------------------------------------------------------------------------------------------------

    def callbacks(
        self, ours: Callable[[], Any], on_assign: Callback | None, on_revoke: Callback | None, on_lost: Callback | None
    ) -> dict[str, Callback]:
        """What to subscribe with. Where the application has no callback for lost partitions, its on_revoke gets them."""

        def assigned(client: Any, partitions: list[Any]) -> Any:
            self.tell(Happening.ASSIGN, partitions)
            with self.rebalancing():
                return on_assign(ours() or client, partitions) if on_assign else None

        def revoked(client: Any, partitions: list[Any]) -> Any:
            return self._given_up(Happening.REVOKE, on_revoke, ours() or client, partitions)

        def lost(client: Any, partitions: list[Any]) -> Any:
            return self._given_up(Happening.LOST, on_lost or on_revoke, ours() or client, partitions)

        return {"on_assign": assigned, "on_revoke": revoked, "on_lost": lost}

    def _given_up(self, what: Happening, callback: Callback | None, client: Any, partitions: list[Any]) -> Any:
        """Told when the application is done with it: what it still commits there belongs to this assignment."""
        try:
            with self.rebalancing():
                return callback(client, partitions) if callback else None
        finally:
            self.tell(what, partitions)

    @contextmanager
    def rebalancing(self) -> Iterator[None]:
        self._rebalancing = True
        try:
            yield
        finally:
            self._rebalancing = False

    # ---- by the application -------------------------------------------------------------------------------------------

    def assigned(self, partitions: Iterable[Any]) -> None:
        """All of them, and no others."""
        if not self._rebalancing:
            now = {(where.topic, where.partition): where for where in partitions}
            self.tell(Happening.REVOKE, [where for key, where in self._held.items() if key not in now])
            self.tell(Happening.ASSIGN, list(now.values()))

    def added(self, partitions: Iterable[Any]) -> None:
        if not self._rebalancing:
            self.tell(Happening.ASSIGN, list(partitions))

    def removed(self, partitions: Iterable[Any]) -> None:
        if not self._rebalancing:
            self.tell(Happening.REVOKE, list(partitions))

    def tell(self, what: Happening, partitions: list[Any]) -> None:
        if not partitions:
            return
        for where in partitions:
            if what is Happening.ASSIGN:
                self._held[where.topic, where.partition] = where
            else:
                self._held.pop((where.topic, where.partition), None)
        self._chain.happened(what, time.monotonic_ns(), None, partitions)
