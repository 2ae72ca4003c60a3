"""The one way to wait: for a state, never for a time.

A wait that fails says what it saw last, because "timed out" alone has never helped anybody on call.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from kernel.errors import NotReady

T = TypeVar("T")


def wait_until(
    look: Callable[[], T],
    good: Callable[[T], bool],
    *,
    what: str,
    timeout: float,
    every: float = 0.05,
    hint: str | Callable[[], str] = "",
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Look until what is seen is good, and return it. `what` completes the sentence "… is not so after 30 s"."""
    deadline = clock() + timeout
    while True:
        seen: T | NotReady
        try:
            seen = look()
            if good(seen):
                return seen
        except NotReady as trouble:  # nobody there to look at: not yet, and perhaps soon
            seen = trouble
        if clock() >= deadline:
            advice = hint() if callable(hint) else hint
            last = seen.message if isinstance(seen, NotReady) else f"{seen!r}."
            message = f"{what}: not so after {timeout:g} s, last saw {last}" + (f" {advice}" if advice else "")
            raise NotReady(message, what=what, seen=seen, timeout=timeout)
        sleep(every)
