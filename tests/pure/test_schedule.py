"""Schedules: the same seed draws the same faults, never more than the cluster bears; a file says exactly what it means."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.faults.by_chance import BROKER_LEVEL, FAMILIES, survivable
from chaos.faults.catalogue import check
from chaos.schedule import Schedule, Step
from kernel.cluster import PartitionState
from kernel.errors import UsageError

TAKES_A_NODE = {"kill-broker", "stop-broker", "pause-broker", "restart-broker", "isolate"}
PARTITIONS = [("orders", 0), ("orders", 1)]
CLIENTS = ("producer-1", "consumer-1")


def drawn(seed: int, *, brokers: int = 3, duration_s: float = 300, **wishes) -> Schedule:
    settings = {"brokers": range(1, brokers + 1), "partitions": PARTITIONS, "clients": CLIENTS} | wishes
    return Schedule.random(seed, duration_s=duration_s, **settings)


def nodes_of(step: Step) -> set[object]:
    """Everybody whose absence or slowness a step brings about."""
    return {step.fault["node"]} if "node" in step.fault else {link["target"] for link in step.fault.get("links", [])}


# ---- drawn ----------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_schedule():
    assert drawn(7) == drawn(7)


def test_different_seeds_draw_different_schedules():
    assert len({json.dumps(drawn(seed).to_json()) for seed in range(50)}) == 50


@given(
    seed=st.integers(0, 2**32), brokers=st.integers(3, 5), min_isr=st.integers(1, 2), voters=st.sampled_from([None, 3, 5])
)
def test_never_more_nodes_are_away_than_the_cluster_bears(seed: int, brokers: int, min_isr: int, voters: int | None):
    schedule = drawn(seed, brokers=brokers, min_isr=min_isr, voters=voters)
    bearable = survivable(brokers, min_isr=min_isr, voters=voters)
    away = [step for step in schedule.steps if step.fault["fault"] in TAKES_A_NODE]

    for step in away:
        # Ten seconds after its heal a broker is not yet counted as back.
        together = [other for other in away if other.at_s <= step.at_s < other.at_s + other.hold_s + 10]
        assert len(together) <= bearable
        assert len(set().union(*map(nodes_of, together))) == len(together), "one node hit twice"


@given(seed=st.integers(0, 2**32))
def test_whatever_is_drawn_is_a_valid_schedule_within_its_time(seed: int):
    schedule = drawn(seed)

    assert schedule.steps
    assert [step.at_s for step in schedule.steps] == sorted(step.at_s for step in schedule.steps)
    assert all(step.at_s >= 0 and step.at_s + step.hold_s <= 300 and step.hold_s > 0 for step in schedule.steps)
    for step in schedule.steps:
        check(step.fault, nodes=(1, 2, 3))


@given(seed=st.integers(0, 2**32))
def test_a_link_is_never_slowed_behind_a_node_that_is_away(seed: int):
    schedule = drawn(seed)

    for away in (step for step in schedule.steps if step.fault["fault"] in TAKES_A_NODE):
        period = away.at_s // 30
        links = [link for step in schedule.steps if step.at_s // 30 == period for link in step.fault.get("links", [])]
        touched = {end for link in links for end in (link["source"], link["target"])}
        assert away.fault["node"] not in touched
        assert not touched or isinstance(away.fault["node"], int), "a role might turn out to be the node behind the link"


def test_about_one_period_in_four_is_quiet():
    periods = [{step.at_s // 30 for step in drawn(seed).steps} for seed in range(300)]
    quiet = sum(10 - len(busy) for busy in periods) / (300 * 9)  # the first of each ten never is

    assert 0.2 < quiet < 0.3
    assert all(0 in busy for busy in periods)


def test_every_family_and_every_kind_of_target_is_drawn_sooner_or_later():
    plans = [step.fault for seed in range(100) for step in drawn(seed).steps]
    targets = {str(plan["node"]).split()[0] for plan in plans if "node" in plan}

    assert {plan["fault"] for plan in plans} == TAKES_A_NODE | {
        "latency", "bandwidth", "reset", "kill-client", "freeze-client", "drop-client-connection",
    }  # fmt: skip
    assert targets == {"1", "2", "3", "controller", "leader-of", "follower-of"}


def test_only_the_families_asked_for_are_drawn():
    kinds = {
        step.fault["fault"] for seed in range(20) for step in drawn(seed, families=("pause", "client"), clients=()).steps
    }

    assert kinds == {"pause-broker"}


def test_a_cluster_that_bears_no_loss_gets_none():
    kinds = {step.fault["fault"] for seed in range(50) for step in drawn(seed, brokers=2).steps}

    assert kinds
    assert not kinds & TAKES_A_NODE


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"families": ("kil",)}, r"fault family 'kil' is not known: choose from kill, stop, "),
        (
            {"families": tuple(BROKER_LEVEL), "brokers": (1,)},
            r"none of the fault families .* 1 brokers survive the loss of 0",
        ),
        ({"families": ()}, r"none of the fault families"),
        ({"duration_s": 0}, r"duration 0 s in periods of 30 s is no time"),
    ],
)
def test_what_cannot_be_drawn_is_refused(wishes, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        Schedule.random(1, **{"brokers": (1, 2, 3), "partitions": [], "duration_s": 60, "families": FAMILIES} | wishes)


@pytest.mark.parametrize(
    ("cluster", "bears"),
    [
        ({"brokers": 1}, 0),
        ({"brokers": 2}, 0),
        ({"brokers": 3}, 1),
        ({"brokers": 5}, 1),
        ({"brokers": 5, "voters": 5, "min_isr": 1}, 2),
        ({"brokers": 3, "min_isr": 3}, 0),
        ({"brokers": 3, "voters": 1}, 0),
    ],
)
def test_what_a_cluster_bears_is_the_weaker_of_quorum_and_min_isr(cluster, bears: int):
    assert survivable(**cluster) == bears


# ---- saved, resolved, loaded ----------------------------------------------------------------------------------


class Now:
    nodes = (1, 2, 3)

    def partition(self, topic: str, partition: int) -> PartitionState:
        return PartitionState(topic, partition, 2, 0, (1, 2, 3), frozenset({1, 2, 3}))

    def controller(self) -> int:
        return 1


def test_a_schedule_is_saved_as_it_really_was(tmp_path: Path):
    meant = Schedule(3, (Step(1.0, {"fault": "kill-broker", "node": "leader-of orders-0"}, 5.0),))

    meant.with_step(0, meant.steps[0].resolved(Now())).save(tmp_path / "schedule.json")

    assert json.loads((tmp_path / "schedule.json").read_text()) == {
        "format": 1,
        "seed": 3,
        "steps": [{"at_s": 1.0, "hold_s": 5.0, "fault": "kill-broker", "node": 2}],
    }


@given(seed=st.integers(0, 2**32))
def test_a_schedule_comes_back_from_its_file_the_same(seed: int):
    content = json.loads(json.dumps(drawn(seed).to_json()))

    assert Schedule.from_json(content, nodes=(1, 2, 3)) == drawn(seed)


def step(**other: object) -> dict[str, object]:
    return {"at_s": 1, "hold_s": 5, "fault": "kill-broker", "node": 2} | other


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", r"schedule\.json cannot be read as JSON: "),
        ("[]", r"schedule\.json holds list, not an object with format, seed, steps\."),
        ({"format": 2}, r"schedule\.json: format is 2, not 1, which this version reads\."),
        ({"seed": "x"}, r"schedule\.json: seed is 'x', not a whole number\."),
        ({"steps": None}, r"schedule\.json: steps is None, not a list\."),
        ({"stps": []}, r"schedule\.json: field 'stps' is not known: a schedule has format, seed, steps\."),
        ({"steps": [step(), 5]}, r"schedule\.json: step 2 is 5, not an object with at_s, hold_s, fault"),
        ({"steps": [step(at_s=-1)]}, r"schedule\.json: step 1: at_s is -1, not a number of seconds, 0 or more\."),
        ({"steps": [step(hold_s=float("nan"))]}, r"step 1: hold_s is nan, not a number of seconds"),
        ({"steps": [step(hold_s=True)]}, r"step 1: hold_s is True, not a number of seconds"),
        (
            {"steps": [step(), step(fault="explode")]},
            r"schedule\.json: step 2: fault 'explode' is not known: choose one of ",
        ),
        ({"steps": [step(node=9)]}, r"schedule\.json: step 1: broker 9 does not exist: the cluster has 1, 2, 3\."),
        ({"steps": [step(nod=2)]}, r"schedule\.json: step 1: kill-broker has no field 'nod': it has node\."),
    ],
)
def test_a_wrong_file_is_refused_by_file_step_field_and_value(tmp_path: Path, text: object, sentence: str):
    file = tmp_path / "schedule.json"
    file.write_text(text if isinstance(text, str) else json.dumps({"format": 1, "seed": 1, "steps": []} | text))

    with pytest.raises(UsageError, match=sentence):
        Schedule.load(file, nodes=(1, 2, 3))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"gone\.json is missing: give the schedule\.json of a run\."):
        Schedule.load(tmp_path / "gone.json")


def test_a_good_file_is_loaded(tmp_path: Path):
    (tmp_path / "schedule.json").write_text(json.dumps({"format": 1, "seed": 1, "steps": [step(), step(node="controller")]}))

    assert [one.fault["node"] for one in Schedule.load(tmp_path / "schedule.json", nodes=(1, 2, 3)).steps] == [
        2,
        "controller",
    ]
