"""What those who were served all the while paid: acknowledgements in quiet and during a fault."""

from typing import Any

import numpy as np

from chaos.latency import FEWEST, latencies
from chaos.recovery import Track

S, MS = 1_000_000_000, 1_000_000


def track(*sends: tuple[float, float], ok: bool = True) -> Track:
    """Each send: seconds at which it was made, milliseconds until its answer (below 0: none)."""
    sent = np.array([int(at * S) for at, _ in sends], dtype=np.int64)
    acked = np.array([int(at * S + took * MS) if took >= 0 else -1 for at, took in sends], dtype=np.int64)
    values = np.arange(len(sends), dtype=np.int64)
    nobody = np.empty(0, dtype=np.int64)
    return Track("orders", 0, sent, acked, np.full(len(sends), ok), values, nobody, nobody)


def fault(begin: float, end: float, name: str = "f1") -> list[dict[str, Any]]:
    return [{"t_ns": int(begin * S), "event": "fault", "id": name}, {"t_ns": int(end * S), "event": "heal", "id": name}]


def test_acknowledgements_are_slower_during_a_fault():
    quiet = [(one / 10, 5.0) for one in range(FEWEST)]
    during = [(10 + one / 10, 80.0) for one in range(FEWEST)]

    (row,) = latencies([track(*quiet, *during)], fault(10, 20))

    assert row == {"fault": "f1", "quiet_p50_ms": 5.0, "quiet_p99_ms": 5.0, "during_p50_ms": 80.0, "during_p99_ms": 80.0}


def test_a_fault_that_nobody_feels_costs_nothing():
    (row,) = latencies([track(*((one / 10, 5.0) for one in range(300)))], fault(10, 20))

    assert row["during_p99_ms"] == row["quiet_p99_ms"] == 5.0


def test_of_too_few_no_percentile_is_told():
    few = [(10 + one / 10, 80.0) for one in range(FEWEST - 1)]

    (row,) = latencies([track(*few)], fault(10, 20))

    assert set(row.values()) == {"f1", None}


def test_what_was_not_acknowledged_has_no_latency():
    refused = track(*((10 + one / 10, 80.0) for one in range(FEWEST)), ok=False)
    unanswered = track(*((10 + one / 10, -1.0) for one in range(FEWEST)))

    (row,) = latencies([refused, unanswered], fault(10, 20))

    assert row["during_p50_ms"] is None


def test_quiet_ends_with_the_first_fault_and_each_has_its_own_row():
    sends = [(one / 10, 5.0 if one < 100 else 50.0 if one < 200 else 9.0) for one in range(300)]

    first, second = latencies([track(*sends)], [*fault(10, 20), *fault(20, 30, "f2")])

    assert (first["fault"], first["during_p50_ms"]) == ("f1", 50.0)
    assert (second["fault"], second["during_p50_ms"], second["quiet_p50_ms"]) == ("f2", 9.0, 5.0)


def test_what_was_sent_before_the_traffic_was_steady_is_not_quiet():
    sends = [(one / 10, 900.0 if one < 50 else 5.0) for one in range(200)]
    steady = {"t_ns": 5 * S, "event": "phase", "phase": "steady"}

    (row,) = latencies([track(*sends)], [steady, *fault(10, 20)])

    assert row["quiet_p99_ms"] == 5.0


def test_without_a_fault_there_is_nothing_to_compare():
    assert latencies([track((0, 5.0))], []) == []
