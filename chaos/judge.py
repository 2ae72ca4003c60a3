"""From a run folder to its verdict: the anomalies, the faults that must have bitten, the recovery, the expectations.

The worst wins. FAIL needs something that is wrong; PASS needs everything that makes a pass worth something.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chaos.checkers.local import examine
from chaos.contract import contract
from chaos.evidence.clients import clients_of, named, permitted_by
from chaos.evidence.folder import RunFolder
from chaos.evidence.seal import close_abandoned, finish_swap
from chaos.recovery import reasons, recover
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES, Examined, Verdict

# The ledger's folder and what the manifest says of each client → what was found. Other rooms bring their own.
Engine = Callable[[Path, dict[str, dict[str, Any]]], Examined]
ENGINES: dict[str, Engine] = {"local": examine}

Event = dict[str, Any]
Reason = tuple[Verdict, str]


def judge(folder: RunFolder | Path, engine: str = "local", *, engines: Mapping[str, Engine] = ENGINES) -> dict[str, Any]:
    """What belongs into verdict.json. Writes nothing, but closes the ledger of a run that was killed."""
    if engine not in engines:
        raise UsageError(f"There is no engine {engine!r}: use {' or '.join(engines)}.")
    folder, began = folder if isinstance(folder, RunFolder) else RunFolder(folder), time.monotonic()
    manifest, events, file = folder.manifest(), folder.events(), folder.path / "manifest.json"
    names = {field: named(manifest, field, file) for field in ("run_id", "scenario")}
    permitted, clients = permitted_by(manifest, file), clients_of(manifest, file)
    close_abandoned(folder.path, manifest)
    _finish_swap(folder)
    examined = engines[engine](folder.ledger, clients.listed)
    recovery, latency, trouble = _recovery(folder, events)
    because = [
        *_anomalies(examined, permitted),
        *_on_a_machine_that_ran(events, [*_expectations(events), *_late(recovery)]),
        *_doubts(examined, events),
        *trouble,
    ]
    verdict = Verdict.worst(worth for worth, _ in because)
    return names | {
        "verdict": str(verdict),
        "reasons": [sentence for worth, sentence in because if worth is verdict],
        "acknowledged": examined.acknowledged,
        "read": examined.read,
        "counts": examined.counts,
        "permitted": permitted,
        "findings": [finding.facts() for finding in examined.findings],
        "recovery": recovery,
        "latency": latency,
        "expectations": [
            {key: event.get(key) for key in ("name", "holds", "sentence")} for event in _of(events, "expectation")
        ],
        "contract": contract(manifest, examined.counts),
        "engine": engine,
        "rows": examined.rows,
        "seconds": round(time.monotonic() - began, 3),
    }


def _anomalies(examined: Examined, permitted: list[str]) -> Iterator[Reason]:
    for name, count in examined.counts.items():
        if count and name not in permitted:
            yield Verdict.FAIL, f"{ANOMALIES[name][0].upper()}{ANOMALIES[name][1:]} ({name}): {count}."


def _expectations(events: list[Event]) -> Iterator[Reason]:
    for event in _of(events, "expectation"):
        if event.get("holds") is not True:
            worth = Verdict.FAIL if event.get("holds") is False else Verdict.INCONCLUSIVE
            yield worth, str(event.get("sentence") or f"{event.get('name')} does not hold.")


def _late(recovery: list[dict[str, Any]]) -> Iterator[Reason]:
    for sentence in reasons(recovery):
        yield Verdict.FAIL, sentence


def _on_a_machine_that_ran(events: list[Event], against: list[Reason]) -> list[Reason]:
    """What was measured while the machine itself stood still speaks neither for Kafka nor against it. An anomaly does,
    and so does everything in a run that stood still only once its traffic had ended."""
    ended = min((event["t_ns"] for event in _of(events, "phase") if event.get("phase") == "drain"), default=math.inf)
    stood_still = [float(event.get("seconds") or 0) for event in _of(events, "stall") if event["t_ns"] < ended]
    if not stood_still:
        return against
    doubt = f"This machine itself stood still for {max(stood_still):.1f} s, so nothing is proved by this"
    return [
        (Verdict.INCONCLUSIVE, f"{doubt}: {sentence}") if worth is Verdict.FAIL else (worth, sentence)
        for worth, sentence in against
    ]


def _doubts(examined: Examined, events: list[Event]) -> Iterator[Reason]:
    """What keeps a run without findings from being a pass."""
    for topic, partition in examined.undrained:
        yield Verdict.INCONCLUSIVE, f"{topic}-{partition} was written and not read to its end: what it holds is not known."
    if not examined.acknowledged:
        yield Verdict.INCONCLUSIVE, "No send was acknowledged: there was nothing to lose."
    if not examined.read:
        yield Verdict.INCONCLUSIVE, "Nothing was read: nobody looked."
    bitten = {event["id"] for event in _of(events, "bite")}
    for event in _of(events, "fault"):
        if event["id"] not in bitten:
            yield Verdict.INCONCLUSIVE, f"Fault {event['id']} was not seen to bite{_said(event)}."
    for trouble in examined.troubles:
        yield Verdict.INCONCLUSIVE, trouble


def _said(event: Event) -> str:
    return f" ({str(event['sentence']).rstrip('.')})" if event.get("sentence") else ""


def _recovery(folder: RunFolder, events: list[Event]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Reason]]:
    """Only a run with a fault has something to recover from. Our own mistake here must not pass a run, nor end it."""
    if not _of(events, "fault"):
        return [], [], []
    from chaos.evidence.tracks import Tracks
    from chaos.latency import latencies

    tracks = Tracks(folder.ledger)
    drain = [event["t_ns"] for event in _of(events, "phase") if event.get("phase") == "drain"]
    try:
        known = list(tracks.all())
        return recover(known, events, drain[0] if drain else tracks.last_ns), latencies(known, events), []
    except Exception as error:
        sentence = f"Recovery could not be measured: {type(error).__name__}: {error}."
        return [], [], [(Verdict.INCONCLUSIVE, sentence)]


def _finish_swap(folder: RunFolder) -> None:
    """A crash may have come between the two halves of closing a ledger."""
    if any((folder.path / name).is_dir() for name in ("ledger.new", "ledger.old")):
        finish_swap(folder.path)


def _of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]
