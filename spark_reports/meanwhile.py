"""Two things at once: Spark plans a job on one core, and most machines have another."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def meanwhile(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """The work begins in a thread of its own; what is yielded waits for its answer, or raises what it raised.

    The block is not left before the work is done: nobody stops a session under it."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        begun = pool.submit(work)
        yield begun.result
