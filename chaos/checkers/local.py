"""The local engine: one process, arrays in memory, every checker over one history."""

from pathlib import Path
from typing import Any

from chaos.checkers import CHECKERS, Checker
from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found
from chaos.evidence.clients import Clients
from chaos.evidence.columns import blocks
from chaos.evidence.history import OK, History, read_history
from kernel.verdict import ANOMALIES, Examined


def examine(ledger: Path, clients: dict[str, dict[str, Any]], checkers: dict[str, Checker] = CHECKERS) -> Examined:
    history = read_history(ledger)
    facts = Facts(history, Clients(clients))
    troubles: list[str] = []
    found = {name: _checked(name, checkers[name], history, facts, troubles) for name in ANOMALIES}
    return Examined(
        rows=history.rows,
        acknowledged=sum(int((history.sends.outcome[block] == OK).sum()) for block in blocks(len(history.sends))),
        read=int(facts.read.sum()),
        undrained=_undrained(history, facts),
        counts={name: one.count for name, one in found.items()},
        findings=[finding for one in found.values() for finding in one.findings],
        troubles=troubles,
    )


def _checked(name: str, checker: Checker, history: History, facts: Facts, troubles: list[str]) -> Found:
    """A checker that crashes has judged nothing: the run is not passed on its word."""
    try:
        return checker(history, facts)
    except MemoryError:
        raise
    except Exception as error:
        troubles.append(f"The check for {name} could not be made: {type(error).__name__}: {error}.")
        return NOTHING


def _undrained(history: History, facts: Facts) -> list[tuple[str, int]]:
    open_ended = facts.written & (facts.drained_end < 0)
    return sorted(place for place, undrained in zip(history.partitions, open_ended.tolist(), strict=True) if undrained)
