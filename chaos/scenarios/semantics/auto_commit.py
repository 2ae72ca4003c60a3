"""A consumer that commits in the background is killed in the middle of its work. When was its offset stored?

librdkafka stores an offset just before it hands the record over, so the background commit may run ahead of the work, and
a crash loses what was in hand. With enable.auto.offset.store=false and store_offsets() after the work it cannot: nothing
is skipped, and what comes twice is exactly what was processed and not yet committed.
"""

from typing import Any

from chaos import bounds
from chaos.evidence.account import Account
from chaos.faults.kill_client import KillClient
from chaos.scenarios import in_hand
from chaos.scenarios.scenario import Option, Scenario
from chaos.traffic.client import Client
from chaos.trial import Trial

TOLD, UNTOLD, OTHER = "consumer-1", "consumer-2", "consumer-3"
INTERVAL_MS = 300
# So long that this one is killed before it commits in the background even once.
NEVER_MS = 600_000
PARTITIONS = 6


def act(trial: Trial) -> None:
    orders = trial.topic("orders", partitions=PARTITIONS)
    producer = trial.producer("producer-1", orders)
    for name in (TOLD, UNTOLD, OTHER):
        _member(trial, name, orders, late=name == UNTOLD and trial.options["store"] == "after")
    trial.settle()
    _crash(trial, orders)
    trial.healthy("healthy-again")
    trial.steady("reading on with everybody back")
    producer.rest()
    in_hand.read_to_the_end(trial)


def _member(trial: Trial, name: str, orders: str, *, late: bool = False) -> Client:
    how = {"after": "store", "before": "auto"}[trial.options["store"]]
    config = {"auto.commit.interval.ms": NEVER_MS if late else INTERVAL_MS}
    return trial.consumer(name, orders, commit=how, batch=50, config=config)


def _crash(trial: Trial, orders: str) -> None:
    """One member is killed after a commit in the background; and if that is safe, another before any."""
    after = trial.options["store"] == "after"
    held = in_hand.hold(trial, TOLD)
    in_hand.wait_told(trial, TOLD, in_hand.short_of(held) if after else in_hand.past(held))
    everywhere = [(orders, partition) for partition in range(PARTITIONS)]
    facts: dict[str, Any] = {"affected": everywhere, "poll": bounds.consumer_killed(trial.given())}
    if not after:
        with trial.inject(KillClient(TOLD), role=f"{len(held)} records in hand", **facts):
            _written_down(trial, held)
            _back(trial, orders, TOLD)
        return
    also = in_hand.hold(trial, UNTOLD)
    with (
        trial.inject(KillClient(TOLD), role=f"{len(held)} records in hand", **facts),
        trial.inject(KillClient(UNTOLD), role=f"{len(also)} records in hand, nothing committed", **facts),
    ):
        _written_down(trial, held + also)
        _back(trial, orders, TOLD, UNTOLD)


def _written_down(trial: Trial, held: in_hand.Held) -> None:
    """What the group knows when its members are dead and nobody has their partitions yet: it knows it by itself."""
    trial.exposed = in_hand.values(held)
    told = trial.cluster.committed(trial.group())
    offsets = [[topic, partition, offset] for (topic, partition), offset in sorted(told.items())]
    trial.events.write("committed", group=trial.group(), offsets=offsets, in_hand=held)


def _back(trial: Trial, orders: str, *names: str) -> None:
    trial.groups[trial.group()] -= len(names)
    trial.traffic.wait_for(reads=5, timeout=90)
    for name in names:
        _member(trial, name, orders)


def conclude(trial: Trial, account: Account) -> None:
    known = next(event for event in trial.folder.events() if event["event"] == "committed")
    told = {(topic, partition): offset for topic, partition, offset in known["offsets"]}
    group = {client.name for client in trial.traffic.clients if client.name.startswith("consumer-")}
    skipped = account.acked - {read.value for read in account.read_by(group)}
    if trial.options["store"] == "before":
        words = f"Exactly the {len(trial.exposed)} records in hand at the crash are never processed"
        trial.expect("exact loss", skipped == set(trial.exposed), f"{words}; {len(skipped)} are not.")
    else:
        past = [value for topic, partition, offset, value in known["in_hand"] if offset < told.get((topic, partition), 0)]
        words = f"None of the {len(trial.exposed)} records in hand was committed, though the group commits by itself"
        trial.expect("commits behind the work", not past, f"{words}; {len(past)} were.")
        trial.expect("none skipped", not skipped, f"The group processes every record; it skipped {len(skipped)}.")
    _twice(trial, account, told, group)


def _twice(trial: Trial, account: Account, told: dict[tuple[str, int], int], group: set[str]) -> None:
    """Of every member that was killed, what it had processed from where its group took it to be."""
    killed = {client.name for client in trial.traffic.clients if client.killed}
    again = {r.value for r in account.read_by(killed) if r.offset >= told.get((r.topic, r.partition), 0)}
    twice = account.read_twice(group)
    words = f"Processed twice are exactly the {len(again)} records that were processed and not yet committed"
    trial.expect("exact repetition", twice == again, f"{words}; {len(twice)} are, {len(twice & again)} of them those.")


SCENARIO = Scenario(
    name="auto-commit",
    promise="consumers that commit by themselves are killed in the middle of their work: no record in hand is skipped",
    act=act,
    conclude=conclude,
    options={"store": Option("after", ("after", "before"), "an offset is stored after the work, or before (the default)")},
    twin={"store": "before"},
    twin_finds="exactly the records in hand are never processed",
    question="Is enable.auto.commit safe with librdkafka? Only if the application stores offsets itself, after its work.",
    steps=(
        "Three members of a group commit in the background. One is stopped in the middle of a batch until the group has "
        "been told of its work, another before it commits at all; both are killed and replaced."
    ),
    expectation=(
        "With store=after no record in hand is committed, none is skipped, and processed twice is exactly what was "
        "processed and not yet committed. With store=before (librdkafka's default) exactly the records in hand are never "
        "processed, and the commit that passed them is found (commit-ahead)."
    ),
)
