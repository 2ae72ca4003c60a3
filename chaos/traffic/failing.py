"""Which records an application cannot process, and how often; and the values of what it makes of them. Pure.

Every value is sent once in a run, so a record that is sent on gets a value of its own, from which that of the first can be
computed back: how often it was tried, or what became of it, stands before it.
"""

from dataclasses import dataclass

HOP = 10**15  # above every value that producers count up to
DONE, DEAD = 8, 9  # what stands before the value of a result, and of a dead letter
MOST_ATTEMPTS = DONE
ALWAYS = MOST_ATTEMPTS
POISON_EVERY, FLAKY_EVERY = 211, 131  # primes: so that they meet every partition


def original(value: int) -> int:
    return value % HOP


def hop(value: int) -> int:
    """How often it was tried before, or what became of it."""
    return value // HOP


def sent_on(value: int, to: int) -> int:
    return to * HOP + original(value)


@dataclass(frozen=True, slots=True)
class Failing:
    """Records of a value from `first` on fail: some once, some twice, some always. Without it none does."""

    first: int | None = None

    def failures(self, value: int) -> int:
        """How many tries of this record fail before one succeeds."""
        known = original(value)
        if self.first is None or known < self.first:
            return 0
        if known % POISON_EVERY == 0:
            return ALWAYS
        return {0: 1, FLAKY_EVERY // 2: 2}.get(known % FLAKY_EVERY, 0)
