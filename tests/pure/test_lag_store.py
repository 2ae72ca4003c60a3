"""What is remembered: bounded, and nothing of what was in a row before."""

import random

import numpy as np
import pytest

from lag_monitor.burrow.evaluating import evaluate
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.settings import Patience
from lag_monitor.store.cluster_store import ClusterStore, Names
from lag_monitor.store.heads import NONE, Heads
from lag_monitor.store.table import LEAST
from lag_monitor.store.windows import GONE_TOPIC, MADE, OWN, Windows
from lag_monitor.verdict import Burrow, Status
from tests.pure.lag_world import Log, World

NOW = 1_700_000_000
WHEN = NOW * 1000


def store_with(partitions: int = 2, topic: str = "orders", end: int = 100, **rules: int) -> ClusterStore:
    store = ClusterStore(BurrowRules(**rules), now=NOW)
    for partition in range(partitions):
        store.head(topic, partition, partitions, end)
    return store


def commit(store: ClusterStore, group: str, offset: int, order: int, partition: int = 0, topic: str = "orders") -> None:
    store.commit(group, topic, partition, offset, order, WHEN, NOW)


def assert_as_new(store: ClusterStore, rows: np.ndarray, but: tuple[str, ...] = ()) -> None:
    """Every column of these rows holds what an empty place holds."""
    for name, (_, empty) in {**Windows.PLAIN, **Windows.WIDE, **Windows.SAMPLED}.items():
        if name not in but:
            values = getattr(store.windows, name)[rows]
            assert np.array_equal(values, np.full_like(values, empty), equal_nan=name == "samples"), name


# ---- rows -----------------------------------------------------------------------------------------------------------------


def soiled() -> World:
    """A group of which everything is known that can be."""
    world = World(2)
    world.commit(0)
    world.join(0, 1)
    world.run(8, lambda: (world.produce(100), world.commit(world.end())))
    world.run(1, lambda: (world.produce(5), world.commit(7)))
    world.nothing_to_read(9)
    world.run(2)
    return world


def test_a_row_that_is_used_again_carries_nothing_over():
    world = soiled()
    rows = world.store.groups["billing"].topics["orders"].copy()
    known = [name for name in Windows.PLAIN if getattr(world.store.windows, name)[rows[0]] != Windows.PLAIN[name][1]]
    assert {"committed", "peak", "clear_to", "moved_at", "rewound_at", "first_seen", "gap", "status", "since"} <= {*known}

    world.store.delete_group("billing")
    assert_as_new(world.store, rows)

    world.store.head("orders", 0, 2, 1_000)
    world.store.commit("audit", "orders", 0, 5, 1, WHEN, NOW)
    assert set(world.store.groups["audit"].topics["orders"].tolist()) == set(rows.tolist())
    told = ("group", "head", "filled", "flags", *Windows.WIDE)
    assert_as_new(world.store, world.store.groups["audit"].topics["orders"], told)
    assert world.store.windows.flags[world.store.groups["audit"].topics["orders"]].tolist() == [MADE | OWN, 0]


def test_a_newcomer_in_an_old_row_is_judged_as_a_newcomer():
    world = soiled()
    world.run(20)
    assert world.status() is Status.STALLED

    world.store.delete_group("billing")
    world.produce(1_000)
    world.commit(world.end() - 10, group="audit")
    world.join(0, group="audit")
    world.run(1)

    assert world.status(group="audit") is Status.WARMING_UP
    assert world.verdict(group="audit").samples == ((world.now, 10.0),)
    assert world.verdict(group="audit").evidence.get("committed_before") is None


def test_a_groups_place_is_used_again_and_its_last_commit_is_not():
    store = store_with()
    commit(store, "old", 5, 1)
    place = store.groups["old"].place
    store.delete_group("old")

    again = store.group("new")

    assert again.place == place
    assert store.expired("new", NOW)
    assert evaluate(store, "new", NOW) is None
    assert (again.members, again.asked_at, again.slo, again.topics) == (None, 0.0, 0.0, {})


@pytest.mark.slow
def test_groups_that_come_and_go_take_no_more_room():
    store = store_with(4)
    for round_ in range(300):
        for group in range(5):
            commit(store, f"throw-away-{round_}-{group}", 5, round_, partition=3)
        for group in range(5):
            store.delete_group(f"throw-away-{round_}-{group}")

    assert (len(store.by_place), store.windows.used, len(store.windows)) == (5, 20, 0)
    assert store.groups == {}


def test_a_table_that_grows_keeps_what_it_had():
    store = store_with(1)
    for group in range(10 * LEAST):
        commit(store, f"group-{group}", group % 90, group)

    for group in range(10 * LEAST):
        row = store.groups[f"group-{group}"].topics["orders"][0]
        assert [(slot.offset, slot.order) for slot in store.windows.slots(row)] == [(group % 90, group)]


@pytest.mark.parametrize(("width", "most"), [(10, 500), (15, 700), (1, 200)])
def test_a_row_takes_few_bytes(width, most):
    windows = Windows(width)
    windows.allocate(10_000)

    assert windows.nbytes / 10_000 <= most


# ---- topics ---------------------------------------------------------------------------------------------------------------


def test_a_topic_that_is_gone_is_gone_for_burrow_and_remembered_by_us():
    store = store_with()
    commit(store, "billing", 5, 1)
    store.delete_topic("orders", NOW)
    found = evaluate(store, "billing", NOW)

    assert found is not None
    assert (found.status, found.partitions) == (Burrow.OK, ())
    assert list(store.groups["billing"].gone) == ["orders"]
    assert store.heads.find("orders", 0) == NONE


def test_a_topic_made_anew_begins_anew():
    store = store_with()
    commit(store, "billing", 5, 1)
    store.delete_topic("orders", NOW)
    store.head("orders", 0, 1, 10)
    commit(store, "billing", 3, 2)
    found = evaluate(store, "billing", NOW)

    assert found is not None
    assert len(found.partitions) == 1
    assert found.partitions[0].start == found.partitions[0].end
    assert (found.partitions[0].current_lag, store.heads.listed("orders")) == (7, [10])


@pytest.mark.slow
def test_a_topic_that_comes_and_goes_and_comes_again_leaks_no_rows():
    world = World()
    for _ in range(50):
        world.commit(0)
        world.run(2)
        world.delete_topic()
        world.run(1)
        world.logs["orders", 0] = Log()
        world.store.head("orders", 0, 1, 0)

    assert len(world.store.windows) == 1
    assert world.store.windows.used <= 2
    assert np.count_nonzero(world.store.windows.flags & GONE_TOPIC) <= 1


def test_a_topic_that_is_there_again_is_not_called_gone():
    world = World()
    world.commit(0)
    world.run(2)
    world.delete_topic()
    world.run(1)
    assert world.status() is Status.ABANDONED_TOPIC

    world.logs["orders", 0] = Log()
    world.run(2, lambda: world.commit(0))
    world.store.forget_gone(world.now - Patience().forget)
    world.run(1)

    assert world.group().status is Status.OK
    assert world.group().partition_count == 1


def test_a_topic_that_is_gone_is_forgotten_after_its_time_and_not_before():
    store = store_with()
    commit(store, "billing", 5, 1)
    rows = store.groups["billing"].topics["orders"]
    store.delete_topic("orders", 1_000.0)

    store.forget_gone(1_000.0)
    assert "orders" in store.groups["billing"].gone

    store.forget_gone(1_000.1)
    assert store.groups["billing"].gone == {}
    assert_as_new(store, rows)


def test_a_deleted_group_frees_the_rows_of_its_gone_topics_too():
    store = store_with()
    commit(store, "billing", 5, 1)
    store.delete_topic("orders", NOW)
    store.delete_group("billing")

    assert len(store.windows) == 0


def test_partitions_that_are_added_are_taken_in_when_one_is_committed_for():
    store = store_with(2)
    commit(store, "billing", 5, 1)
    store.head("orders", 3, 4, 50)
    assert len(store.groups["billing"].topics["orders"]) == 2

    commit(store, "billing", 40, 2, partition=3)

    rows = store.groups["billing"].topics["orders"]
    assert len(rows) == 4
    assert store.windows.filled[rows].tolist() == [1, 0, 0, 1]
    assert store.heads.partition[store.windows.head[rows]].tolist() == [0, 1, 2, 3]


def test_a_partition_whose_end_nobody_knows_yet_takes_no_commit():
    store = store_with(2)
    store.head("orders", 3, 4, 50)
    commit(store, "billing", 40, 2, partition=2)

    assert "billing" not in store.groups


def test_topics_with_ever_new_names_take_no_more_room():
    heads = Heads(10)
    for number in range(1_000):
        heads.topic_rows(f"throw-away-{number}", 2)
        heads.forget(f"throw-away-{number}")

    assert heads.used == 2
    assert len(heads.names) == 1
    rows = heads.topic_rows("last", 2)
    assert [heads.names[place] for place in heads.topic[rows].tolist()] == ["last", "last"]


def test_names_of_topics_stay_right_when_others_come_and_go():
    chance, heads, there = random.Random(6), Heads(3), set[str]()
    for number in range(500):
        if there and chance.random() < 0.5:
            heads.forget(gone := chance.choice(sorted(there)))
            there.remove(gone)
        else:
            there.add(name := f"topic-{number}")
            heads.topic_rows(name, chance.randint(1, 3))

        for topic in there:
            rows = heads.rows[topic]
            assert {heads.names[place] for place in heads.topic[rows].tolist()} == {topic}
            assert heads.partition[rows].tolist() == list(range(len(rows)))


def test_a_groups_topic_can_be_deleted_by_hand_and_the_rest_stays():
    store = store_with()
    store.head("audit", 0, 1, 9)
    commit(store, "billing", 5, 1)
    commit(store, "billing", 5, 2, topic="audit")
    store.delete_group_topic("billing", "orders")
    store.delete_group_topic("billing", "unheard-of")
    store.delete_group_topic("nobody", "orders")

    assert list(store.groups["billing"].topics) == ["audit"]
    assert len(store.windows) == 1


def test_the_generation_changes_with_every_deletion_and_not_with_commits():
    store = store_with()
    commit(store, "billing", 5, 1)
    seen = [store.generation]
    commit(store, "billing", 6, 2)
    assert store.generation == seen[-1]

    for change in (
        lambda: store.delete_topic("orders", 1.0),
        lambda: store.forget_gone(2.0),
        lambda: store.delete_group("billing"),
    ):
        change()
        assert store.generation > seen[-1]
        seen.append(store.generation)


# ---- owners ---------------------------------------------------------------------------------------------------------------


def test_owners_under_ever_new_names_are_forgotten_and_those_that_have_something_are_not():
    store = store_with(3)
    for number in range(5_000):
        store.owner("billing", "orders", number % 2, f"/10.0.{number // 256}.{number % 256}", f"client-{number}")
        store.tidy()

    rows = store.groups["billing"].topics["orders"]
    assert len(store.owners) < 1_100
    assert [store.owners[place] for place in store.windows.owner[rows].tolist()] == [
        ("/10.0.19.134", "client-4998"),
        ("/10.0.19.135", "client-4999"),
        ("", ""),
    ]
    store.owner("billing", "orders", 2, "/10.0.0.1", "another")
    assert store.owners[store.windows.owner[rows[2]]] == ("/10.0.0.1", "another")


def test_tidying_is_right_also_when_every_row_has_an_owner():
    store = store_with(1)
    for number in range(1_500):
        store.owner("billing", "orders", 0, "/host", f"client-{number}")
    store.tidy()

    assert store.owners == [("", ""), ("/host", "client-1499")]
    assert store.owners[store.windows.owner[store.groups["billing"].topics["orders"][0]]] == ("/host", "client-1499")


def test_owners_are_cleared_for_one_group_alone():
    store = store_with(1)
    for group in ("billing", "audit"):
        store.owner(group, "orders", 0, "/host", group)
    store.clear_owners("billing")
    store.clear_owners("nobody")

    found = {name: store.windows.owner[group.topics["orders"][0]] for name, group in store.groups.items()}
    assert (found["billing"], store.owners[found["audit"]]) == (0, ("/host", "audit"))


# ---- names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (Names(), True),
        (Names(allow="^bill"), True),
        (Names(allow="ill"), True),
        (Names(allow="^ill"), False),
        (Names(deny="ill"), False),
        (Names(allow="bill", deny="ing$"), False),
        (Names(deny="^tmp"), True),
    ],
)
def test_names_are_matched_anywhere_as_burrow_does(names, wanted):
    assert ("billing" in names) is wanted


def test_a_group_that_is_not_wanted_leaves_no_trace():
    store = ClusterStore(BurrowRules(), Names(deny="^tmp"))
    store.head("orders", 0, 1, 5)
    store.commit("tmp-1", "orders", 0, 1, 1, WHEN, NOW)
    store.owner("tmp-1", "orders", 0, "/host")

    assert store.groups == {}


# ---- time -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [3_600.0, -3_600.0])
def test_when_the_clock_is_set_everything_remembered_moves_with_it_and_what_was_never_does_not(seconds):
    world = soiled()
    store = world.store
    world.logs["orders", 0].stable = 3
    world.run(1)
    store.group("never asked")
    store.head("elsewhere", 0, 1, 5)
    store.groups["billing"].gone["old"] = (np.empty(0, np.int32), world.now)
    head = int(store.windows.head[world.row()])
    before = (store.began, *store.ticks, *(float(column[head]) for column in (store.heads.asked_at, store.heads.bounds_at)))
    stuck, observed = float(store.heads.waits_since[head]), int(store.windows.observed[world.row(), -1])
    store.clock_jumped(seconds)

    after = (store.began, *store.ticks, *(float(column[head]) for column in (store.heads.asked_at, store.heads.bounds_at)))
    assert np.allclose(np.array(after) - np.array(before), seconds)
    assert float(store.heads.waits_since[head]) - stuck == seconds
    assert int(store.windows.observed[world.row(), -1]) - observed == seconds
    assert store.groups["billing"].gone["old"][1] == world.now + seconds
    assert store.groups["never asked"].asked_at == 0.0
    assert store.heads.asked_at[store.heads.rows["elsewhere"][0]] == 0.0
    assert store.windows.observed.min() == 0


def test_a_transactions_age_counts_from_when_it_was_first_seen():
    heads = Heads(3)
    rows = heads.topic_rows("orders", 1)

    def told(end: int, stable: int, now: float) -> float:
        heads.told(rows, np.array([end]), now)
        heads.told_bounds(rows, np.array([stable]), np.array([0]), now)
        return float(heads.waits_since[rows[0]])

    assert told(10, 10, 1.0) == 0.0
    assert told(12, 10, 2.0) == 2.0
    assert told(15, 10, 3.0) == 2.0
    assert told(15, 12, 4.0) == 4.0
    assert told(15, 15, 5.0) == 0.0
    assert told(16, 15, 6.0) == 6.0
