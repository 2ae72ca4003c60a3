"""What the operator's trials decide without a cluster: versions, streaks of answers, what differs, percentiles."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.evidence.account import Sent
from chaos.run import Wishes, plan
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.operations.acl_revoked import Streak
from chaos.scenarios.operations.config_update import differing
from chaos.scenarios.operations.quotas import p99_s
from chaos.scenarios.operations.rolling_upgrade import versions
from kernel.errors import UsageError

MS = 1_000_000


def test_an_upgrade_begins_with_the_old_version_and_goes_up():
    assert plan(Wishes("rolling-upgrade")).cluster.kafka == "3.9.1"
    assert plan(Wishes("rolling-upgrade", options={"from": "4.1.0"})).cluster.kafka == "4.1.0"
    with pytest.raises(UsageError, match=r"^from 4\.1\.0 to 4\.1\.0 is no upgrade: give the older version first\.$"):
        plan(Wishes("rolling-upgrade", options={"from": "4.1.0", "to": "4.1.0"}))


@pytest.mark.parametrize("scenario", ["acl-revoked", "certificate-rotation"])
def test_principals_need_a_cluster_that_tells_them_apart(scenario: str):
    assert plan(Wishes(scenario)).cluster.security == "sasl_ssl"
    assert plan(Wishes(scenario, options={"security": "tls"})).cluster.security == "tls"


def test_the_version_of_each_life_is_in_the_log():
    log = "INFO Kafka version: 3.9.1 (AppInfo)\nINFO started\nINFO Kafka version: 4.3.1 (AppInfo)\n"

    assert versions(log) == ["3.9.1", "4.3.1"]
    assert versions("INFO started") == []


def test_a_streak_is_broken_by_the_other_end():
    client: Any = SimpleNamespace(status={"ok": 5, "fail": 0})
    refused = Streak(client, "fail")
    assert refused() == 0
    client.status = {"ok": 5, "fail": 7}
    assert refused() == 7
    client.status = {"ok": 6, "fail": 9}
    assert refused() == 0
    client.status = {"ok": 6, "fail": 19}
    assert refused() == 10


def test_only_what_differs_is_named_with_both_values():
    wanted = {"retention.ms": "5", "max.message.bytes": "9"}

    assert differing("topic a", wanted, {"retention.ms": "5", "max.message.bytes": "9", "other": "1"}) == {}
    assert differing("topic a", wanted, {"retention.ms": "7"}) == {
        "topic a retention.ms": "7, not 5",
        "topic a max.message.bytes": "unset, not 9",
    }


def sent(client: str, at: int, took: int | None) -> Sent:
    done = at + took if took is not None else None
    return Sent(client, at, done, "ok" if took is not None else "info", None, "orders", 0, None, at)


def test_only_what_a_client_sent_in_time_and_had_acknowledged_counts_for_its_latency():
    sends = [sent("quiet", 10, 20 * MS), sent("quiet", 99, 900 * MS), sent("loud", 10, 700 * MS), sent("quiet", 20, None)]

    assert p99_s(sends, "quiet", 0, 50) == pytest.approx(0.02)
    assert p99_s(sends, "quiet", 0, 100) > 0.8
    assert p99_s(sends, "nobody", 0, 100) == math.inf


@pytest.mark.parametrize(
    ("told", "config"),
    [({}, {"max.in.flight.requests.per.connection": 1}), ({"max.in.flight": "5"}, {}),
     ({"max.in.flight.requests.per.connection": "5"}, {})],
)  # fmt: skip
def test_one_request_is_under_way_unless_clients_were_told_otherwise(told: dict[str, str], config: dict[str, int]):
    assert one_by_one(told) == config
