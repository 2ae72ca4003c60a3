"""Replicas are moved to another broker under a throttle, while traffic goes on: to the end, cancelled, or with the broker
killed in the middle.

A throttle is a promise in both directions: the copy takes no less than its bytes over the rate, and not much more. The twin
makes the promise and sets no throttle. A move that is cancelled leaves everything as it was, the disk included.
"""

import time

from chaos import bounds
from chaos.faults.kill_broker import KillBroker
from chaos.scenarios.operations.partitions import fill, named, on_disk, replicas_of, states_of, wait_throttled
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Operation, Trial
from compose.reassigning import bytes_in

MIDDLE = 4  # a fourth of the bytes is there, and most are not
Moves = dict[Where, list[int]]


def act(trial: Trial) -> None:
    controller = trial.cluster.controller()
    one, two, to = [controller, *(broker for broker in trial.cluster.brokers if broker != controller)][:3]
    orders = trial.topic("orders", assignment=[[one, two], [two, one]])
    fill(trial, orders, int(trial.options["data"]))
    trial.producer("producer-1", orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    before = replicas_of(trial, orders)
    after = {where: [replicas[0], to] for where, replicas in before.items()}
    try:
        rate = _throttled(trial, before, after)
        _move(trial, before, after, to, rate)
    finally:
        trial.cluster.unthrottle(orders)
    trial.healthy("healthy-again")
    trial.steady("sending on with everything in its place")


def _throttled(trial: Trial, before: Moves, after: Moves) -> int:
    """Set it, and read it back from those who have to keep it."""
    rate = int(trial.options["throttle"]) * 1000
    if trial.options["apply"] == "no":
        return rate
    trial.cluster.throttle(rate, before, after)
    told = wait_throttled(trial, rate)
    trial.expect(
        "throttle", told == {str(rate)}, f"Every broker says that it copies {rate:,} bytes a second; they say {told}."
    )
    return rate


def _move(trial: Trial, before: Moves, after: Moves, to: int, rate: int) -> None:
    bound = bounds.leadership_moved(trial.given())
    first = _to_copy(trial, before, after, to)
    words = f"{named(after)} ({first / 1e6:.1f} MB) are moved to broker {to} at {rate / 1e6:.1f} MB/s"
    began = time.monotonic()
    with trial.operation("reassign-partitions", words, affected=after, send=bound, poll=bound) as work:
        trial.cluster.reassign(after)
        if trial.options["how"] == "cancel":
            _cancel(trial, work, before, to, first)
            return
        if trial.options["how"] == "kill":
            _kill(trial, to, first)
        trial.cluster.wait_reassigned(after, timeout=120 + first / rate)
        took = time.monotonic() - began
        work.seen(f"replicas are {', '.join(map(str, states_of(trial).values()))}")
    _in_time(trial, before, after, to, rate, first, took)


def _to_copy(trial: Trial, before: Moves, after: Moves, to: int) -> int:
    sizes = trial.cluster.sizes(*trial.topics)
    return bytes_in(before, after, {where: max(sizes[where].values()) for where in after})[to]


def _in_time(trial: Trial, before: Moves, after: Moves, to: int, rate: int, first: int, took: float) -> None:
    last = _to_copy(trial, before, after, to)
    fits = bounds.throttled_copy(trial.given(), at_first=first, at_last=last, rate=rate, sources=len(after))
    words = f"{first:,} bytes at {rate:,} a second take at least {fits.at_least_s:.1f} s"
    trial.expect("took at least", took >= fits.at_least_s, f"{words}; they took {took:.1f} s.")
    if trial.options["how"] == "through":
        words = f"The copy, {last:,} bytes at last, takes at most {fits.at_most_s:.1f} s"
        trial.expect("took at most", took <= fits.at_most_s, f"{words}; it took {took:.1f} s.")


def _wait_middle(trial: Trial, to: int, first: int) -> int:
    def copied() -> int:
        return sum(on.get(to, 0) for on in trial.cluster.sizes(*trial.topics).values())

    return trial.wait(
        "in the middle", copied, lambda there: there * MIDDLE >= first, what=f"a fourth of {first} bytes on broker {to}",
        timeout=90,
    )  # fmt: skip


def _cancel(trial: Trial, work: Operation, before: Moves, to: int, first: int) -> None:
    there = _wait_middle(trial, to, first)
    taken_back = trial.cluster.cancel_reassignments()
    work.seen(f"{named(taken_back)} cancelled with {there:,} of {first:,} bytes copied")
    trial.wait(
        "as before", lambda: {where: list(state.replicas) for where, state in states_of(trial).items()},
        lambda now: now == before, what=f"replicas as before: {before}", timeout=60,
    )  # fmt: skip
    trial.expect("as before", True, f"Replicas are exactly as they were before: {before}.")
    bound, began = bounds.space_freed(trial.given()), time.monotonic()
    trial.wait(
        "space freed", lambda: on_disk(trial), lambda held: all(to not in brokers for brokers in held.values()),
        what=f"nothing left on broker {to}", timeout=bound.seconds,
    )  # fmt: skip
    words = f"Nothing of the {there:,} bytes is left on broker {to} within {bound.seconds:.1f} s"
    trial.expect("space freed", True, f"{words}; it was so after {time.monotonic() - began:.1f} s.")


def _kill(trial: Trial, to: int, first: int) -> None:
    there = _wait_middle(trial, to, first)
    with trial.inject(KillBroker(to), affected=(), role=f"which has {there:,} of {first:,} bytes"):
        pending = set(states_of(trial))
        trial.stays(
            "waits", lambda: set(trial.cluster.view.reassignments()) == pending,
            seconds=bounds.killed_signature(trial.given()).at_most_s,
            words=f"The moves of {named(pending)} stay under way while broker {to} is gone",
        )  # fmt: skip


SCENARIO = Scenario(
    name="rebalance-partitions",
    promise="replicas are moved under a throttle: the copy keeps to its rate, ends, can be cancelled, and nothing is lost",
    act=act,
    options={
        "how": Option("through", ("through", "cancel", "kill"), "to the end, cancelled, or its target killed in the middle"),
        "throttle": Option("2000", help="thousands of bytes a second"),
        "apply": Option("yes", ("yes", "no"), "whether the throttle is really set"),
        "data": Option("24", help="megabytes to move"),
    },
    # One fetch may go over the rate, so it is kept small against what is moved.
    config={
        "auto.leader.rebalance.enable": "false",
        "replica.fetch.response.max.bytes": "262144",
        "log.segment.delete.delay.ms": "1000",
    },
    twin={"apply": "no"},
    twin_finds="a copy that is over long before its bytes at the promised rate would be",
    question="How long does moving partitions take under a throttle, and can it be stopped in the middle?",
    steps="A topic with data is moved to a third broker at a limited rate, while producers and readers go on.",
    expectation="It takes at least bytes / rate (less one fetch, which may go over) and at most that and the waits of a "
    "fetcher. Cancelled, replicas are as before and the space is freed; with its target killed, it completes once that is "
    "back. Nothing is lost.",
)
