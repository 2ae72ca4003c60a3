"""Pages that are written from runs say what was seen, and nothing of what was not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.pages.marked import marks, replaced
from chaos.pages.operations import operations_page
from chaos.pages.scenarios import scenarios_page
from chaos.pages.told import Told, told
from chaos.scenarios import FAMILIES, SCENARIOS
from chaos.scenarios.scenario import Option, Scenario
from kafka_trial.cli.runs_page import runs_page
from kernel.errors import UsageError
from tests.pure.commands import ran
from tests.pure.run_folders import Run, write_run

MOVE = Scenario(
    "move", "partitions are moved: nothing is lost", lambda _: None, options={"throttle": Option("on", ("on", "off"))},
    twin={"throttle": "off"}, twin_finds="it is done too soon", question="Is it?", steps="They move.", expectation="It is.",
)  # fmt: skip
PAGE = {"reliability": {}, "semantics": {}, "operations": {"move": MOVE}, "machines": {}}


def a_run(verdict: str = "PASS", *, throttle: str = "on", day: str = "2026-11-17", **said: Any) -> Told:
    facts = {
        "scenario": "move",
        "options": {"throttle": throttle, "rate": "300"},
        "started": f"{day}T01:00",
        "kafka": "4.3.1",
    }
    told = {"verdict": verdict, "acknowledged": 1200, "counts": {"lost-write": 0}, "expectations": [], **said}
    return Told(facts, told, (fault("f1", "reassign"),))


def fault(name: str, kind: str, at: int = 1, **more: Any) -> dict[str, Any]:
    return {"event": "fault", "t_ns": at, "id": name, "fault": kind, **more}


def passed(*events: dict[str, Any], run_id: str = "0815-ab", **said: Any) -> Told:
    """A run that passed, in which just this happened."""
    run = a_run(**said)
    return replace(run, manifest={**run.manifest, "run_id": run_id}, events=events)


def gap(seconds: float, partition: int = 0, **more: Any) -> dict[str, Any]:
    row = {"fault": "f1", "kind": "send", "topic": "orders", "partition": partition, "affected": True, "gap_s": seconds}
    return row | {"censored": False, "bound_s": 4.0} | more


def test_a_scenario_that_nobody_ran_says_so():
    other = replace(a_run(), manifest={**a_run().manifest, "scenario": "other"})

    page = scenarios_page(PAGE | {"machines": {"other": replace(MOVE, name="other")}}, [other])

    assert (
        "### `move`" in page
        and "- **Question.** Is it?" in page
        and "- **Twin.** `throttle=off`: it is done too soon." in page
    )
    assert page.count("- **Last result.** It was not run yet.") == 1


def test_a_page_of_nothing_is_empty():
    assert scenarios_page(PAGE, []) == operations_page(["move"], []) == ""
    assert scenarios_page(PAGE, [replace(a_run(), manifest={**a_run().manifest, "scenario": "other"})]) == ""


def test_the_newest_run_counts_and_the_twin_stands_beside_it():
    runs = [a_run(day="2026-11-18", acknowledged=7), a_run(), a_run("FAIL", throttle="off", counts={"duplicate": 3})]

    page = scenarios_page(PAGE, runs)

    assert "PASS, Kafka 4.3.1, 2026-11-18: 7 acknowledged, 0 lost. Twin: FAIL, Kafka 4.3.1, 2026-11-17:" in page
    assert "duplicate 3" in page


def test_a_number_that_makes_the_twin_tells_the_two_apart():
    """As in replace-broker, whose twin has replication 1: the page of 2026-11-18 took the twin's run for the other."""
    copies = replace(MOVE, options={"throttle": Option("3"), "data": Option("24")}, twin={"throttle": "1"})
    runs = [a_run("FAIL", throttle="1", acknowledged=1), a_run(throttle="3", acknowledged=3)]

    page = scenarios_page(PAGE | {"operations": {"move": copies}}, runs)

    assert "**Last result.** PASS, Kafka 4.3.1, 2026-11-17: 3 acknowledged, 0 lost. Twin: FAIL" in page


@pytest.mark.parametrize(("also", "told"), [(True, "Twin: FAIL"), (False, "Twin: PASS")])
def test_a_run_in_which_something_was_permitted_counts_only_if_there_is_no_other(also: bool, told: str):
    run = a_run("PASS", throttle="off", day="2026-11-18")
    permitting = Told({**run.manifest, "permitted": ["duplicate"]}, run.verdict, run.events)

    assert told in scenarios_page(PAGE, [permitting, *([a_run("FAIL", throttle="off")] if also else [])])


def test_an_expectation_that_was_missed_is_told_in_its_own_words():
    missed = {"name": "time", "holds": False, "sentence": "It takes 3 s; it took 1 s."}

    assert "Not held: It takes 3 s; it took 1 s." in scenarios_page(PAGE, [a_run("FAIL", expectations=[missed])])


def test_what_was_missed_names_topics_without_the_name_of_their_run():
    """As in raise-replication on 2026-11-18: without a leader was orders-040452-454d-0."""
    missed = {"name": "led", "holds": False, "sentence": "Never without a leader; without one: orders-0815-ab-0."}

    assert "Not held: Never without a leader; without one: orders-0.\n" in scenarios_page(
        PAGE, [passed(expectations=[missed])]
    )


def test_an_operation_costs_what_its_partitions_waited():
    rows = [gap(0.4), gap(1.5, 1), gap(1.0), gap(9.0, 2, affected=False), gap(9.0, 3, kind="poll")]
    latency = [{"fault": "f1", "quiet_p99_ms": 20.0, "during_p99_ms": 55.0}]

    page = operations_page(["move"], [a_run(recovery=rows, latency=latency)])

    assert "| reassign | `move` throttle=on | orders-0 1.0 s<br>orders-1 1.5 s | 4.0 s | 20 ms → 55 ms |" in page


def test_a_topic_of_a_shared_cluster_is_told_without_the_name_of_its_run():
    run = passed(fault("f1", "reassign"), recovery=[gap(0.5, topic="orders-0815-ab")])

    assert "| orders-0 500 ms |" in operations_page(["move"], [run])


def test_only_what_passed_is_a_cost():
    wrong = [a_run(verdict, recovery=[gap(5.0)]) for verdict in ("FAIL", "INCONCLUSIVE")]

    assert operations_page(["move"], wrong) == ""
    assert "orders-0 1.0 s" in operations_page(["move"], [*wrong, a_run(recovery=[gap(1.0)])])


def test_an_operation_that_touches_nobody_shows_what_everybody_waited_all_the_same():
    """On 2026-11-18 the page had add-broker and seven others as not judged, though every partition was."""
    rows = [gap(seconds, number, affected=False, bound_s=2.5) for number, seconds in ((0, 0.109), (1, 0.061))]

    page = operations_page(["move"], [passed(fault("f1", "add-broker", affected=[]), recovery=rows)])

    assert "| none touched:<br>orders-0 109 ms<br>orders-1 61 ms | 2.5 s (noise) |" in page


def test_of_many_partitions_that_were_not_touched_the_worst_is_told():
    rows = [gap(number / 100, number, affected=False, bound_s=2.5) for number in range(1, 8)]

    page = operations_page(["move"], [passed(fault("f1", "add-broker", affected=[]), recovery=rows)])

    assert "| none touched; at most 70 ms on 7 partitions | 2.5 s (noise) |" in page


def test_what_it_touches_and_nobody_sent_to_was_not_measured():
    run = passed(fault("f1", "stop-broker", affected=[["other", 0]]), recovery=[gap(0.1, affected=False)])

    assert "| not measured: nobody sent to what it may touch | not judged |" in operations_page(["move"], [run])


def test_what_an_earlier_operation_answers_for_is_not_counted_with_the_later_one():
    """As in rebalance-partitions (how=kill): while partitions are moved, a kill that touches none of them has no row."""
    move, kill = fault("f1", "reassign", affected=[["orders", 0]]), fault("f2", "kill-broker", at=5, affected=[])
    healed = {"event": "heal", "t_ns": 9, "id": "f1"}

    within = operations_page(["move"], [passed(move, kill, healed, recovery=[gap(0.5)])])
    after = operations_page(["move"], [passed(move, {**healed, "t_ns": 4}, kill, recovery=[gap(0.5)])])

    assert (
        "| kill-broker | `move` throttle=on | not measured: counted with reassign, under way then | not judged |" in within
    )
    assert "| not measured: no send of that time is charged to it | not judged |" in after


def test_a_lost_cluster_costs_the_time_until_its_group_reads_the_mirror():
    told = "Once started, the group reads every partition within 7.5 s (1.0 s two heartbeats; and so on); it took 0.8 s, and"
    seen = {"name": "fail-over time", "holds": True, "sentence": f"{told} 4.1 s from the loss of the source."}
    lost, bound = fault("f1", "lose-cluster", affected=None), {"event": "fail-over-bound", "t_ns": 9, "seconds": 7.5}

    page = operations_page(["move"], [passed(lost, bound, expectations=[seen])])

    assert (
        "| fail-over: it took 0.8 s, and 4.1 s from the loss of the source | 7.5 s (once the group is started) |"
    ) in page
    assert "not measured: nobody sent to what it may touch" in operations_page(["move"], [passed(lost)])


def test_a_gap_that_never_closed_is_at_least_so_long():
    assert "orders-0 ≥ 3.0 s" in operations_page(["move"], [a_run(recovery=[gap(9.0), gap(3.0, censored=True)])])


def test_what_people_wrote_around_the_marks_stays():
    begin, end = marks("scenarios")
    page = f"# Ours\n{begin}\nold\n{end}\nmore of ours\n"

    assert replaced(page, "scenarios", "new\n", file="x.md") == f"# Ours\n{begin}\nnew\n{end}\nmore of ours\n"
    with pytest.raises(UsageError, match=r"^x\.md has no lines '<!-- operations"):
        replaced(page, "operations", "new", file="x.md")


@pytest.mark.slow
def test_runs_are_read_newest_first_and_a_damaged_one_is_passed_over(tmp_path: Path):
    write_run(tmp_path, Run(run_id="old", started="2025-11-16T03:12:44+00:00"))
    write_run(tmp_path, Run(run_id="new", started="2025-11-17T03:12:44+00:00"))
    (write_run(tmp_path, Run(run_id="bad")).path / "verdict.json").write_text("{")

    assert [run.manifest["run_id"] for run in told(tmp_path)] == ["new", "old"]
    with pytest.raises(UsageError, match="is no folder of runs"):
        told(tmp_path / "none")


@pytest.mark.slow
def test_the_command_writes_between_the_marks_or_says_what_is_wrong(tmp_path: Path):
    write_run(tmp_path / "runs", Run(scenario="storm"))
    begin, end = marks("scenarios")
    page = tmp_path / "page.md"
    page.write_text(f"# Ours\n{begin}\n{end}\n")

    done = ran(runs_page, "scenarios", "--runs", tmp_path / "runs", "--into", page)

    assert done.code == 0, done.err
    assert "### `leader-election`" in page.read_text()
    wrong = ran(runs_page, "weather", "--runs", tmp_path / "runs")
    assert (wrong.code, "page 'weather' is not known" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "lacks", "make"),
    [
        ("scenarios", "no run of any scenario", "leader-election"),
        ("operations", "no run of an operator's task that passed", "add-broker"),
        ("semantics", "no delivery matrix that was held to Kafka's own claim", "delivery-matrix"),
    ],
)
def test_a_folder_with_nothing_to_tell_leaves_the_page_as_it_is(tmp_path: Path, name: str, lacks: str, make: str):
    begin, end = marks(name)
    page, runs = tmp_path / "page.md", tmp_path / "runs"
    page.write_text(f"# Ours\n{begin}\nwhat was seen before\n{end}\n")
    before = page.read_text()
    runs.mkdir()

    refused = ran(runs_page, name, "--runs", runs, "--into", page)

    assert (refused.code, page.read_text()) == (2, before)
    assert f"{runs} holds {lacks}: make one by kafka-trial run {make}, or give another --runs." in " ".join(
        refused.err.split()
    )


def test_every_scenario_has_a_section_that_answers_all_three_questions():
    silent = [name for name, one in SCENARIOS.items() if not (one.question and one.steps and one.expectation)]
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()

    assert silent == []
    assert [name for family in FAMILIES.values() for name in family if f"### `{name}`" not in page] == []
