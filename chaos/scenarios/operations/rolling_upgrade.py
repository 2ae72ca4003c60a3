"""Kafka is upgraded under traffic: binaries one broker after the other, then the metadata version, which is for good.

In between the brokers are of two versions, and clients are served all the while. Until the metadata version is raised
there is a way back, and it is tried too. The twin does not wait for the cluster to be healthy between two brokers: two
replicas are away at once, and partitions fall below their min ISR.
"""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from chaos import bounds
from chaos.evidence.account import Account
from chaos.scenarios.one_by_one import one_by_one
from chaos.scenarios.scenario import Option, Scenario
from chaos.scenarios.unnoticed import expect_unnoticed
from chaos.trial import Trial
from compose.spec import TRIED_VERSIONS, check_version
from kernel.errors import UsageError

METADATA = "metadata.version"


def spec(options: Mapping[str, str]) -> Mapping[str, Any]:
    if check_version(options["from"]) >= check_version(options["to"]):
        raise UsageError(f"from {options['from']} to {options['to']} is no upgrade: give the older version first.")
    return {"kafka": options["from"]}


def act(trial: Trial) -> None:
    old, new = trial.options["from"], trial.options["to"]
    orders = trial.topic("orders")
    trial.producer("producer-1", orders, config=one_by_one(trial.settings.clients))
    trial.consumer("consumer-1", orders)
    trial.consumer("consumer-2", orders)
    trial.settle()
    level = trial.cluster.view.features()[METADATA]
    _all_brokers(trial, new)
    _still(trial, level, new)
    if trial.options["back"] == "yes":
        _all_brokers(trial, old)
        _still(trial, level, old)
    else:
        _finalise(trial, level)
    trial.steady("sending on with everybody back")


def _all_brokers(trial: Trial, version: str) -> None:
    controller = trial.cluster.controller()
    others = [broker for broker in trial.cluster.brokers if broker != controller]
    if trial.options["wait"] == "yes":
        for broker in others:
            _replace(trial, broker, version)
            _serves_mixed(trial, version)
    else:
        _hurry(trial, others, version)
    _replace(trial, controller, version)


def _replace(trial: Trial, broker: int, version: str) -> None:
    with _operation(trial, broker, version) as work:
        trial.cluster.restart(broker, version=version)
        work.seen(_proof(trial, broker))
    trial.healthy("healthy-again")


def _hurry(trial: Trial, brokers: list[int], version: str) -> None:
    """Each is started again, and the next is stopped before it can be up."""
    with ExitStack() as under_way:
        begun = []
        for broker in brokers:
            begun.append((broker, under_way.enter_context(_operation(trial, broker, version))))
            trial.cluster.restart(broker, version=version, wait=False)
    trial.healthy("healthy-again")
    for broker, work in begun:
        work.seen(_proof(trial, broker))


def _operation(trial: Trial, broker: int, version: str) -> Any:
    bound = bounds.stop_broker(trial.given(), leads_again=True)
    sentence = f"broker {broker} gets Kafka {version}"
    return trial.operation("replace-binaries", sentence, affected=trial.partitions_with(broker), send=bound)


def _proof(trial: Trial, broker: int) -> str:
    return f"broker {broker} says in its log that it is Kafka {versions(trial.cluster.log(broker))[-1]}"


def versions(log: str) -> list[str]:
    """The version of each life of a node, as its log tells it; a client inside a broker tells its own, which is the same."""
    return re.findall(r"Kafka version: (\S+)", log)


def _running(trial: Trial) -> dict[int, str]:
    return {node: versions(trial.cluster.log(node))[-1] for node in trial.cluster.nodes}


def _serves_mixed(trial: Trial, version: str) -> None:
    running = _running(trial)
    trial.traffic.wait_for(acks=10, reads=10, timeout=90)
    told = ", ".join(f"{node}: {one}" for node, one in sorted(running.items()))
    mixed = len(set(running.values())) == 2 and version in running.values()
    trial.expect("mixed versions serve", mixed, f"While brokers are of two versions, every partition is served; {told}.")


def _still(trial: Trial, level: int, version: str) -> None:
    """New binaries alone change nothing for good."""
    now, running = trial.cluster.view.features()[METADATA], set(_running(trial).values())
    words = f"With all binaries of {version} the metadata version is still {level}"
    told = f"it is {now}, and the binaries are {', '.join(sorted(running))}"
    trial.expect(f"binaries {version}", now == level and running == {version}, f"{words}; {told}.")


def _finalise(trial: Trial, before: int) -> None:
    cluster = trial.cluster
    level = min(cluster.feature_levels(broker)[METADATA].highest for broker in cluster.brokers)
    with trial.operation("finalise", f"{METADATA} is raised from {before} to {level}", affected=[]) as work:
        refused = cluster.set_feature(METADATA, level)
        trial.expect("finalised", refused is None, f"The metadata version can be raised; {refused or 'it was'}.")
        trial.wait(
            "read back", lambda: {broker: cluster.feature_levels(broker)[METADATA].finalised for broker in cluster.brokers},
            lambda now: set(now.values()) == {level}, what=f"{METADATA} {level} on every broker", timeout=30,
        )  # fmt: skip
        work.seen(f"every broker says that {METADATA} is {level}")
    _no_way_back(trial, before, level)


def _no_way_back(trial: Trial, before: int, level: int) -> None:
    refused = trial.cluster.set_feature(METADATA, before, down=True)
    now = trial.cluster.view.features()[METADATA]
    words = f"Once it is {level}, it cannot be taken back to {before}"
    trial.expect(
        "no way back", refused is not None and now == level, f"{words}; it is {now}, Kafka said: {refused or 'nothing.'}"
    )


def conclude(trial: Trial, account: Account) -> None:
    trial.expect(
        "nothing lost", not account.gone, f"Nothing that was acknowledged is gone; {len(account.gone)} records are."
    )
    expect_unnoticed(trial, account)


SCENARIO = Scenario(
    name="rolling-upgrade",
    promise="brokers get a new version one by one, then the metadata version: nothing is lost, nobody notices",
    act=act,
    conclude=conclude,
    options={
        "from": Option(TRIED_VERSIONS[0], TRIED_VERSIONS[:-1], "Kafka version at first"),
        "to": Option(TRIED_VERSIONS[-1], TRIED_VERSIONS[1:], "and at last"),
        "back": Option("no", ("no", "yes"), "go back to the old binaries, instead of raising the metadata version"),
        "wait": Option("yes", ("yes", "no"), "wait for a healthy cluster before the next one"),
    },
    spec=spec,
    spoils=True,
    twin={"wait": "no"},
    twin_finds="two replicas away at once: partitions below their min ISR",
    question="Can Kafka be upgraded without downtime, and is there a way back?",
    steps="Each broker is stopped and started with the new binaries, the active controller last, each only when the cluster "
    "is healthy again. Then metadata.version is raised to the highest level that all brokers support; or, with back=yes, "
    "all brokers get the old binaries again.",
    expectation="Clients are served while brokers are of two versions, nothing that was acknowledged is lost, no error "
    "reaches an application and no partition falls below its min ISR. The metadata version changes only when it is raised, "
    "and then for good.",
)
