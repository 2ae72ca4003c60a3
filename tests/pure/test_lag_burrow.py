"""Do we say what Burrow says? Against a real Burrow's recorded answers, and against a plain model of it on as many more
sequences as patience allows; many commits at once against one by one; and would we notice if a rule were wrong?"""

import json
import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lag_monitor.burrow.evaluating import evaluate, stored
from lag_monitor.burrow.replay import COMMIT, HEAD, NOW, OWNER, TOPIC_DELETED, answer, replay
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.store import windows
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.verdict import Burrow
from tests.pure.naive_burrow import NaiveBurrow, naive_answer

RECORDED = json.loads((Path(__file__).parents[1] / "data/burrow_recorded.json").read_text())
SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 7, 10, 15)
STEPS_MS = (0, 1, 166, 500, 999, 1000, 1000, 1001, 2000, 4999, 5000, 10_000, 60_000, 600_000, -1, -1000, -5000, -60_000)


class Sequence:
    """A run of events as a cluster may give them, and some that no cluster should."""

    def __init__(self, chance: random.Random, *, topics: int = 2, partitions: int = 3, groups: int = 3) -> None:
        self.chance, self.topics, self.groups, self.most = chance, topics, groups, partitions
        self.totals = [chance.randint(1, partitions) for _ in range(topics)]
        self.ends: dict[tuple[int, int], int] = {}
        self.offsets: dict[tuple[int, int, int], int] = {}
        self.rel_ms = chance.choice((-3_000_000, -600_000, -60_000, -20_000, -4_000))
        self.order = 10
        self.calm = chance.random() < 0.4  # as most clusters are: ends grow, and commits go on behind them

    def case(self, length: int) -> dict[str, Any]:
        pick = self.chance.choice
        return {
            "id": 0,
            "window_size": pick(SIZES),
            "min_distance_s": pick((0, 0, 1, 2, 3, 4, 5)),
            "expire_s": pick((604_800, 604_800, 604_800, 3_600, 600, 30)),
            "allowed_lag": pick((0, 0, 0, 1, 5, 100)),
            "min_complete": pick((0, 0, 0, 0.1, 0.33333334, 0.5, 0.7, 1.0)),
            "ask_group": self.chance.randrange(self.groups),
            "events": [self.event() for _ in range(length)],
        }

    def event(self) -> dict[str, Any]:
        which = self.chance.random()
        topic = self.chance.randrange(self.topics)
        if which < 0.02:
            self.ends = {place: end for place, end in self.ends.items() if place[0] != topic}
            return {"kind": TOPIC_DELETED, "topic": topic}
        if which < 0.06:
            self.totals[topic] = min(self.totals[topic] + 1, self.most)
        partition = self.chance.randrange(self.totals[topic])
        if which < 0.45 or ((topic, partition) not in self.ends and which < 0.9):
            return self._head(topic, partition)
        group = self.chance.randrange(self.groups)
        if which < 0.5:
            return {"kind": OWNER, "group": group, "topic": topic, "partition": partition}
        return self._commit(group, topic, partition)

    def _head(self, topic: int, partition: int) -> dict[str, Any]:
        steps = (1, 5, 10, 100) if self.calm else (0, 0, 1, 5, 10, 100, -3)
        grown = self.ends.get((topic, partition), 1000) + self.chance.choice(steps)
        self.ends[topic, partition] = max(grown, 0)
        return {
            "kind": HEAD,
            "topic": topic,
            "partition": partition,
            "partition_total": self.totals[topic],
            "offset": self.ends[topic, partition],
        }

    def _commit(self, group: int, topic: int, partition: int) -> dict[str, Any]:
        pick, place = self.chance.choice, (group, topic, partition)
        end = self.ends.get((topic, partition), 1000)
        step = pick((1, 1, 2, 4) if self.calm else (0, 0, 0, 1, 1, 5, 30, -1, -30))
        on = self.offsets.get(place, end - 200) + step
        offset = on if self.calm else pick((on,) * 4 + (end, end - pick((0, 1, 5, 6, 100, 101))))
        self.offsets[place] = max(0, offset)
        self.order += pick((2, 3) if self.calm else (0, 1, 1, 1, 2, 3))
        self.rel_ms += pick((1_000, 5_000) if self.calm else STEPS_MS)
        return {
            "kind": COMMIT,
            "group": group,
            "topic": topic,
            "partition": partition,
            "offset": self.offsets[place],
            "order": max(0, self.order - pick((0,) * 6 + (1, 2, 3, 5, 9))),
            "rel_ms": self.rel_ms - pick((0,) * 12 + (1_000, 3_000_000, 604_800_000)),
        }


def cases(count: int, seed: int = 1, **size: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [Sequence(chance, **size).case(chance.randint(1, 60)) for _ in range(count)]


def differing(many: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [case for case in many if answer(case) != naive_answer(case, NOW)]


@cache
def answered() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """A thousand sequences with what we say to each."""
    return [(case, answer(case)) for case in cases(1_000)]


# ---- a real Burrow --------------------------------------------------------------------------------------------------------


def test_all_that_was_recorded_of_a_real_burrow_is_answered_alike():
    assert len(RECORDED["recorded_cases"]) == 60
    assert replay(RECORDED) == []


def test_the_plain_model_answers_the_recorded_cases_too():
    ours = {case["id"]: naive_answer(case, NOW) for case in RECORDED["recorded_cases"]}

    for case in RECORDED["recorded_cases"]:
        by_place = sorted(case["expect"]["partitions"], key=lambda one: (one["topic"], one["partition"]))
        assert ours[case["id"]] == {**case["expect"], "partitions": by_place}, case["id"]


def test_a_wrong_figure_in_the_recording_is_told_with_the_case_and_both_sides():
    case = RECORDED["recorded_cases"][0]
    wrong = {"recorded_cases": [{**case, "expect": {**case["expect"], "total_lag": -7}}]}

    (difference,) = replay(wrong)

    assert (difference.case, difference.what, difference.burrow) == (case["id"], "total_lag", -7)


# ---- the plain model ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_sequences_are_answered_as_the_plain_model_answers_them(seed):
    assert differing(cases(1_000, seed)) == []


@pytest.mark.slow
def test_the_sequences_reach_every_answer_there_is():
    told = [said for _, said in answered()]
    partitions = [one for case in told for one in case["partitions"]]

    assert {case["status"] for case in told} == {Burrow.NOTFOUND, Burrow.OK, Burrow.WARN, Burrow.ERR}
    assert {one["status"] for one in partitions} == set(Burrow) - {Burrow.NOTFOUND, Burrow.ERR}
    assert any(one["end"] and one["end"]["lag"] is None for one in partitions) or any(
        one["start"] and one["start"]["lag"] is None for one in partitions
    )
    assert any(one["start"] is None and one["complete"] > 0 for one in partitions), "an owner without a commit"
    assert any(case["status"] == Burrow.OK and case["partition_count"] == 0 for case in told), "a group without topics"


@pytest.mark.slow
@given(st.integers(0, 2**63), st.integers(1, 80))
@settings(max_examples=400)
def test_whatever_the_sequence_the_plain_model_answers_alike(seed, length):
    case = Sequence(random.Random(seed)).case(length)

    assert answer(case) == naive_answer(case, NOW)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("min_distance", [0, 1, 5])
def test_the_smallest_windows_are_filled_alike(size, min_distance):
    small = [
        {**case, "window_size": size, "min_distance_s": min_distance} for case in cases(300, 77, topics=1, partitions=1)
    ]

    assert differing(small) == []


@pytest.mark.parametrize("silent_ms", [5_999, 6_000, 6_001])
def test_stop_is_told_only_when_the_silence_is_longer_than_the_window(silent_ms):
    store = ClusterStore(BurrowRules(intervals=3))
    store.head("orders", 0, 1, 100)
    store.commit("billing", "orders", 0, 40, 1, NOW * 1000 - silent_ms - 6_000, NOW)
    store.commit("billing", "orders", 0, 50, 2, NOW * 1000 - silent_ms, NOW)

    found = evaluate(store, "billing", NOW)

    assert found is not None
    assert (found.partitions[0].status is Burrow.STOP) is (silent_ms > 6_000)


# ---- would it be noticed? -------------------------------------------------------------------------------------------------


class StopAtOnce(NaiveBurrow):
    def silent(self, commits):
        return self.now * 1000 - commits[-1]["when"] >= commits[-1]["when"] - commits[0]["when"]


class StopWithoutGrace(NaiveBurrow):
    def was_at_the_end(self, commits, ends):
        return False


class GraceOnlyBelow(NaiveBurrow):
    def was_at_the_end(self, commits, ends):
        return any(end < commits[-1]["offset"] for end in ends)


class AnyRewind(NaiveBurrow):
    def rewound(self, commits):
        offsets = [one["offset"] for one in commits]
        return any(offsets[at] < offsets[at - 1] > max(offsets[at:]) for at in range(1, len(offsets)))


class RewindForgivenAboveTheFirst(NaiveBurrow):
    def rewound(self, commits):
        for at in range(1, len(commits)):
            if commits[at]["offset"] < commits[at - 1]["offset"]:
                return all(later["offset"] <= commits[at - 1]["offset"] for later in commits[at:])
        return False


class NoLagIsNone(NaiveBurrow):
    def always_behind(self, commits):
        return all((one["lag"] or 0) > self.allowed for one in commits)


class NoLagFalls(NaiveBurrow):
    def never_falls(self, commits):
        lags = [one["lag"] or 0 for one in commits]
        return all(later >= earlier for earlier, later in pairwise(lags))


class EqualLagIsNoGrowth(NaiveBurrow):
    def never_falls(self, commits):
        known = [one["lag"] for one in commits if one["lag"] is not None]
        return all(later > earlier for earlier, later in pairwise(known))


class MergedAtTheDistance(NaiveBurrow):
    def too_soon(self, neighbour, new):
        return new["when"] - neighbour["when"] <= self.distance


class MergedWithItsOwnTime(NaiveBurrow):
    def merge(self, neighbour, new):
        neighbour.update(new)


class TooOldAtTheEdge(NaiveBurrow):
    def too_old(self, when):
        return when < (self.now - self.expire) * 1000 + 600_000


class DuplicatesKept(NaiveBurrow):
    def late(self, ring, stored, new):
        if new["order"] == stored[-1]["order"]:
            stored[-1]["offset"] = new["offset"]
        super().late(ring, stored, new)


CHANGED = [model for model in NaiveBurrow.__subclasses__() if model.__module__ == __name__]


@pytest.mark.slow
@pytest.mark.parametrize("changed", CHANGED, ids=lambda model: model.__name__)
def test_a_rule_that_is_a_little_different_is_noticed(changed):
    assert len(CHANGED) == 12
    assert any(said != naive_answer(case, NOW, changed) for case, said in answered())


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["_rewound", "_never_falls"])
def test_a_rule_of_ours_that_is_broken_is_noticed(broken, monkeypatch):
    monkeypatch.setattr(f"lag_monitor.burrow.rules.{broken}", lambda numbers, there: np.zeros(len(numbers), np.bool_))

    assert differing(cases(200))


# ---- many at once ---------------------------------------------------------------------------------------------------------


def rules_of(case: dict[str, Any]) -> BurrowRules:
    names = ("window_size", "min_distance_s", "expire_s", "allowed_lag", "min_complete")
    return BurrowRules(*(case[name] for name in names))


def fed(case: dict[str, Any], chance: random.Random | None = None) -> ClusterStore:
    """With chance, in batches that end somewhere; without, one by one."""
    store, batch = ClusterStore(rules_of(case)), []

    def hand_in() -> None:
        if batch:
            rows, *columns = (np.array(column, np.int64) for column in zip(*batch, strict=True))
            store.commits(rows.astype(np.int32), *columns[:3], NOW, columns[3])
            batch.clear()

    for event in case["events"]:
        topic = str(event["topic"])
        if event["kind"] != COMMIT:
            hand_in()
        if event["kind"] == HEAD:
            store.head(topic, event["partition"], event["partition_total"], event["offset"])
        elif event["kind"] == OWNER:
            store.owner(str(event["group"]), topic, event["partition"], "somebody")
        elif event["kind"] == TOPIC_DELETED:
            store.delete_topic(topic)
        else:
            when = NOW * 1000 + event["rel_ms"]
            old = store.too_old(np.array([when]), NOW)[0]
            row = NONE if old else store.resolve(str(event["group"]), topic, event["partition"])
            if row != NONE:
                batch.append((row, event["offset"], event["order"], when, 7))
            if chance is None or chance.random() < 0.02:
                hand_in()
    hand_in()
    return store


def remembered(store: ClusterStore) -> dict[str, Any]:
    columns = {name: column.tolist() for name, column in store.windows.columns().items() if name != "samples"}
    groups = {name: {topic: rows.tolist() for topic, rows in group.topics.items()} for name, group in store.groups.items()}
    return {**columns, "last": store.last_commit.tolist(), "groups": groups}


def busy(seed: int, *, crowded: bool) -> dict[str, Any]:
    """Ends first and then only commits, so that batches are long. Crowded: in few partitions, many commits to each."""
    chance = random.Random(seed)
    sequence = Sequence(chance, topics=2, partitions=3 if crowded else 40, groups=2)
    sequence.totals = [sequence.most] * 2
    case = sequence.case(0)
    heads = [sequence._head(topic, number) for topic in range(2) for number in range(sequence.most)]
    where = [(chance.randrange(2), chance.randrange(2), chance.randrange(sequence.most)) for _ in range(400)]
    return {**case, "expire_s": 604_800, "events": [*heads, *(sequence._commit(*place) for place in where)]}


@pytest.mark.slow
@pytest.mark.parametrize("crowded", [True, False])
@pytest.mark.parametrize("few", [0, windows.FEW])
def test_commits_in_batches_are_remembered_as_one_by_one(crowded, few, monkeypatch):
    monkeypatch.setattr(windows, "FEW", few)

    for seed in range(25):
        case = busy(seed, crowded=crowded)
        assert remembered(fed(case, random.Random(seed))) == remembered(fed(case)), seed


@pytest.mark.slow
def test_batches_between_all_other_events_are_remembered_as_one_by_one(monkeypatch):
    monkeypatch.setattr(windows, "FEW", 0)

    for case in cases(500, 9):
        assert remembered(fed(case, random.Random(1))) == remembered(fed(case))


@pytest.mark.slow
def test_what_was_taken_in_batches_is_answered_as_the_plain_model_answers_it():
    for seed in range(40):
        case = busy(seed, crowded=bool(seed % 2))
        store, told = fed(case, random.Random(seed)), naive_answer(case, NOW)

        found = evaluate(store, str(case["ask_group"]), NOW)

        assert found is not None
        assert [int(one.status) for one in found.partitions] == [one["status"] for one in told["partitions"]]
        assert (found.status, found.complete, found.totallag) == (told["status"], told["complete"], told["total_lag"])


@pytest.mark.parametrize("few", [0, windows.FEW])
def test_the_first_commit_of_a_window_has_no_neighbour_to_be_merged_with(few, monkeypatch):
    monkeypatch.setattr(windows, "FEW", few)
    store = ClusterStore(BurrowRules(intervals=3, min_distance=5))
    store.head("orders", 0, 1, 100)
    store.commit("billing", "orders", 0, 40, 1, 3, 4)

    (row,) = store.groups["billing"].topics["orders"]
    assert [(slot.offset, slot.timestamp) for slot in store.windows.slots(row)] == [(40, 3)]


def test_a_batch_that_is_taken_backwards_is_not_the_same(monkeypatch):
    monkeypatch.setattr(windows, "FEW", 0)
    monkeypatch.setattr(np, "argsort", lambda rows, kind: np.lexsort((-np.arange(len(rows)), rows)))
    case = busy(1, crowded=True)

    assert remembered(fed(case, random.Random(1))) != remembered(fed(case))


# ---- what is shown of a window --------------------------------------------------------------------------------------------


def test_a_window_shows_its_free_places_in_front_and_none_at_all_where_nobody_committed():
    store = ClusterStore(BurrowRules(intervals=3))
    store.head("orders", 0, 2, 10)
    store.commit("billing", "orders", 0, 4, 1, NOW * 1000, NOW)

    taken, bare = stored(store, store.groups["billing"])["orders"]

    assert [slot and (slot.offset, slot.lag) for slot in taken.offsets] == [None, None, (4, 6)]
    assert (taken.current_lag, bare.offsets, bare.current_lag) == (6, (), 0)


def test_of_partitions_equally_far_behind_the_first_is_named():
    store = ClusterStore(BurrowRules())
    for partition in range(3):
        store.head("orders", partition, 3, 10)
        store.commit("billing", "orders", partition, 10 if partition == 0 else 4, partition, NOW * 1000, NOW)

    found = evaluate(store, "billing", NOW)

    assert found is not None
    assert found.maxlag is not None
    assert (found.maxlag.partition, found.maxlag.current_lag, found.totallag) == (1, 6, 12)
