"""A machine dies for good and another takes its name: the same broker id, an empty disk.

With three replicas the others lead until it has caught up, and nothing is lost. With one, exactly what it had acknowledged
is gone. How it comes to that is a race in Kafka 4.3.1: if the controller hears of the new log directory before it lets the
broker back in, the broker leads at once, by an unclean election that no configuration allowed; if after, the partition stays
offline until an operator elects it. The controller is apart: with its disk a combined node would lose its vote as well.
"""

from chaos import bounds
from chaos.evidence.account import Account
from chaos.scenarios.operations.partitions import named
from chaos.scenarios.scenario import REPLICATION, Scenario
from chaos.traffic.traffic import Where
from chaos.trial import Trial
from kernel.errors import NotReady
from kernel.waiting import wait_until

# An acknowledgement that was under way when the broker died is heard of by then; and no JVM starts so soon.
UNDER_WAY_NS = 500_000_000
EMPTY = "No logs found to be loaded"  # what a broker says of an empty disk, once in each life that begins with one


def act(trial: Trial) -> None:
    victim, *others = trial.cluster.brokers
    copies = int(trial.options["replication"])
    orders = trial.topic("orders", assignment=trial.spread(3, first=victim, replication=copies))
    elsewhere = trial.topic("elsewhere", assignment=[others[:2]])
    # librdkafka's idempotent producers fail for good when the log is cut below their sequence numbers.
    trial.producer("producer-1", orders, idempotence=copies > 1)
    trial.producer("producer-2", elsewhere, rate=100)
    if copies > 1:
        _read(trial, orders, elsewhere)
    trial.settle()
    _replace(trial, victim, copies)
    trial.healthy("healthy-again")
    if copies == 1:  # nobody had read them yet, so what is gone is lost
        _read(trial, orders, elsewhere)
    trial.steady("sending on with everybody back")


def _read(trial: Trial, *topics: str) -> None:
    trial.consumer("reader-1", *topics, mode="assign")


def _replace(trial: Trial, victim: int, copies: int) -> None:
    held = trial.partitions_with(victim)
    bound = bounds.kill_broker(trial.given(), leads_again=True) if copies > 2 else None
    words = f"broker {victim} is killed, its disk thrown away, and the broker set up anew"
    lives = trial.cluster.log(victim).count(EMPTY)
    # Where nobody else has a replica nothing bounds the darkness, and nobody reads until it is over.
    with trial.operation("replace-broker", words, affected=held if bound else None, send=bound, poll=bound) as work:
        trial.cluster.kill(victim)
        trial.cluster.wipe(victim)
        trial.events.write("wiped", broker=victim, held=[list(where) for where in held])
        trial.cluster.start(victim)
        if trial.cluster.log(victim).count(EMPTY) > lives:
            work.seen(f"broker {victim} has started and found no log on its disk")
        for where in sorted(_alone(trial)):
            _lead_again(trial, where)
        trial.cluster.wait_replicated(*trial.topics)


def _lead_again(trial: Trial, where: Where) -> None:
    """By itself, or if that does not happen while a session lasts, by an operator. Which it was goes on record."""
    patience = bounds.killed_signature(trial.given()).at_most_s
    try:
        wait_until(
            lambda: trial.partition(*where).leader, lambda leader: leader is not None, what=f"{named([where])} led",
            timeout=patience,
        )  # fmt: skip
        how = "by itself"
    except NotReady:
        error = trial.cluster.elect(*where, unclean=True)
        how = f"by an operator's unclean election ({error or 'carried out'}), {patience:.1f} s after its broker was back"
    trial.events.write("led-again", topic=where[0], partition=where[1], how=how)
    trial.say(f"{named([where])} is led again {how}")


def conclude(trial: Trial, account: Account) -> None:
    alone = _alone(trial)
    if not alone:
        words = "Nothing that was acknowledged is gone"
        trial.expect("nothing lost", not account.gone, f"{words}; {len(account.gone)} records are.")
        return
    wiped = next(event["t_ns"] for event in trial.folder.events() if event["event"] == "wiped") + UNDER_WAY_NS
    had = {
        sent.value
        for sent in account.sends
        if sent.outcome == "ok" and (sent.topic, sent.partition) in alone and (sent.completed_ns or 0) < wiped
    }
    words = f"Exactly the {len(had)} records that were acknowledged by the broker alone ({named(alone)}) are gone"
    trial.expect("exact loss", account.gone == had, f"{words}; {len(account.gone)} are, {len(account.gone & had)} of those.")


def _alone(trial: Trial) -> set[Where]:
    """The partitions that had their only replica on the disk that was thrown away."""
    wiped = next(event for event in trial.folder.events() if event["event"] == "wiped")
    return {(topic, place) for topic, place in wiped["held"] if trial.topics[topic]["replication"] == 1}


SCENARIO = Scenario(
    name="replace-broker",
    promise="a broker dies with its disk and is set up anew under the same id: the others lead, and nothing is lost",
    act=act,
    conclude=conclude,
    options={"replication": REPLICATION},
    controllers=1,
    config={"auto.leader.rebalance.enable": "false"},
    twin={"replication": "1"},
    twin_finds="exactly what the broker alone had acknowledged is lost: it leads again with an empty disk",
    question="Can a broker come back under its old id with a new disk?",
    steps="The broker is killed, its log directories are formatted anew (a new directory.id), and it is started.",
    expectation="Its partitions are led by others as after a kill, within the same bound; it copies everything and is in "
    "every ISR again. Of a topic without other replicas exactly its acknowledged records are lost.",
)
