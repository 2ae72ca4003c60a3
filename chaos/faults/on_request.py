"""One request of one client, chosen by its api and its number, is held, dropped, delayed or cut off.

The frame proxy is put between Toxiproxy and the brokers for as long as the fault lasts, which closes the connections of
all clients once when it comes and once when it goes; they connect again. `nth` counts from then on; 0 is for every one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from chaos.faults import dial
from chaos.faults.fault import Arena
from chaos.faults.requests_seen import AtWork, cut_off, delayed, never_answered
from compose.frames.rules import Rule


@contextmanager
def _armed(rule: Rule, at_work: AtWork, arena: Arena) -> Iterator[None]:
    with arena.cluster.frames() as frames, frames.armed(rule) as armed:
        at_work[:] = [(frames, armed)]
        try:
            yield
        finally:
            at_work.clear()


def _which(nth: int, api: str, client: str) -> str:
    return f"{api} number {nth} of {client} is" if nth else f"each {api} of {client} is"


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """Until the fault is healed: then it arrives late, whether or not its sender still waits for an answer."""

    client: str
    api: str
    nth: int = 1
    kind: ClassVar[str] = "hold-request"
    _work: AtWork = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._rule()

    @property
    def sentence(self) -> str:
        return f"{_which(self.nth, self.api, self.client)} held, and arrives late"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        with _armed(self._rule(), self._work, arena):
            yield

    def bite(self, arena: Arena) -> str:
        return never_answered(self._work, "held", dial.PATIENCE_S)

    def _rule(self) -> Rule:
        return Rule("hold", self.api, self.client, self.nth)


@dataclass(frozen=True, slots=True)
class DropRequest:
    """It never arrives, and its connection stays open: the client waits until its own patience ends."""

    client: str
    api: str
    nth: int = 1
    kind: ClassVar[str] = "drop-request"
    _work: AtWork = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._rule()

    @property
    def sentence(self) -> str:
        return f"{_which(self.nth, self.api, self.client)} dropped"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        with _armed(self._rule(), self._work, arena):
            yield

    def bite(self, arena: Arena) -> str:
        return never_answered(self._work, "dropped", dial.PATIENCE_S)

    def _rule(self) -> Rule:
        return Rule("drop", self.api, self.client, self.nth)


@dataclass(frozen=True, slots=True)
class DelayRequest:
    """What is behind it on its connection waits too."""

    client: str
    api: str
    ms: int
    nth: int = 1
    kind: ClassVar[str] = "delay-request"
    _work: AtWork = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._rule()

    @property
    def sentence(self) -> str:
        return f"{_which(self.nth, self.api, self.client)} delayed by {self.ms} ms"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        with _armed(self._rule(), self._work, arena):
            yield

    def bite(self, arena: Arena) -> str:
        return delayed(self._work, dial.PATIENCE_S)

    def _rule(self) -> Rule:
        return Rule("delay", self.api, self.client, self.nth, ms=self.ms)


@dataclass(frozen=True, slots=True)
class CutRequest:
    """Its connection is closed before it arrives, and what was sent before it is not lost."""

    client: str
    api: str
    nth: int = 1
    kind: ClassVar[str] = "cut-request"
    _work: AtWork = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._rule()

    @property
    def sentence(self) -> str:
        return f"the connection of {self.client} is cut when {_which(self.nth, self.api, self.client)} on it"

    @contextmanager
    def applied(self, arena: Arena) -> Iterator[None]:
        with _armed(self._rule(), self._work, arena):
            yield

    def bite(self, arena: Arena) -> str:
        return cut_off(self._work, dial.PATIENCE_S)

    def _rule(self) -> Rule:
        return Rule("cut", self.api, self.client, self.nth)
