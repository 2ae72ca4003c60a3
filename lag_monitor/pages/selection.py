"""Which groups are asked for, and which of those are shown at once: one way for the page and for programs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernel.errors import UsageError
from lag_monitor.verdict import Gravity, GroupVerdict, Status

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Wanted:
    text: str = ""  # in the group's name, in capitals or not
    statuses: frozenset[Status] = frozenset()  # none: any
    gravity: Gravity = Gravity.OK  # so grave, or graver


@dataclass(frozen=True, slots=True)
class Slice:
    offset: int
    limit: int
    total: int

    @property
    def first(self) -> int:
        return min(self.offset + 1, self.total)

    @property
    def last(self) -> int:
        return min(self.offset + self.limit, self.total)


def chosen(groups: Iterable[GroupVerdict], wanted: Wanted) -> list[GroupVerdict]:
    text = wanted.text.casefold()
    return [
        one
        for one in groups
        if (not wanted.statuses or one.status in wanted.statuses)
        and one.gravity >= wanted.gravity
        and (not text or text in one.group.casefold())
    ]


def gravest_first(groups: Iterable[GroupVerdict]) -> list[GroupVerdict]:
    return sorted(groups, key=lambda one: (-one.status, one.group, one.cluster))


def cut(items: Sequence[Item], offset: int, limit: int) -> tuple[Sequence[Item], Slice]:
    return items[offset : offset + limit], Slice(offset, limit, len(items))


def statuses(words: Iterable[str]) -> frozenset[Status]:
    """Spelled as a person would: `stuck-transaction`, `STUCK_TRANSACTION`, several with commas."""
    named = [word for text in words for word in text.split(",") if word.strip()]
    return frozenset(_status(word) for word in named)


def gravity(word: str) -> Gravity:
    if not word:
        return Gravity.OK
    try:
        return Gravity[word.strip().upper()]
    except KeyError:
        known = ", ".join(one.name.lower() for one in Gravity)
        raise UsageError(f"no gravity is called {word!r}: there are {known}.") from None


def whole(word: str, name: str, *, default: int, least: int, most: int) -> int:
    if not word:
        return default
    try:
        number = int(word)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise UsageError(f"{name}={word!r} is not a whole number from {least} to {most}.")
    return number


def _status(word: str) -> Status:
    try:
        return Status[word.strip().upper().replace("-", "_").replace(" ", "_")]
    except KeyError:
        known = ", ".join(one.name for one in Status)
        raise UsageError(f"no status is called {word.strip()!r}: there are {known}.") from None
