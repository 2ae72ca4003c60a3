"""The end of a log is cut while its broker is down, and never under a living one."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from chaos.faults.lose_tail import LoseTail
from chaos.segments import end_offset
from kernel.errors import UsageError
from tests.pure.test_log_cut import SEGMENT


def arena(tmp_path: Path, *, running: bool, first: int = 40) -> SimpleNamespace:
    folder = tmp_path / "data" / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{first:020}.log").write_bytes(SEGMENT)
    (folder / f"{first:020}.index").touch()
    (folder.parent / ".kafka_cleanshutdown").touch()
    done: list[str] = []
    cluster = SimpleNamespace(
        partition_folder=lambda *_: folder, running=lambda _: running, folder=folder, done=done,
        kill=lambda _: done.append("kill"), start=lambda _: done.append("start"),
    )  # fmt: skip
    return SimpleNamespace(cluster=cluster)


def test_what_was_not_flushed_is_gone_and_with_it_what_points_to_it(tmp_path: Path):
    here = arena(tmp_path, running=False)
    folder = here.cluster.folder

    with LoseTail(2, "orders", 0, offset=51).applied(here):
        assert end_offset((folder / f"{40:020}.log").read_bytes()) == 51
        assert [file.name for file in folder.iterdir()] == [f"{40:020}.log"]
        assert not (folder.parent / ".kafka_cleanshutdown").exists()

    assert here.cluster.done == ["kill", "start"]


def test_nothing_is_cut_under_a_living_broker(tmp_path: Path):
    here = arena(tmp_path, running=True)

    with LoseTail(2, "orders", 0, offset=51).applied(here):
        assert (here.cluster.folder / f"{40:020}.log").read_bytes() == SEGMENT


def test_an_offset_of_an_older_segment_is_refused_before_anything_is_done(tmp_path: Path):
    here = arena(tmp_path, running=False, first=60)

    with pytest.raises(UsageError, match=r"^offset 51 is not in the newest segment of orders-0"):
        LoseTail(2, "orders", 0, offset=51).applied(here).__enter__()

    assert here.cluster.done == []
