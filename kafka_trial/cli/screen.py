"""How the command line speaks: progress on a terminal, plain lines elsewhere, errors as one sentence."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(sentence: str) -> None:
    err.print(f"kafka-trial: {sentence}", style="red" if err.is_terminal else None, markup=False)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Something to say what is being done with: a spinner for people, a line each for logs."""
    if quiet or not err.is_terminal:
        yield (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr, flush=True))
        return
    with err.status("") as spinner:
        yield lambda words: spinner.update(f"{words} …")


Say = Callable[[str], None]


@contextmanager
def live(*, quiet: bool = False) -> Iterator[tuple[Say, Callable[[Any], None]]]:
    """For a trial: a line with its time for everything that happens, and on a terminal the counts below, as they grow."""
    began = time.monotonic()
    trials: list[Any] = []

    def say(words: str) -> None:
        if not quiet:
            err.print(f"{time.monotonic() - began:6.1f} s  {words}", markup=False)

    if quiet or not err.is_terminal:
        yield say, trials.append
        return
    done = threading.Event()
    with err.status("") as spinner:

        def tick() -> None:
            while not done.wait(0.25):
                if trials:
                    spinner.update(f"[dim]{time.monotonic() - began:.0f} s  {trials[-1].counts_in_words()}[/]")

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield say, trials.append
        finally:
            done.set()
            ticker.join()
