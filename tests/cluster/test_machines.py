"""Disks that are full, fail, stall or lie, and clocks that are wrong: each trial passes, its twin finds what it must."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.faults import dial
from chaos.faults.catalogue import from_json, to_json
from chaos.faults.damage_segment import DamageSegment
from chaos.faults.fail_disk import FailDisk
from chaos.faults.fill_disk import FillDisk
from chaos.faults.set_clock import SetClock
from chaos.faults.stall_disk import StallDisk
from compose.cluster import Cluster
from compose.disks import Disk, mounts_under
from compose.state import state_root
from kernel.errors import NotReady, UsageError
from kernel.waiting import wait_until
from tests.cluster.traffic import send

ROOT = os.geteuid() == 0 or bool(os.environ.get("KAFKA_TRIAL_REQUIRE_MOUNT"))
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not ROOT, reason="needs root, to mount disks (set KAFKA_TRIAL_REQUIRE_MOUNT to fail instead)"),
]


# ---- disks ----------------------------------------------------------------------------------------------------


def test_a_full_disk_costs_what_a_kill_costs_and_loses_nothing(trial):
    result = trial("disk-full")

    assert result.passed, result
    assert result.expectations == {"ends itself": True, "led elsewhere": True, "offline": True, "nothing lost": True}, result
    assert {row["within"] for row in result.verdict["recovery"] if row["kind"] == "send"} == {True}, result


@pytest.mark.nightly
def test_what_only_a_broker_with_a_full_disk_has_is_offline_until_there_is_room(trial):
    result = trial("disk-full", replication="1")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"ends itself": True, "led elsewhere": False, "offline": True, "nothing lost": True}, (
        result
    )
    assert result.found == {}, "it is late, not lost"


@pytest.mark.nightly
def test_a_disk_that_turns_read_only_costs_what_a_kill_costs_and_loses_nothing(trial):
    result = trial("disk-unwritable")

    assert result.passed, result
    assert result.expectations == {"ends itself": True, "led elsewhere": True, "offline": True, "nothing lost": True}, result


@pytest.mark.nightly
def test_what_one_broker_alone_had_and_had_not_flushed_is_lost_with_its_disk(trial):
    result = trial("disk-unwritable", replication="1", records="90")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"ends itself": True, "led elsewhere": False, "offline": True, "exact loss": True}, result
    assert result.found == {"lost-write": 30, "inconsistent-offsets": 30, "nonmonotonic-send": 1}, result


@pytest.mark.nightly
def test_one_of_two_disks_fails_and_the_other_does_not_notice(trial):
    result = trial("log-dir-failure")

    assert result.passed, result
    known = ("exact partitions", "led elsewhere", "broker stays", "given up", "nothing lost")
    assert result.expectations == dict.fromkeys(known, True), result
    assert any(row["affected"] is False for row in result.verdict["recovery"]), "a partition on the other disk was watched"


@pytest.mark.nightly
def test_what_lies_on_the_failed_disk_alone_is_offline_until_it_is_mended(trial):
    result = trial("log-dir-failure", replication="1")

    assert result.verdict["verdict"] == "FAIL", result
    known = {"exact partitions": True, "led elsewhere": False, "broker stays": True, "given up": True, "nothing lost": True}
    assert result.expectations == known, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_disk_that_stalls_makes_everybody_wait_and_nobody_leave(trial):
    result = trial("slow-disk")

    assert result.passed, result
    assert result.expectations == {"same leaders, same ISR": True, "nothing lost": True, "waited": True}, result


@pytest.mark.nightly
def test_a_broker_whose_disk_hangs_goes_on_leading_and_exactly_what_it_leads_is_dark(trial):
    result = trial("slow-disk", stall="long")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"led elsewhere": False, "nothing lost": True, "exactly dark": True}, result
    assert result.found == {}, result


# ---- segments -------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["corrupt", "truncate"])
def test_after_a_crash_a_damaged_segment_is_found_and_fetched_again(trial, how):
    result = trial("segment-damage", how=how)

    assert result.passed, result
    assert result.expectations == {"repaired": True, "nothing lost": True}, result


def test_after_a_clean_shutdown_exactly_the_damaged_record_is_handed_out_as_it_is(trial):
    result = trial("segment-damage", shutdown="clean")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"repaired": False, "exact damage": True, "exact loss": True}, result
    assert result.found == {"phantom-read": 1, "lost-write": 1, "inconsistent-offsets": 1}, result


@pytest.mark.nightly
def test_a_reader_that_checks_is_stuck_before_the_batch_with_the_damaged_record(trial):
    result = trial("segment-damage", shutdown="clean", crcs="on")

    assert result.verdict["verdict"] == "FAIL", result
    known = {"repaired": False, "exact damage": True, "exact loss": True, "stuck": True}
    assert result.expectations == known, result
    found = dict(result.found)
    assert found.pop("nonmonotonic-poll") > 0, "it began again"
    assert found == {"phantom-read": 1, "lost-write": 1, "inconsistent-offsets": 1}, result


@pytest.mark.nightly
def test_after_a_clean_shutdown_a_replica_that_was_cut_off_never_comes_back_until_it_is_deleted(trial):
    result = trial("segment-damage", shutdown="clean", how="truncate")

    assert result.verdict["verdict"] == "FAIL", result
    known = {"out of the ISR": True, "comes back by itself": False, "repaired": True, "nothing lost": True}
    assert result.expectations == known, result
    assert result.found == {}, "two others have it all"


# ---- clocks ---------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("by", ["+3600", "-1800"])
def test_a_wrong_clock_disturbs_neither_elections_nor_replication(trial, by):
    result = trial("clock-skew", by=by)

    assert result.passed, result
    assert result.expectations == {"elections": True, "nothing lost": True, "accepted": True}, result
    within = {(row["fault"], row["within"]) for row in result.verdict["recovery"] if row["kind"] == "send"}
    assert {("f1", True), ("f2", True)} == within, "before the kill nobody notices, and the kill costs what it may"


@pytest.mark.nightly
def test_a_leader_far_behind_refuses_exactly_what_comes_from_its_future(trial):
    result = trial("clock-skew", by="-7200")

    assert result.verdict["verdict"] == "FAIL", result
    known = {"nothing lost": True, "accepted": False, "exact refusal": True, "none in the log": True}
    assert result.expectations == known, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_leader_far_behind_deletes_nothing_and_refuses_exactly_what_comes_meanwhile(trial):
    result = trial("clock-skew", topic="retained", by="-7200", records="60")

    assert result.verdict["verdict"] == "FAIL", result
    known = {"kept": True, "nothing lost": True, "accepted": False, "exact refusal": True, "none in the log": True}
    assert result.expectations == known, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_leader_ahead_stamps_exactly_what_it_leads_with_its_own_time(trial):
    result = trial("clock-skew", topic="stamped")

    assert result.verdict["verdict"] == "FAIL", result
    stamps = {f"stamps of {partition}": True for partition in range(3)}
    assert result.expectations == stamps | {"right time": False, "nothing lost": True}, result


@pytest.mark.nightly
def test_a_leader_ahead_deletes_exactly_what_it_leads_before_its_time(trial):
    result = trial("clock-skew", topic="retained", records="60")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"deleted": True, "exact loss": True}, result
    assert result.found == {"lost-write": 40, "poll-skip": 1}, "twenty that were there, twenty that were sent meanwhile"


@pytest.mark.nightly
def test_a_leader_behind_deletes_nothing_before_its_time(trial):
    result = trial("clock-skew", topic="retained", by="-1800")

    assert result.passed, result
    assert result.expectations == {"kept": True, "nothing lost": True}, result


# ---- each fault by itself -------------------------------------------------------------------------------------

FACTS: list[tuple[Any, str]] = [
    (FillDisk(1), r"^a write of ours to log directory 1 of broker 1 is refused: No space left on device$"),
    (FailDisk(1, 2), r"^a write of ours to log directory 2 of broker 1 is refused: Read-only file system$"),
    (StallDisk(1, 2, stall_ms=300, free_ms=50), r"^a write .* takes longer than 0\.\d\d s"),
    (StallDisk(1, 2), r"^a write of ours to log directory 2 of broker 1 takes longer than 0\.2\d s$"),
    (DamageSegment(1, "canary", 0, 1, hard=False), r"^the checksum of offsets \d+-\d+ on broker 1 does not hold$"),
    (DamageSegment(1, "canary", 0, 1, "truncate"), r"^the segment .* ends in offset -?\d+, and a piece of a batch$"),
    (SetClock(1, 600), r"^broker 1 puts a time on a record that is \+(599\.9|600\.0) s from ours$"),
    (SetClock(1, 600, behind=True), r"^broker 1 puts a time on a record that is -(599\.9|600\.[0-9]) s from ours$"),
]  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> Iterator[Cluster]:
    disks = (Disk(1), Disk(1, 2, "ext4"))
    with Cluster(brokers=1, log_dirs=2, disks=disks, clocks=(1,), provider="processes") as cluster:
        yield cluster


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "PATIENCE_S", 4.0)


@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "seen"), FACTS, ids=[f"{fault.kind}-{n}" for n, (fault, _) in enumerate(FACTS)])
def test_a_fault_of_the_machine_bites_and_heals(machine: Cluster, impatient: None, fault: Any, seen: str):
    machine.delete_topics("canary")
    wait_until(machine.view.topics, lambda topics: "canary" not in topics, what="the old canary gone", timeout=30)
    machine.create_topic("canary")
    assert len(send(machine.address, "canary", ["one", "two", "three"])) == 3
    arena = SimpleNamespace(cluster=machine, traffic=None)

    with pytest.raises(NotReady):
        from_json(to_json(fault)).bite(arena)
    with fault.applied(arena):
        assert re.search(seen, fault.bite(arena))

    machine.wait_replicated("canary")
    assert send(machine.address, "canary", ["more"]) == ["more"]
    if fault.kind == "set-clock":
        machine.wait_clock_right(1)
    if fault.kind != "damage-segment":
        with pytest.raises(NotReady):
            from_json(to_json(fault)).bite(arena)
    if fault.kind == "set-clock":
        machine.restart(1, hard=True)  # a controller alone whose clock went back may not answer for as long as it went


@pytest.mark.nightly
def test_what_has_no_disk_or_clock_of_its_own_is_refused(kafka_cluster: Cluster):
    with pytest.raises(UsageError, match=r"log directory 1 of node 1 has no disk of its own"):
        kafka_cluster.fill_disk(1)
    with pytest.raises(UsageError, match=r"the clock of node 1 cannot be set: start the cluster with clocks=\(1,\)"):
        kafka_cluster.set_clock(1, 60)


# ---- and nothing is left --------------------------------------------------------------------------------------

HOLDER = """
import sys
from compose.cluster import Cluster
from compose.disks import Disk
with Cluster(brokers=1, log_dirs=2, disks=(Disk(1), Disk(1, 2, "ext4")), provider="processes") as cluster:
    cluster.freeze_disk(1, 2)
    print("up", flush=True)
    sys.stdin.read()
"""


def test_a_killed_trial_leaves_no_mount_though_a_disk_of_it_is_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KAFKA_TRIAL_STATE", str(tmp_path / "state"))
    command = [sys.executable, "-c", HOLDER]
    top = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=top) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "up\n"
        assert len(mounts_under(state_root())) == 2, "the test would see nothing even if something were left"
        holder.send_signal(signal.SIGKILL)

    wait_until(
        lambda: [*mounts_under(state_root()), *state_root().glob("[!.]*")], lambda left: not left,
        what="no mount and no folder left", timeout=60,
    )  # fmt: skip
