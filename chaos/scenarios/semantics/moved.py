"""Leadership of one partition moved on, and seen to be: an event of the run each time."""

import time

from chaos.trial import Trial
from compose.leader_moves import LeaderMoves

LONGEST = 30.0  # seconds that a move may take before we give up


def move(trial: Trial, mover: LeaderMoves, topic: str, partition: int, to: int | None = None) -> int:
    """To this replica, or to the next; returns by how much the leader epoch rose."""
    before = trial.partition(topic, partition)
    turn = before.replicas.index(to) if to is not None else 1
    replicas = [*before.replicas[turn:], *before.replicas[:turn]]
    began = time.monotonic_ns()
    mover.to(topic, partition, replicas)
    after = trial.wait(
        "led anew", lambda: trial.partition(topic, partition), lambda now: now.leader == replicas[0],
        what=f"{topic}-{partition} led by broker {replicas[0]}", timeout=LONGEST,
    )  # fmt: skip
    trial.events.write("move", began_ns=began, topic=topic, partition=partition, leader=after.leader)
    return after.leader_epoch - before.leader_epoch
