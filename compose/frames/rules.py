"""What is to be done to which request, and what became of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from compose.frames.apis import api_key, api_name
from kernel.errors import NotReady, UsageError

if TYPE_CHECKING:
    from compose.frames.lane import Held

Direction = Literal["request", "response"]
Deed = Literal["hold", "drop", "delay", "cut"]
MOST_CAUGHT = 10_000  # sightings that a rule for all frames keeps
DONE: dict[Deed, str] = {"hold": "held", "drop": "dropped", "delay": "delayed", "cut": "cut"}


class Sighting(NamedTuple):
    """A frame as the proxy saw it, and what was done with it: passed, held, released, dropped, delayed or cut."""

    t_ns: int
    broker: int
    line: int  # which connection
    direction: Direction
    api: int
    version: int
    correlation: int
    client: str | None
    size: int
    done: str


@dataclass(frozen=True, slots=True)
class Rule:
    """`nth`: which of the matching frames, counted from when the rule is armed; 0 is for all of them. A client that came
    back as `name.2` still counts as `name`; no client at all stands for any."""

    deed: Deed
    api: str | int
    client: str | None = None
    nth: int = 1
    direction: Direction = "request"
    ms: int = 0  # of a delay

    def __post_init__(self) -> None:
        api_key(self.api)
        for what, value, known in (("deed", self.deed, tuple(DONE)), ("direction", self.direction, ("request", "response"))):
            if value not in known:
                raise UsageError(f"{what} {value!r} is not known: choose one of {', '.join(known)}.")
        if self.nth < 0:
            raise UsageError(f"nth {self.nth} cannot be: count from 1, or give 0 for all.")
        if (self.deed == "delay") != (self.ms > 0):
            raise UsageError(f"{self.deed} with ms {self.ms} cannot be: a delay takes 1 or more, anything else none.")

    def matches(self, api: int, client: str | None) -> bool:
        if api != api_key(self.api):
            return False
        return self.client in (None, client) or (client or "").startswith(f"{self.client}.")

    def __str__(self) -> str:
        which = f"{api_name(api_key(self.api))} {self.direction}"
        return f"{self.deed} {'all' if not self.nth else f'number {self.nth}'} of {self.client or 'any client'}: {which}"


class Armed:
    """A rule at work. Its counts are kept by the proxy's thread; whoever armed it waits for them here."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self._key = rule, api_key(rule.api)
        self.matched = 0
        self.caught: list[Sighting] = []
        self.holding: list[Held] = []
        self._news = threading.Condition()

    def takes(self, api: int, client: str | None) -> bool:
        """Whether this frame is the one; counts it if it matches."""
        if api != self._key or not self.rule.matches(api, client):  # most frames are others, and there are many
            return False
        self.matched += 1
        return self.rule.nth in (0, self.matched)

    def told(self, sighting: Sighting | None = None, held: "Held | None" = None) -> None:
        with self._news:
            if sighting is not None and len(self.caught) < MOST_CAUGHT:
                self.caught.append(sighting)
            if held is not None:
                self.holding.append(held)
            self._news.notify_all()

    def wait_caught(self, count: int = 1, timeout: float = 30) -> Sighting:
        """The frame, once it has come. One that is held is complete by then, so that it outlives its connection."""
        holds = self.rule.deed == "hold"
        self._wait(lambda: len(self.holding if holds else self.caught) >= count, timeout, "it did not come")
        return self.caught[count - 1]

    def wait_answer(self, timeout: float = 30) -> bytes:
        """The first bytes of what the other side answered to the first frame that was held, its length field left out."""
        self._wait(lambda: bool(self.holding) and self.holding[0].answered, timeout, "it was not answered")
        return bytes(self.holding[0].answer[4:])

    def _wait(self, look: Callable[[], bool], timeout: float, trouble: str) -> None:
        with self._news:
            if not self._news.wait_for(look, timeout):
                seen = f"{self.matched} matched, {len(self.caught)} were chosen"
                raise NotReady(f"{self.rule}: {trouble} in {timeout:.0f} s ({seen}).", rule=self.rule)
