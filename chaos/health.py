"""Healthy, clause by clause: what must be so before a fault is let loose, and again before a run is called recovered.

A cluster whose metadata looks right may still refuse to serve, so the last clauses are the traffic's own: a record
written and read on every partition, and every group stable with all its members.
"""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from compose.view import ClusterView
from kernel.errors import NotReady, SuiteError
from kernel.waiting import wait_until

Clause = Callable[[], str]  # "" where it holds, else what is wrong


class HasHealth(Protocol):
    @property
    def view(self) -> ClusterView: ...
    @property
    def brokers(self) -> tuple[int, ...]: ...
    def group(self, group: str) -> tuple[str, int]: ...


def clauses(cluster: HasHealth, *, brokers: frozenset[int], groups: Mapping[str, int]) -> dict[str, Clause]:
    """The cluster's clauses. `groups`: how many members each group should have."""

    def led() -> str:
        return ", ".join(str(state) for state in cluster.view.partitions() if not state.fully_replicated)

    def no_elr() -> str:
        return ", ".join(f"{s.topic}-{s.partition} elr {sorted(s.elr)}" for s in cluster.view.partitions() if s.elr)

    def alive() -> str:
        missing = brokers - cluster.view.brokers()
        return f"broker {sorted(missing)} missing" if missing else ""

    def settled() -> str:
        return ", ".join(f"{topic}-{partition}" for topic, partition in cluster.view.reassignments())

    def quorum() -> str:
        lag = {node: behind for node, behind in cluster.view.quorum().lag.items() if behind > 10 and node in brokers}
        return f"metadata lag {lag}" if lag else ""

    def stable(group: str, members: int) -> str:
        state, there = cluster.group(group)
        return "" if (state, there) == ("STABLE", members) else f"{group} {state} with {there} of {members} members"

    def groups_stable() -> str:
        return ", ".join(filter(None, (stable(group, members) for group, members in groups.items() if members)))

    return {
        "every broker alive": alive,
        "every partition led, its ISR complete": led,
        "no eligible leader outside the ISR": no_elr,
        "no reassignment under way": settled,
        "one active controller, the quorum caught up": quorum,
    } | ({"every group stable with all its members": groups_stable} if groups else {})


def wait_healthy(clauses: Mapping[str, Clause], told: Callable[[str, bool], None], *, hold_s: float, timeout: float) -> None:
    """Until all clauses hold, and go on holding for `hold_s`. Each change of a clause is told."""
    known: dict[str, bool] = {}
    since: list[float] = []

    def look() -> dict[str, str]:
        wrong = {clause: trouble for clause, check in clauses.items() if (trouble := _ask(check))}
        for clause in clauses:
            if known.get(clause) != (clause not in wrong):
                known[clause] = clause not in wrong
                told(clause, known[clause])
        if wrong:
            since.clear()
        elif not since:
            since.append(time.monotonic())
        return wrong

    def held(wrong: dict[str, str]) -> bool:
        return not wrong and time.monotonic() - since[0] >= hold_s

    wait_until(look, held, what="the cluster healthy (what is wrong is shown)", timeout=timeout, every=0.1)


def _ask(check: Clause) -> str:
    try:
        return check()
    except NotReady as trouble:
        return trouble.message
    except SuiteError as trouble:
        return f"cannot be told: {trouble.message}"
