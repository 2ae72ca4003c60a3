"""Disks of log directories: found in what a node told, looked up where they are, and silent when that cannot be."""

import os
from pathlib import Path

import pytest

from exporters.host_figures import HostFigures, from_df, log_directories, on_this_host
from exporters.readings import Reading
from tests.pure.beans import recorded

OFFLINE = "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory="


def test_a_broker_tells_its_log_directories():
    assert len(log_directories(recorded("4.3.1-combined"))) == 1
    assert log_directories([Reading(f'{OFFLINE}"/b,c"', "Value", 0), Reading(f'{OFFLINE}"/a"', "Value", 1)]) == [
        "/a",
        "/b,c",
    ]
    assert log_directories(recorded("4.3.1-controller")) == []


def test_what_this_machine_says_is_shown(tmp_path: Path):
    told = HostFigures(on_this_host)([Reading(f'{OFFLINE}"{tmp_path}"', "Value", 0)])

    disk = os.statvfs(tmp_path)
    assert [family.metric.name for family in told] == ["kafka_log_dir_free_bytes", "kafka_log_dir_total_bytes"]
    (free,), (total,) = (family.samples for family in told)
    assert free[1] == total[1] == (("dir", str(tmp_path)),)
    assert total[2] == disk.f_blocks * disk.f_frsize
    assert 0 <= free[2] <= total[2]


def test_a_disk_that_cannot_be_looked_at_is_told_once_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    figures = HostFigures(on_this_host)
    gone = [Reading(f'{OFFLINE}"{tmp_path / "gone"}"', "Value", 0)]

    assert figures(gone) == [] and figures(gone) == []
    assert len(caplog.messages) == 1 and "gone cannot be looked at" in caplog.messages[0]

    (tmp_path / "gone").mkdir()
    assert figures(gone) != []
    (tmp_path / "gone").rmdir()
    assert figures(gone) == []
    assert len(caplog.messages) == 2, "a second trouble is told again"


def test_what_df_says_in_a_container_is_read():
    told = """\
Filesystem     1024-blocks     Used Available Capacity Mounted on
overlay             100000    40000     55000      43% /
/dev/sdb1          2000000  1000000   1000000      50% /var/lib/kafka/two
"""

    assert from_df(told, ["/data", "/var/lib/kafka/two"]) == {
        "/data": (55000 * 1024, 100000 * 1024),
        "/var/lib/kafka/two": (1000000 * 1024, 2000000 * 1024),
    }
    with pytest.raises(ValueError):
        from_df(told, ["/data"])
