"""What a fault or an operation cost those who were served all the while: how long acknowledgements took, before and during.

A gap says when nobody was served; this says how slowly the others were. Quiet is the steady time before the first fault:
a client's first records wait until it is connected, and say nothing about the cluster.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from chaos.recovery.attempts import Times, Track
from chaos.recovery.charge import faults_in

MILLISECOND = 1e6
FEWEST = 20  # acknowledgements, or a percentile would be one of them


def latencies(tracks: Iterable[Track], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each fault: milliseconds from a send to its acknowledgement, of records sent in quiet and during it."""
    sent, took = _answered(list(tracks))
    faults = faults_in(sorted(events, key=lambda event: int(event["t_ns"])))
    if not faults:
        return []
    steady = min((int(event["t_ns"]) for event in events if event.get("phase") == "steady"), default=0)
    quiet = took[(sent >= steady) & (sent < min(fault.begin for fault in faults))]
    rows = []
    for fault in faults:
        during = took[(sent >= fault.begin) & (sent < fault.healed)]
        rows.append({"fault": fault.id, **_percentiles("quiet", quiet), **_percentiles("during", during)})
    return rows


def _answered(tracks: list[Track]) -> tuple[Times, Times]:
    served = [track.sent_ok & (track.acked_ns >= 0) for track in tracks]
    none = np.empty(0, dtype=np.int64)
    sent = np.concatenate([track.sent_ns[ok] for track, ok in zip(tracks, served, strict=True)] or [none])
    acked = np.concatenate([track.acked_ns[ok] for track, ok in zip(tracks, served, strict=True)] or [none])
    return sent, acked - sent


def _percentiles(when: str, took: Times) -> dict[str, float | None]:
    if len(took) < FEWEST:
        return {f"{when}_p50_ms": None, f"{when}_p99_ms": None}
    median, slow = np.percentile(took, [50, 99]) / MILLISECOND
    return {f"{when}_p50_ms": round(float(median), 1), f"{when}_p99_ms": round(float(slow), 1)}
