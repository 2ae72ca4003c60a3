"""Trace and span ids by the hundred: one call to the system for 512 of them, and none of them twice after a fork.

An id is a piece of text taken from a list, which is atomic: threads need no lock, and neither do they wait for each other.
"""

import os

from interceptors.tracing.context import NO_SPAN

AT_ONCE = 512


class Ids:
    """`pair()` is a trace id (32 digits) and a span id (16) in one text; `span()` a span id alone."""

    __slots__ = ("_pairs", "_spans")

    def __init__(self) -> None:
        self._pairs: list[str] = []
        self._spans: list[str] = []

    def pair(self) -> str:
        try:
            return self._pairs.pop()
        except IndexError:
            self._pairs, answer = _more(24)  # two threads at once: the ids of one are lost, and none is given twice
            return answer

    def span(self) -> str:
        try:
            return self._spans.pop()
        except IndexError:
            self._spans, answer = _more(8)
            return answer

    def forget(self) -> None:
        """A child must not go on with what its parent has in hand."""
        self._pairs, self._spans = [], []


def _more(size: int) -> tuple[list[str], str]:
    while NO_SPAN in (text := os.urandom(size * AT_ONCE).hex(" ", size)):  # once in ten million years: an id of zeros
        pass
    made = text.split(" ")
    return made, made.pop()


IDS = Ids()
os.register_at_fork(after_in_child=IDS.forget)
