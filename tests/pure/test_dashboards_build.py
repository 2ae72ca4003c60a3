"""`kafka-trial dashboards build`: all files or none, the same bytes each time, and one sentence where it cannot write."""

import json
from pathlib import Path

import pytest
import yaml

from dashboards.boards.every import BOARDS
from dashboards.build import MOUNTED, build
from dashboards.writing import write_all
from kafka_trial.cli.dashboards.build import build as command
from kernel.errors import UsageError
from tests.pure.commands import ran

FIRST = f"dashboards/{BOARDS[0].uid}.json"
PROVIDER = "provisioning/dashboards/kafka-trial.yml"
SOURCE = "provisioning/datasources/prometheus.yml"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_board_and_the_files_that_load_them_are_written(tmp_path):
    done = ran(command, tmp_path)

    assert (done.code, done.out) == (0, f"{len(BOARDS) + 2} files in {tmp_path}\n")
    assert set(contents(tmp_path)) == {*(f"dashboards/{board.uid}.json" for board in BOARDS), PROVIDER, SOURCE}
    assert [json.loads((tmp_path / f"dashboards/{board.uid}.json").read_text())["title"] for board in BOARDS] == [
        board.title for board in BOARDS
    ]


def test_a_folder_that_is_not_there_is_made(tmp_path):
    assert ran(command, tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / FIRST).is_file()


def test_the_second_build_changes_not_a_byte(tmp_path):
    build(tmp_path)
    before = contents(tmp_path)
    build(tmp_path)

    assert contents(tmp_path) == before


def test_what_was_there_before_is_replaced_and_what_is_not_ours_is_left(tmp_path):
    (tmp_path / "dashboards").mkdir()
    (tmp_path / FIRST).write_text("old")
    (tmp_path / "dashboards" / "mine.json").write_text("mine")
    build(tmp_path)

    assert (tmp_path / FIRST).read_text().startswith("{")
    assert (tmp_path / "dashboards" / "mine.json").read_text() == "mine"


def test_provisioning_names_the_folder_the_path_and_the_prometheus_that_were_given(tmp_path):
    ran(command, tmp_path, "--path", "/boards", "--prometheus", "http://prom.example:9090")
    provider = yaml.safe_load((tmp_path / PROVIDER).read_text())["providers"][0]
    source = yaml.safe_load((tmp_path / SOURCE).read_text())["datasources"][0]

    assert (provider["folder"], provider["type"], provider["options"]["path"]) == ("Kafka", "file", "/boards")
    assert (source["type"], source["url"], source["isDefault"]) == ("prometheus", "http://prom.example:9090", True)


def test_without_a_path_it_is_where_the_stack_mounts_them(tmp_path):
    ran(command, tmp_path)

    assert yaml.safe_load((tmp_path / PROVIDER).read_text())["providers"][0]["options"]["path"] == MOUNTED


def test_every_made_yaml_says_that_it_is_made(tmp_path):
    build(tmp_path)

    assert all((tmp_path / name).read_text().startswith("# Made by kafka-trial.") for name in (PROVIDER, SOURCE))


# Folders that will not have it ----------------------------------------------------------------------------------------


def test_a_file_where_a_folder_should_be_is_one_sentence_and_left_as_it_is(tmp_path):
    (tmp_path / "dashboards").write_text("a file")
    done = ran(command, tmp_path)

    assert done.code == 2
    assert done.err == f"kafka-trial: {tmp_path}/dashboards cannot be written: File exists.\n"
    assert contents(tmp_path) == {"dashboards": b"a file"}


def test_the_folder_itself_may_be_a_file(tmp_path):
    (tmp_path / "out").write_text("a file")
    done = ran(command, tmp_path / "out")

    assert done.code == 2 and done.err.count("\n") == 1 and "cannot be written: Not a directory." in done.err
    assert (tmp_path / "out").read_text() == "a file"


def test_trouble_with_the_last_file_leaves_all_that_was_there(tmp_path):
    build(tmp_path, prometheus="http://old:9090")
    (tmp_path / FIRST).write_text("old")
    (tmp_path / SOURCE).unlink()
    (tmp_path / SOURCE).parent.rmdir()
    (tmp_path / SOURCE).parent.write_text("a file")
    before = contents(tmp_path)

    with pytest.raises(UsageError, match="cannot be written"):
        build(tmp_path, prometheus="http://new:9090")
    assert contents(tmp_path) == before


def test_a_folder_where_a_file_should_be_leaves_all_that_was_there(tmp_path):
    (tmp_path / "b.txt").mkdir()
    (tmp_path / "a.txt").write_text("old")

    with pytest.raises(UsageError, match=r"b\.txt cannot be written: Is a directory\."):
        write_all(tmp_path, {"a.txt": "new", "b.txt": "new"})
    assert contents(tmp_path) == {"a.txt": b"old"}


def test_a_full_disk_leaves_all_that_was_there(tmp_path):
    """Linux has a file that is always full: what is written beside its place goes there."""
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / ".b.txt.new").symlink_to("/dev/full")

    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        write_all(tmp_path, {"a.txt": "new", "b.txt": "new"})
    assert contents(tmp_path) == {"a.txt": b"old"}
    assert not (tmp_path / ".b.txt.new").is_symlink()


def test_a_good_folder_has_no_leavings(tmp_path):
    write_all(tmp_path, {"a.txt": "µ", "deep/b.txt": "new"})

    assert contents(tmp_path) == {"a.txt": "µ".encode(), "deep/b.txt": b"new"}
