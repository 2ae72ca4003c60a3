"""What each fault and operation cost, over all partitions it touched."""

import pytest

from spark_reports import contents as c
from spark_reports.nightly.costs import Kind, costs, darkened
from tests.pure.nightly_example import CONFIG, TWIN, example_report

SOME = next(iter(example_report(nights=1).runs))


def run(*rows: c.RecoveryRow, kinds: dict[str, str], key: str = "2026-11-17/add-broker/1", **told: str) -> c.Run:
    faults = [
        c.FaultSpan(id=fault, kind=kind, sentence=kind, begin_s=0.0, end_s=1.0, bite_s=0.5) for fault, kind in kinds.items()
    ]
    facts = {"key": key, "scenario": "add-broker", "kafka": "4.3.1", "config": CONFIG, "verdict": "PASS"}
    return SOME.model_copy(update={**facts, "recovery": list(rows), "faults": faults, **told})


def row(
    partition: int, gap: float | None, *, fault: str = "f1", operation: c.Operation = "send", affected: bool | None = True,
    is_open: bool = False,
) -> c.RecoveryRow:  # fmt: skip
    unknown = dict.fromkeys(("detect_s", "elect_s", "first_success_s", "full_isr_s", "drained_s", "bound_s", "within"))
    return c.RecoveryRow(
        fault=fault, operation=operation, topic="orders", partition=partition, affected=affected, gap_s=gap, open=is_open,
        **unknown,
    )  # fmt: skip


def test_every_touched_partition_of_every_run_counts_once():
    runs = [
        run(row(0, 0.5), row(1, 2.0), kinds={"f1": "add-broker"}),
        run(row(0, 1.0), kinds={"f1": "add-broker"}, key="2026-11-17/add-broker/2"),
    ]

    found = darkened(runs)

    assert list(found) == [Kind("add-broker", "add-broker", "4.3.1", CONFIG)]
    (one,) = found.values()
    assert (one.sample.values, one.sample.open, one.runs) == ((0.5, 2.0, 1.0), (False,) * 3, 2)


@pytest.mark.parametrize("verdict", ["FAIL", "INCONCLUSIVE"])
def test_what_it_costs_when_it_is_done_wrong_is_another_question(verdict: str):
    """As in raise-replication on 2026-11-18, 0.1 s, and 7.3 s by its twin: one median of both says nothing."""
    wrong = run(row(0, 7.3), kinds={"f1": "kill-broker"}, key="2026-11-17/add-broker/2", verdict=verdict)

    (one,) = darkened([run(row(0, 0.1), kinds={"f1": "kill-broker"}), wrong]).values()

    assert (one.sample.values, one.runs) == ((0.1,), 1)


def test_what_was_done_in_another_way_is_a_cost_of_its_own():
    runs = [run(row(0, gap), kinds={"f1": "move"}, config=config) for gap, config in ((0.5, CONFIG), (1.0, TWIN))]

    found = darkened(runs)

    assert {which.config: one.sample.values for which, one in found.items()} == {CONFIG: (0.5,), TWIN: (1.0,)}


def test_where_nobody_said_whom_it_touches_every_partition_counts():
    """As kill-mirror in mirror-failover, drop-client-connection, set-clock."""
    (one,) = darkened([run(row(0, 0.5, affected=None), row(1, 0.1), kinds={"f1": "kill-mirror"})]).values()

    assert one.sample.values == (0.5, 0.1)


def test_what_it_did_not_touch_and_what_readers_waited_for_is_no_cost():
    some = run(row(0, 9.0, affected=False), row(1, 9.0, operation="poll"), row(2, None), kinds={"f1": "add-broker"})

    assert darkened([some]) == {}


@pytest.mark.slow
def test_kinds_are_told_apart_and_a_gap_that_never_closed_stays_open():
    some = run(row(0, 0.5), row(0, 30.0, fault="f2", is_open=True), kinds={"f1": "move", "f2": "kill-broker"})

    found = darkened([some])

    assert [which.kind for which in found] == ["kill-broker", "move"]
    assert found[Kind("add-broker", "kill-broker", "4.3.1", CONFIG)].sample.open == (True,)


def test_a_fault_that_no_event_names_has_no_cost():
    assert darkened([run(row(0, 0.5, fault="f9"), kinds={"f1": "move"})]) == {}


def test_a_cost_has_the_spread_of_its_kind():
    found = darkened([run(row(0, 0.5), kinds={"f1": "move"})])
    (which,) = found
    spread = example_report().costs[0].spread

    (one,) = costs(found, {("cost", which): spread})

    assert (one.kind, one.scenario, one.kafka, one.config) == ("move", "add-broker", "4.3.1", CONFIG)
    assert (one.runs, one.spread) == (1, spread)


def test_a_cost_of_a_report_that_told_no_configuration_can_still_be_read():
    told = example_report(nights=1).costs[0].model_dump(exclude={"config"})

    assert c.Cost.model_validate(told).config == ""
