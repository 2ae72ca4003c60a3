"""Moving replicas between brokers: what to ask for, asking for it, and what it weighs.

Deciding is pure: from states of partitions to `{(topic, partition): replicas}`, the preferred leader first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from compose.asking import ask
from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady, UsageError

Where = tuple[str, int]
Moves = Mapping[Where, Sequence[int]]
Sizes = dict[Where, dict[int, int]]  # bytes of each replica, by broker
NOTHING_TO_CANCEL = "NO_REASSIGNMENT_IN_PROGRESS"


def drained(states: Iterable[PartitionState], leaving: int, staying: Sequence[int]) -> dict[Where, list[int]]:
    """Every replica of a broker that leaves is given to the one that has fewest and not yet this partition; whoever takes
    the place of a preferred leader is one."""
    states = list(states)
    load = Counter(dict.fromkeys(staying, 0))
    load.update(broker for state in states for broker in state.replicas if broker in load)
    moves: dict[Where, list[int]] = {}
    for state in (state for state in states if leaving in state.replicas):
        free = [broker for broker in staying if broker not in state.replicas]
        if not free:
            where = f"{state.topic}-{state.partition}"
            raise UsageError(f"broker {leaving} cannot be drained: {where} has a replica on every other one. Add a broker.")
        heir = min(free, key=lambda broker: (load[broker], broker))
        load[heir] += 1
        moves[state.topic, state.partition] = [heir if broker == leaving else broker for broker in state.replicas]
    return moves


def added(before: Moves, after: Moves) -> dict[Where, list[int]]:
    """The replicas that each partition gets and did not have: they are what has to be copied."""
    return {where: [broker for broker in replicas if broker not in before[where]] for where, replicas in after.items()}


def bytes_in(before: Moves, after: Moves, weights: Mapping[Where, int]) -> dict[int, int]:
    """How much each broker has to fetch, by what each partition weighs."""
    total: Counter[int] = Counter()
    for where, brokers in added(before, after).items():
        for broker in brokers:
            total[broker] += weights[where]
    return dict(total)


def reassign(address: ClusterAddress, moves: Mapping[Where, Sequence[int] | None]) -> None:
    """Begin to move, or where None is given, take a move back. Returns when the controller has agreed."""
    refused = {f"{t}-{p}": error for (t, p), error in ask(address, partial(_alter, moves)).items() if error is not None}
    wrong = {where: error for where, error in refused.items() if error != NOTHING_TO_CANCEL}
    if wrong:
        raise UsageError(f"partitions could not be reassigned: {wrong}. See whether these brokers and topics exist.")


def sizes(address: ClusterAddress, brokers: Sequence[int], topics: Sequence[str]) -> Sizes:
    """Bytes on disk of every replica of these topics, as the brokers that have them say."""
    answers = ask(address, lambda admin: admin.describe_log_dirs(brokers=list(brokers)))
    return weighed(answers, topics)


def weighed(answers: Iterable[Mapping[str, Any]], topics: Sequence[str]) -> Sizes:
    """DescribeLogDirs' answers by partition. A replica on its way to another directory counts where it is, not twice."""
    found: Sizes = {}
    for answer in answers:
        for directory in answer["log_dirs"]:
            if directory["error_code"]:
                raise NotReady(f"broker {answer['broker']} cannot read {directory['log_dir']}: {directory['error_code']}.")
            for topic in (topic for topic in directory["topics"] if topic["name"] in topics):
                for replica in (replica for replica in topic["partitions"] if not replica["is_future_key"]):
                    where = (topic["name"], replica["partition_index"])
                    found.setdefault(where, {})[answer["broker"]] = replica["partition_size"]
    return found


def _alter(moves: Mapping[Where, Sequence[int] | None], admin: Any) -> dict[Where, str | None]:
    from kafka import TopicPartition

    asked = {TopicPartition(*where): list(to) if to is not None else None for where, to in moves.items()}
    answer = admin.alter_partition_reassignments(asked)
    return {(w.topic, w.partition): error and str(error.message) for w, error in answer.items()}
