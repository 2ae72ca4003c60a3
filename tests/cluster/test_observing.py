"""Who watched a run, and what was said: a lag monitor, an auditor and a Prometheus beside a trial that breaks things.

A report tells delays from these events. So a fault must leave its word in them, and a run without one must leave none.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from chaos.faults.freeze_client import FreezeClient
from chaos.faults.kill_broker import KillBroker
from chaos.run import freehand
from chaos.settings import QUICK
from chaos.trial import Trial
from compose.cluster import Cluster
from kafka_trial.observing import Observers, observers_of, observing
from kernel.errors import UsageError
from kernel.waiting import wait_until
from tests.cluster.daemons import Prometheus, prometheus

# An agent that reads every bean for its page takes seconds where two cores are busy otherwise: a scrape may last so
# long, and three in a row must fail. A dead broker refuses at once.
SCRAPES = "5s"
DOWN = {"BrokerDown": "max_over_time(up[15s]) == 0"}
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3, config=QUICK.brokers, javaagent=True, provider="processes") as cluster:
        yield cluster


def agents(cluster: Cluster) -> list[str]:
    return [re.sub(r"^http://|/metrics$", "", cluster.agent_url(broker)) for broker in cluster.brokers]


@pytest.fixture(scope="module")
def watching(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Of an alert that stays quiet while every broker is there. An agent's first answers may be late, and rules are looked
    at after the first scrapes: calm is what has lasted."""
    with prometheus(tmp_path_factory.mktemp("prometheus"), agents(cluster), DOWN, every=SCRAPES) as running:
        calm = "min(min_over_time(up[15s])) == 1 and on () min(count_over_time(up[15s])) >= 3 unless on () ALERTS"
        wait_until(lambda: running.query(calm), bool, what="calm for fifteen seconds", timeout=90)
        yield running


def events(trial: Trial, *kinds: str) -> list[dict[str, Any]]:
    return [event for event in trial.folder.events() if event["event"] in kinds]


def committed(cluster: Cluster, group: str, trial: Trial) -> int:
    with closing(Consumer(cluster.direct_address.librdkafka() | {"group.id": group})) as consumer:
        (where,) = consumer.committed([TopicPartition(next(iter(trial.topics)), 0)], timeout=10)
        return int(where.offset)


def traffic(trial: Trial) -> None:
    orders = trial.topic("orders", partitions=1, replication=3)
    trial.producer("producer-1", orders, rate=200.0)
    trial.consumer("consumer-1", orders)
    trial.warm_up()


def test_a_frozen_consumer_and_a_dead_broker_are_noticed_and_the_delays_can_be_told(cluster, watching, tmp_path):
    wanted = Observers(lag=True, alerts=watching.address)
    with freehand(cluster, runs=tmp_path, settings=QUICK, observe=partial(observing, wanted=wanted)) as trial:
        traffic(trial)
        group = trial.group()
        wait_until(lambda: committed(cluster, group, trial), lambda seen: seen > 0, what="a commit", timeout=60)
        with trial.inject(FreezeClient("consumer-1")):
            wait_until(
                lambda: {event["status"] for event in events(trial, "lag") if event["group"] == group},
                lambda said: bool(said & {"STALLED", "STOPPED"}),
                what="a word on the group that stands still",
                timeout=60,
            )
        with trial.inject(KillBroker(2)):
            wait_until(
                lambda: [event["state"] for event in events(trial, "alert")],
                lambda said: said == ["firing"],
                what="the alert",
                timeout=60,
            )
        wait_until(
            lambda: [event["state"] for event in events(trial, "alert")],
            lambda said: said == ["firing", "resolved"],
            what="its end",
            timeout=60,
        )

    frozen, killed = events(trial, "fault")
    first = next(event for event in events(trial, "lag") if event["status"] in ("STALLED", "STOPPED"))
    fired = events(trial, "alert")[0]
    assert first["was"] != first["status"] and group in first["group"] and first["sentence"]
    assert 0 < (first["t_ns"] - frozen["t_ns"]) / 1e9 < 60
    assert (fired["alert"], fired["t_ns"] > killed["t_ns"]) == ("BrokerDown", True)
    assert [event["kind"] for event in events(trial, "observer")] == ["lag", "alert"]


def test_a_calm_run_is_watched_and_nothing_is_said(cluster, watching, tmp_path):
    wanted = Observers(lag=True, audit=True, alerts=watching.address)
    settings = replace(QUICK, clients={**QUICK.clients, **wanted.clients})
    with freehand(cluster, runs=tmp_path, settings=settings, observe=partial(observing, wanted=wanted)) as trial:
        traffic(trial)
        trial.steady()

    said = [event for event in events(trial, "lag") if event["status"] not in ("OK", "WARMING_UP", "UNKNOWN", "EMPTY_GROUP")]
    (audit,) = events(trial, "audit")
    acknowledged = trial.verdict["acknowledged"]
    assert (said, events(trial, "alert", "observer-lost")) == ([], [])
    assert {event["kind"] for event in events(trial, "observer")} == {"lag", "alert", "audit"}
    assert (audit["sent"], audit["received"], audit["missing"], audit["duplicated"]) == (acknowledged, acknowledged, 0, 0)
    assert audit["link"].startswith(f"{next(iter(trial.topics))}: producer → ")


def test_a_run_that_nobody_watches_says_so_by_saying_nothing(cluster, tmp_path):
    with freehand(cluster, runs=tmp_path, settings=QUICK) as trial:
        traffic(trial)

    assert events(trial, "observer", "lag", "alert", "audit") == []


def test_a_prometheus_that_goes_away_is_told_once(cluster, watching, tmp_path):
    with prometheus(tmp_path, [watching.address.removeprefix("http://")]) as gone:
        wanted = observers_of([f"alerts={gone.address}"])
        freely = freehand(cluster, runs=tmp_path, settings=QUICK, observe=partial(observing, wanted=wanted))
        trial = freely.__enter__()
        traffic(trial)
    try:
        wait_until(lambda: events(trial, "observer-lost"), bool, what="a word on it", timeout=30)
    finally:
        freely.__exit__(None, None, None)

    (lost,) = events(trial, "observer-lost")
    assert gone.address in lost["sentence"]


@pytest.mark.parametrize("word", ["lags", "alerts", "alerts=localhost:9090", "lag=1", "alerts=http://127.0.0.1:1"])
def test_an_observer_that_cannot_be_is_refused(word):
    with pytest.raises(UsageError, match=re.escape(word.partition("=")[2] or word)):
        observers_of([word])


def test_the_command_line_watches_a_whole_run(tmp_path: Path):
    trial = str(Path(sys.executable).parent / "kafka-trial")
    words = ["run", "clients-disconnected", "--observe", "lag", "--observe", "audit", "--seed", "7", "--json"]
    ran = subprocess.run([trial, *words, "--runs", str(tmp_path)], capture_output=True, text=True, timeout=250, check=False)

    assert ran.returncode == 0, ran.stderr
    folder = Path(json.loads(ran.stdout)["folder"])
    told = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert {event["kind"] for event in told if event["event"] == "observer"} == {"lag", "audit"}
    assert [event for event in told if event["event"] == "audit"]
