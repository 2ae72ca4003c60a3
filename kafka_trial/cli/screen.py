"""How the command line speaks: progress on a terminal, plain lines elsewhere, errors as one sentence."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
