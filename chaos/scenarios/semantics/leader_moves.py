"""Leadership moves again and again under an idempotent producer's feet, and once while acknowledgements are lost.

A move is what makes producers send again: to a leader that must know, from what it copied as a follower, what the one before
it has already appended. Without idempotence nobody knows, and records are there twice: those under way at a move by chance,
and exactly those whose acknowledgement was lost while leadership moved.
"""

import time
from itertools import cycle

from chaos.evidence.account import Account
from chaos.faults.link_fault import LinkFault
from chaos.scenarios.scenario import Option, Scenario
from chaos.scenarios.semantics.moved import LONGEST, move
from chaos.traffic.client import Client
from chaos.traffic.traffic import Where
from chaos.trial import Operation, Trial
from compose.leader_moves import LeaderMoves
from compose.links import Link
from compose.toxics import Blackhole
from kernel.waiting import wait_until

# The heal closes connections, and then it sends again: at once, and only what the fault touched. A burst leaves in one batch
# for each partition: behind five records without an acknowledgement an idempotent librdkafka sends nothing.
PATIENT = {"socket.timeout.ms": 30_000, "message.timeout.ms": 60_000, "linger.ms": 100}
PARTITIONS = 3


def act(trial: Trial) -> None:
    idempotent = trial.options["idempotence"] == "on"
    orders = trial.topic("orders", assignment=trial.spread(PARTITIONS, first=trial.cluster.brokers[0]))
    producer = trial.producer("producer-1", orders, idempotence=idempotent, config=PATIENT)
    trial.consumer("reader-1", orders, mode="assign", direct=True)
    trial.settle()
    moves = int(trial.options["moves"])
    where = [(orders, partition) for partition in range(PARTITIONS)]
    with LeaderMoves(trial.cluster.direct_address) as mover:
        with trial.operation("move-leaders", f"leadership moves {moves} times", affected=where) as work:
            _move_on(trial, mover, orders, moves, work)
        producer.rest()
        trial.traffic.wait_caught_up()
        _lose_acknowledgements(trial, mover, where, producer)
    producer.order("resume")
    trial.healthy("healthy-again")
    trial.steady("sending on")


def _move_on(trial: Trial, mover: LeaderMoves, orders: str, moves: int, work: Operation) -> None:
    """One partition after the other; none again before records were acknowledged under its new leader."""
    began, rises, marks, last = time.monotonic(), [], dict.fromkeys(range(PARTITIONS), 0), 0
    for _, partition in zip(range(moves), cycle(range(PARTITIONS)), strict=False):
        _written_to(trial, (orders, partition), marks[partition])
        rises.append(move(trial, mover, orders, partition))
        # One move later, because a producer's report is a moment old and may lack what came before the move.
        marks[last], last = trial.traffic.acked()[orders, last], partition
    took, once = time.monotonic() - began, rises.count(1)
    work.seen(f"{moves} moves, {moves / took:.1f} a second; {once} of them raised the leader epoch by one")
    words = f"Each of {moves} moves, {moves / took:.1f} a second, has another leader, one epoch on"
    trial.expect("every move is one", once == moves, f"{words}; {once} have.")


def _written_to(trial: Trial, where: Where, mark: int) -> None:
    trial.wait(
        "written to", lambda: trial.traffic.acked().get(where, 0), lambda acked: acked > mark,
        what=f"{where[0]}-{where[1]} written to", timeout=LONGEST,
    )  # fmt: skip


def _lose_acknowledgements(trial: Trial, mover: LeaderMoves, where: list[Where], producer: Client) -> None:
    """N records are appended, nobody is told, and leadership moves. Then connections are closed, and all is sent again."""
    count, orders = int(trial.options["records"]), where[0][0]
    before = sum(trial.cluster.log_ends(orders).values())
    links = tuple(Link("client", broker) for broker in trial.cluster.brokers)
    with trial.inject(LinkFault(links, Blackhole(direction="downstream")), affected=where, role="acknowledgements are lost"):
        trial.exposed = producer.burst(count)
        wait_until(
            lambda: sum(trial.cluster.log_ends(orders).values()) - before, lambda more: more == count,
            what=f"{count} records in the log, a batch for each partition", timeout=30,
        )  # fmt: skip
        trial.wait(
            "no acknowledgement", lambda: producer.status.get("open"), lambda still: still == count,
            what="not one of them acknowledged", timeout=5,
        )  # fmt: skip
        for _, partition in where:
            move(trial, mover, orders, partition)
    trial.wait(
        "acknowledged after all", lambda: producer.status.get("open"), lambda still: still == 0,
        what="all of them acknowledged by their new leaders", timeout=90,
    )  # fmt: skip


def conclude(trial: Trial, account: Account) -> None:
    off, exposed, twice = trial.options["idempotence"] == "off", set(trial.exposed), account.twice
    wanted = exposed if off else set()
    words = f"Of the {len(exposed)} records whose acknowledgement was lost in a move, {len(wanted)} are there twice"
    trial.expect("exact duplicates", twice & exposed == wanted, f"{words}; {len(twice & exposed)} are.")
    by_chance, sent = twice - exposed, len(account.sends) - len(exposed)
    may = _under_way(trial, account) if off else set()
    words = "Only what was under way at a move is there twice" if off else "No move has a record there twice"
    seen = f"{len(by_chance)} of {sent} records are, in {len(_moves(trial))} moves"
    trial.expect("duplicates by moves", by_chance <= may, f"{words}; {seen}.")
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is lost; {len(account.gone)} records are."
    )


def _moves(trial: Trial) -> list[tuple[int, int]]:
    return [(event["began_ns"], event["t_ns"]) for event in trial.folder.events() if event["event"] == "move"]


def _under_way(trial: Trial, account: Account) -> set[int]:
    """What had been sent and not been acknowledged at the time of some move."""
    moves = _moves(trial)
    return {
        sent.value
        for sent in account.sends
        if any((sent.invoked_ns or 0) <= end and begin <= (sent.completed_ns or end) for begin, end in moves)
    }


SCENARIO = Scenario(
    name="leader-moves",
    promise="leadership moves 200 times under an idempotent producer: nothing is lost or there twice, and order is kept",
    act=act,
    conclude=conclude,
    options={
        "idempotence": Option("on", ("on", "off"), "enable.idempotence"),
        "moves": Option("200", help="of leadership, under traffic"),
        "records": Option("30", help="whose acknowledgement is lost while leadership moves"),
    },
    config={"auto.leader.rebalance.enable": "false"},  # nobody else moves leaders
    twin={"idempotence": "off"},
    twin_finds="exactly the records whose acknowledgement was lost are there twice, besides only some under way at a move",
    question="Does an idempotent producer keep its promise when the leaders it writes to change all the time?",
    steps="The replicas of each of three partitions are put into another order and the preferred one is elected, partition "
    "after partition, 200 times, each once it was written to since its last move. Then acknowledgements of N records are "
    "swallowed, leadership moves once more, and connections are closed, so that the records are sent again, to leaders that "
    "did not take them.",
    expectation="Each move has another leader, one epoch on. No record is there twice, none is lost, order is kept. Without "
    "idempotence the N records are there twice, and besides them only records that were under way at a move.",
)
