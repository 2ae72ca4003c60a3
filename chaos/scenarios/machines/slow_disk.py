"""The disk of one broker is slow. Who waits, for how long, and does anybody take over?

Stalls shorter than the replica lag change nothing but latency: while the disk stalls nobody in its ISR gets an
acknowledgement at acks=all, and afterwards everybody does. A disk that hangs for longer parts the two roles of a broker:
where it follows, it leaves the ISR and the others go on; where it leads, nothing happens at all. Its heartbeats say
nothing of disks, so it stays the leader, and its partitions are dark until the disk is back. That is the twin.
"""

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.stall_disk import StallDisk
from chaos.scenarios.machines.lost_disk import nothing_lost
from chaos.scenarios.scenario import Option, Scenario
from chaos.trial import Trial
from compose.disks import Disk

VICTIM = 3
STALL_MS, FREE_MS = 400, 200  # far below every timeout, far above what a write takes


def act(trial: Trial) -> None:
    # Every partition has a replica on that disk, however many brokers there are.
    orders = trial.topic("orders", assignment=trial.spread(3, first=VICTIM, avoid=trial.cluster.brokers[VICTIM:]))
    trial.producer("producer-1", orders)
    trial.consumer("reader-1", orders, mode="assign")
    trial.settle()
    (_hanging if trial.options["stall"] == "long" else _slow)(trial, orders)
    trial.healthy("healthy-again")
    trial.steady("sending on with every disk well")


def _slow(trial: Trial, orders: str) -> None:
    fault = StallDisk(VICTIM, stall_ms=STALL_MS, free_ms=FREE_MS)
    bound = bounds.slow_disk(trial.given(), stall_s=STALL_MS / 1000)
    before = {state.partition: state for state in trial.cluster.view.partitions(orders)}
    with trial.inject(fault, affected=trial.partitions_with(VICTIM), send=bound) as name:
        trial.hold(name, 2 * bounds.follower_cut(trial.given()).seconds / 3)  # long enough to be dropped, were it lagging
    trial.stalls = list(fault.stalls)
    after = {state.partition: state for state in trial.cluster.view.partitions(orders)}
    trial.expect("same leaders, same ISR", after == before, "Leaders and ISR are those of before, epochs included.")


def _hanging(trial: Trial, orders: str) -> None:
    bound = bounds.follower_cut(trial.given())
    fault = StallDisk(VICTIM)
    with trial.inject(fault, affected=trial.partitions_with(VICTIM), send=bound) as name:
        trial.wait(
            "leaves the ISR", lambda: trial.cluster.view.partitions(orders),
            lambda states: all(VICTIM not in state.isr for state in states if state.leader != VICTIM),
            what=f"broker {VICTIM} out of the ISR where it follows", timeout=bound.seconds + 30,
        )  # fmt: skip
        trial.hold(name, bound.seconds)
        led = {state.partition for state in trial.cluster.view.partitions(orders) if state.leader == VICTIM}
        words = "Nobody leads by a disk that hangs"
        trial.expect("led elsewhere", not led, f"{words}; broker {VICTIM} still leads {sorted(led) or 'nothing'}.")
    trial.stalls = list(fault.stalls)


def conclude(trial: Trial, account: Account) -> None:
    nothing_lost(trial, account)
    (_dark if trial.options["stall"] == "long" else _waited)(trial, account)


def _waited(trial: Trial, account: Account) -> None:
    """What is sent while the disk stalls is acknowledged after that, and not before: the schedule decides it."""
    during = [(sent, end) for sent in account.sends for begin, end in trial.stalls if begin <= (sent.invoked_ns or 0) < end]
    early = [sent for sent, end in during if sent.completed_ns is None or sent.completed_ns < end]
    words = (
        f"None of the {len(during)} records sent during {len(trial.stalls)} stalls is acknowledged before the disk is back"
    )
    trial.expect("waited", bool(during) and not early, f"{words}; {len(early)} are.")


def _dark(trial: Trial, account: Account) -> None:
    """In the end of the stall, when who only followed has long left the ISR."""
    (begin, end), *_ = trial.stalls
    late = begin + 0.9 * (end - begin)
    alive = {sent.partition for sent in account.sends if sent.outcome == "ok" and late <= (sent.completed_ns or 0) < end}
    words = "Exactly the partition that it leads is dark to the end"
    trial.expect(
        "exactly dark", {0, 1, 2} - alive == {0}, f"{words}; without an acknowledgement: {sorted({0, 1, 2} - alive)}."
    )


SCENARIO = Scenario(
    name="slow-disk",
    promise="the disk of one broker stalls again and again: acks=all waits for it, nothing is lost, and no leader changes",
    act=act,
    conclude=conclude,
    options={
        "stall": Option("short", ("short", "long"), "far below the replica lag again and again, or once and beyond it")
    },
    spec=lambda _options: {"disks": (Disk(VICTIM, kind="ext4", mb=96),)},
    spoils=True,
    twin={"stall": "long"},
    twin_finds="a broker whose disk hangs stays the leader: exactly what it leads is dark until the disk is back",
    question="What does a cluster do about a broker whose disk is slow, or hangs?",
    steps="Broker 3 has its log directory on a disk that is frozen for 400 ms at a time, 200 ms apart; or, as the twin, "
    "once for longer than a follower may lag.",
    expectation="Nothing sent during a stall is acknowledged before its end, nothing is lost, no leader and no ISR changes. "
    "A disk that hangs puts its broker out of the ISR where it follows; where it leads it stays, and all waits.",
)
