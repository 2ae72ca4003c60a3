"""From a schedule that fails to the fewest steps that still fail (delta debugging).

Leaving out any one step of the result makes the failure go away; so each that is left is needed. A trial may fail only
now and then: one failure seen is proof enough that these steps can fail, but a pass proves little, so a set of steps counts
as harmless only after it passed `confirm` times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chaos.schedule import Step
from kernel.errors import UsageError

Say = Callable[[str], None]
Fails = Callable[[list[Step]], bool]
Kept = tuple[int, ...]  # places in the original list


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What is left; whether nothing more can be left out (or the tries ran out); how often the result failed when run."""

    steps: list[Step]
    minimal: bool
    tries: int
    failed: int
    runs: int


def shrink(steps: Sequence[Step], fails: Fails, say: Say = lambda _: None, *, tries: int = 100, confirm: int = 1) -> Shrunk:
    """Raises `UsageError` if not even all steps together fail. `tries` bounds how often `fails` is called."""
    if tries < 1 or confirm < 1:
        raise UsageError(f"tries {tries} and confirm {confirm} must both be 1 or more.")
    trials = _Trials(list(steps), fails, say, tries, confirm)
    kept: Kept = tuple(range(len(steps)))
    if not trials.fail(kept):
        raise UsageError(
            f"all {len(steps)} steps together passed {trials.runs(kept)} times, so there is nothing to shrink: "
            "if it fails only now and then, raise --confirm."
        )
    minimal = True
    try:
        kept = _ddmin(kept, trials)
    except _OutOfTries as tired:
        kept, minimal = tired.kept, False
        say(f"stopped after {tries} tries: {len(kept)} steps are left, perhaps not all of them needed")
    left, failed, runs = [steps[place] for place in kept], trials.failures(kept), trials.runs(kept)
    if minimal:
        say(f"{len(left)} of {len(steps)} steps are enough, and each is needed (failed {failed} of {runs} runs)")
    return Shrunk(left, minimal, trials.made, failed, runs)


def _ddmin(kept: Kept, trials: "_Trials") -> Kept:
    """Halves first, then finer; each success starts again from what is left."""
    parts = 2
    while kept:
        trials.best = kept
        chunks = _chunks(kept, min(parts, len(kept)))
        smaller = next((chunk for chunk in _candidates(kept, chunks) if trials.fail(chunk)), None)
        if smaller is not None:
            parts = 2 if smaller in chunks else max(parts - 1, 2)
            kept = smaller
        elif parts >= len(kept):
            return kept
        else:
            parts = min(2 * parts, len(kept))
    return kept


def _candidates(kept: Kept, chunks: list[Kept]) -> list[Kept]:
    """Each chunk alone, then everything but it. Of a single step: nothing at all, for it may be innocent."""
    without = [tuple(place for place in kept if place not in chunk) for chunk in chunks]
    return [candidate for candidate in dict.fromkeys([*chunks, *without]) if candidate != kept]


def _chunks(kept: Kept, parts: int) -> list[Kept]:
    ends = [len(kept) * part // parts for part in range(parts + 1)]
    return [kept[begin:end] for begin, end in pairwise(ends)]


@dataclass
class _Trials:
    """Runs subsets, remembers how they ended, and stops when the tries are used up."""

    steps: list[Step]
    fails: Fails
    say: Say
    most: int
    confirm: int
    made: int = 0
    best: Kept = ()
    seen: dict[Kept, list[bool]] = field(default_factory=dict)

    def fail(self, kept: Kept) -> bool:
        outcomes = self.seen.setdefault(kept, [])
        while not any(outcomes) and len(outcomes) < self.confirm:
            if self.made >= self.most:
                raise _OutOfTries(self.best or tuple(range(len(self.steps))))
            self.made += 1
            outcomes.append(self.fails([self.steps[place] for place in kept]))
            self.say(f"try {self.made}: {len(kept)} of {len(self.steps)} steps {'fail' if outcomes[-1] else 'pass'}")
        return any(outcomes)

    def failures(self, kept: Kept) -> int:
        return sum(self.seen.get(kept, []))

    def runs(self, kept: Kept) -> int:
        return len(self.seen.get(kept, []))


class _OutOfTries(Exception):
    def __init__(self, kept: Kept) -> None:
        self.kept = kept
