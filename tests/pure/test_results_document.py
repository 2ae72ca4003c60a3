"""What goes to the results topic: enough for a summary, nothing bulky, and never a secret."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kernel.results import document, encode, key

MANIFEST: dict[str, Any] = {
    "format": 1,
    "run_id": "034032-1ec8",
    "scenario": "leader-election",
    "started": "2026-11-17T03:40:32+00:00",
    "options": {"acks": "all"},
    "clients": {"producer-1": {"acks": "all", "config": {}}},
    "process": {"pid": 12},
    "config": {"brokers": {"1": {"broker.id": "1"}}},
}
VERDICT = {"verdict": "PASS", "reasons": [], "counts": {"lost-write": 0}}


def test_a_document_has_all_that_a_summary_needs_and_not_what_is_bulky():
    found = document("runs/x", MANIFEST, VERDICT, 12.5)

    kept = {name: value for name, value in MANIFEST.items() if name not in ("config", "process")}
    assert found == {"format": 1, "folder": "runs/x", "manifest": kept, "verdict": VERDICT, "duration_s": 12.5}
    assert json.loads(encode(found)) == found


@pytest.mark.parametrize(
    "told",
    [
        {"sasl.password": "hunter2"},
        {"ssl.key.password": "hunter2"},
        {"ssl.key.pem": "hunter2"},
        {"sasl.jaas.config": "hunter2"},
        {"oauth_client_secret": "hunter2"},
        {"interceptor.audit.config": {"sasl.password": "hunter2"}},
        {"interceptor.audit.config": '{"sasl.password": "hunter2"}'},
        {"list": [{"API_TOKEN": "hunter2"}]},
        {"extra": "x required username=a password=hunter2;"},
    ],
    ids=lambda told: next(iter(told)),
)
def test_no_secret_leaves_wherever_it_stands(told: dict[str, Any]):
    manifest = MANIFEST | {"client_config": told | {"linger.ms": "5"}}

    found = encode(document("runs/x", manifest, {**VERDICT, "contract": told}, None)).decode()

    assert "hunter2" not in found
    assert '"linger.ms":"5"' in found, "and what is none stays"


@pytest.mark.parametrize(
    ("started", "day"),
    [
        ("2026-11-17T03:40:32+00:00", "2026-11-17"),
        ("2026-11-17T01:40:32+02:00", "2026-11-16"),
        ("2026-11-17T03:40:32", "2026-11-17"),
        (None, "undated"),
        ("yesterday", "undated"),
    ],
)
def test_a_record_is_keyed_by_the_day_in_utc_the_scenario_and_the_run(started: str | None, day: str):
    found = document("runs/x", MANIFEST | {"started": started}, VERDICT, None)

    assert key(found) == f"{day}/leader-election/034032-1ec8"


def test_a_name_with_a_slash_makes_no_fourth_part():
    assert key(document("x", MANIFEST | {"scenario": "a/b"}, VERDICT, None)) == "2026-11-17/a_b/034032-1ec8"


def test_what_json_does_not_know_is_written_as_text():
    found = document("runs/x", MANIFEST | {"when": datetime(2026, 1, 2, tzinfo=UTC)}, VERDICT, None)

    assert json.loads(encode(found))["manifest"]["when"] == "2026-01-02 00:00:00+00:00"
