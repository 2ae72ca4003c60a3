"""A survey is no licence: what one topic's settings permit fails the run in another's, whatever the manifest permits."""

import json
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.evidence.account import Account
from chaos.evidence.by_topic import examined_by_topic
from chaos.evidence.folder import RunFolder
from chaos.judge import judge
from chaos.matrix import COMBINATIONS, Combination, room_in_any
from chaos.scenarios.semantics.delivery_matrix import conclude
from tests.pure.run_folders import write_ledger

KEPT = Combination("all", True, 2, False)  # promises everything
AT_ONE = Combination("1", False, 1, False)
EXPOSED = 9  # the value that each topic has at risk, on top of a thousand times its number
Rows = list[dict[str, Any]]


def rows_of(number: int, one: Combination, *, lost: bool, twice: bool) -> Rows:
    """Ten records, of which the last is lost or there twice."""
    values = [1000 * number + value for value in range(10)]
    common = {
        "run_id": "r1",
        "outcome": "ok",
        "topic": one.topic,
        "partition": 0,
        "ix": 0,
        "invoked_ns": 1,
        "completed_ns": 2,
    }
    risk = values[EXPOSED]
    log = [*values, risk] if twice else values
    sent = [
        common | {"kind": "send", "client": one.producer, "op": value, "value": value, "offset": values.index(value)}
        for value in values
    ]
    read = [
        common
        | {"kind": "poll", "client": "drain", "op": 10**6 + 100 * number + at, "value": v, "offset": at, "final": True}
        for at, v in enumerate(log)
        if not (lost and v == risk)
    ]
    end = {"kind": "drained", "client": "drain", "op": 10**8 + number, "offset": len(log), "final": True}
    return [*sent, *read, common | end]


def verdict_of(
    runs: Path, *, lost: set[Combination], twice: set[Combination], claim: str = "kafka"
) -> tuple[str, list[str]]:
    """Of a run whose leader was killed with the last record of each topic on it alone."""
    folder = RunFolder.create(runs, day="2026-11-17", scenario="delivery-matrix", run_id="r1")
    rows = [rows_of(number, one, lost=one in lost, twice=one in twice) for number, one in enumerate(COMBINATIONS)]
    write_ledger(folder, list(chain.from_iterable(rows)))
    facts = {
        "run_id": "r1",
        "scenario": "delivery-matrix",
        "started": "2026-11-17T10:00",
        "kafka": "4.3.1",
        "settings": "quick",
    }
    clients = {one.producer: {"ordered": one.idempotence} for one in COMBINATIONS}
    permitted = room_in_any(claim)
    folder.write_manifest(facts | {"versions": {"librdkafka": "2"}, "permitted": permitted, "clients": clients})
    events: list[dict[str, Any]] = []
    trial = SimpleNamespace(
        folder=folder, topics={one.topic: {} for one in COMBINATIONS}, exposed=[1000 * n + EXPOSED for n in range(16)],
        options={"fault": "kill-exposed", "claim": claim, "records": "1"},
        cluster=SimpleNamespace(view=SimpleNamespace(features=lambda: {"eligible.leader.replicas.version": 1})),
        expect=lambda name, holds, sentence: events.append(
            {"t_ns": 1, "event": "expectation", "name": name, "holds": holds, "sentence": sentence}
        ),
    )  # fmt: skip
    conclude(trial, Account.of(folder))  # type: ignore[arg-type]
    folder.events_file.write_text("".join(json.dumps(event) + "\n" for event in events))
    verdict = judge(folder)
    return verdict["verdict"], verdict["reasons"]


LOSE = {one for one in COMBINATIONS if one.acks != "all"}


def test_what_the_settings_permit_and_the_schedule_decides_passes(tmp_path: Path):
    assert verdict_of(tmp_path, lost=LOSE, twice=set()) == ("PASS", [])


@pytest.mark.parametrize("what", ["lost", "twice"])
def test_what_another_topic_may_fails_the_run_in_one_that_may_not(tmp_path: Path, what: str):
    found = {"lost": LOSE, "twice": set()}
    verdict, reasons = verdict_of(tmp_path, **{**found, what: found[what] | {KEPT}})

    anomaly = {"lost": "1 lost-write", "twice": "1 duplicate"}[what]
    assert verdict == "FAIL"
    assert f"acks=all with idempotence, min ISR 2, unclean election off: {anomaly}." in reasons[0], reasons


def test_a_permitted_anomaly_that_the_schedule_does_not_decide_is_not_exact(tmp_path: Path):
    verdict, reasons = verdict_of(tmp_path, lost=LOSE, twice={Combination("all", False, 2, False)})

    assert verdict == "FAIL"
    assert len(reasons) == 1 and "0 lost and 1 twice of 1" in reasons[0], reasons


def test_a_claim_that_acks_1_is_safe_fails(tmp_path: Path):
    verdict, reasons = verdict_of(tmp_path, lost=LOSE, twice=set(), claim="acks-1-is-safe")

    assert verdict == "FAIL"
    assert len(reasons) == 1 and reasons[0].count("acks=1, ") == 4, reasons


def test_each_topic_is_examined_by_itself(tmp_path: Path):
    folder = RunFolder.create(tmp_path, day="2026-11-17", scenario="delivery-matrix", run_id="r1")
    write_ledger(folder, rows_of(0, KEPT, lost=False, twice=True) + rows_of(1, AT_ONE, lost=True, twice=False), files=2)

    found = examined_by_topic(folder, [KEPT.topic, AT_ONE.topic], {})

    assert {topic: {name: n for name, n in one.counts.items() if n} for topic, one in found.items()} == {
        KEPT.topic: {"duplicate": 1}, AT_ONE.topic: {"lost-write": 1}
    }  # fmt: skip
    assert [one.acknowledged for one in found.values()] == [10, 10]
