"""The last good report stays, whatever happens to the next one."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kernel.errors import NoSpace, SuiteError, UsageError
from spark_reports.nightly.store import Store

SCHEMA = "key string, n int, date date"
FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)


def rows(spark: SparkSession, *cells: tuple[str, int, date]) -> DataFrame:
    return spark.createDataFrame(cells, SCHEMA)


def read(store: Store, spark: SparkSession) -> list[tuple[str, int, date]]:
    return sorted(tuple(row) for row in store.table(spark, "t", SCHEMA).collect())


def put(store: Store, frame: DataFrame, page: str = "one") -> Path:
    with store.draft(keep_pages=False) as draft:
        draft.put("t", frame)
        (draft.path / "index.html").write_text(page)
        return draft.publish()


def tables(version: Path) -> dict[str, tuple[bytes, int]]:
    """What each file holds, and which file it is on the disk."""
    files = sorted((version / "tables").rglob("*.parquet"))
    return {str(file.relative_to(version)): (file.read_bytes(), file.stat().st_ino) for file in files}


def test_rows_come_back_and_a_key_that_is_there_is_replaced_not_added(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")

    put(store, rows(spark, ("a", 1, FIRST), ("b", 2, FIRST), ("c", 3, SECOND)))
    put(store, rows(spark, ("b", 20, FIRST), ("d", 4, FIRST)))

    assert read(store, spark) == [("a", 1, FIRST), ("b", 20, FIRST), ("c", 3, SECOND), ("d", 4, FIRST)]


def test_dates_without_news_are_the_same_files(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    before = tables(put(store, rows(spark, ("a", 1, FIRST), ("c", 3, SECOND))))

    after = tables(put(store, rows(spark, ("d", 4, SECOND))))

    shared = "tables/t/date=2026-11-01/rows-0.parquet"
    changed = "tables/t/date=2026-11-02/rows-0.parquet"
    assert after[shared] == before[shared]
    assert after[changed] != before[changed]
    assert sorted(after) == [shared, changed]  # no markers, no checksums


def test_the_same_rows_are_the_same_bytes(spark: SparkSession, tmp_path: Path):
    cells = [(f"k{nth}", nth, FIRST) for nth in range(50)]
    one = tables(put(Store(tmp_path / "one"), rows(spark, *cells)))
    other = tables(put(Store(tmp_path / "other"), rows(spark, *reversed(cells)).repartition(2)))

    assert [content for content, _ in one.values()] == [content for content, _ in other.values()]


def test_rows_may_go_though_nothing_takes_their_place(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST), ("b", 2, FIRST), ("c", 3, SECOND)))

    with store.draft() as draft:
        draft.put("t", rows(spark), instead_of=rows(spark, ("a", 0, FIRST), ("c", 0, SECOND)))
        draft.publish()

    assert read(store, spark) == [("b", 2, FIRST)]


def test_without_publishing_nothing_was(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST)))
    before = sorted(tmp_path.rglob("*"))

    with store.draft() as draft:
        draft.put("t", rows(spark, ("b", 2, FIRST)))

    assert read(store, spark) == [("a", 1, FIRST)]
    assert sorted(tmp_path.rglob("*")) == before


def test_after_an_error_nothing_was_not_even_the_folder(spark: SparkSession, tmp_path: Path):
    with pytest.raises(ZeroDivisionError), Store(tmp_path / "out").draft() as draft:
        draft.put("t", rows(spark, ("b", 2, FIRST)))
        raise ZeroDivisionError

    assert not (tmp_path / "out").exists()


def test_doors_lead_to_the_current_version(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST)), page="one")
    first = (store.out / "index.html").read_text()

    put(store, rows(spark, ("b", 1, FIRST)), page="two")

    assert (first, (store.out / "index.html").read_text()) == ("one", "two")
    assert (store.versions / "1" / "index.html").read_text() == "one"


def test_pages_of_the_last_version_are_kept_where_only_rows_are_new(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST)))

    with store.draft() as draft:
        draft.put("t", rows(spark, ("b", 2, FIRST)))
        draft.publish()

    assert (store.out / "index.html").read_text() == "one"


def test_old_versions_go_three_stay(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    for nth in range(5):
        put(store, rows(spark, (f"k{nth}", nth, FIRST)))

    assert sorted(path.name for path in store.versions.iterdir()) == ["3", "4", "5"]
    assert len(read(store, spark)) == 5


def test_two_writers_at_once_the_second_is_told(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST)))

    busy = pytest.raises(SuiteError, match="Another report is being written to")
    with store.draft(), busy as refused, Store(tmp_path / "out").draft():
        pass

    assert refused.value.exit_code == 4
    put(store, rows(spark, ("b", 1, FIRST)))  # the lock is gone with its holder


def test_a_folder_with_somebody_elses_page_is_refused(tmp_path: Path):
    (tmp_path / "index.html").write_text("mine")

    with pytest.raises(UsageError, match="no report wrote it"), Store(tmp_path).draft():
        pass

    assert (tmp_path / "index.html").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_state_of_a_newer_version_is_refused(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    version = put(store, rows(spark, ("a", 1, FIRST)))
    (version / "state.json").write_text('{"format": 9}')

    with pytest.raises(UsageError, match="format 9 is newer than 1"):
        store.state()


def test_what_a_crash_left_is_cleared_and_the_last_good_version_stays(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "out")
    put(store, rows(spark, ("a", 1, FIRST)))
    torn, unborn = store.versions / ".draft", store.versions / "2"
    shutil.copytree(store.versions / "1", torn)
    shutil.copytree(store.versions / "1", unborn)
    (store.out / ".current.new").symlink_to("versions/2")

    put(store, rows(spark, ("b", 2, FIRST)), page="two")

    assert not torn.exists()
    assert read(store, spark) == [("a", 1, FIRST), ("b", 2, FIRST)]
    assert (store.out / "index.html").read_text() == "two"


CRASHING = """
import sys
from pathlib import Path
from spark_reports.nightly.store import Store
store, numbers = Store(Path(sys.argv[1])), range(int(sys.argv[2]), int(sys.argv[2]) + 100_000)
print("begun", flush=True)
for number in numbers:
    with store.draft() as draft:
        for part in range(20):
            file = draft.path / f"part-{part}"
            file.unlink(missing_ok=True)
            file.write_text(str(number))
        draft.publish()
"""


def test_killed_at_any_moment_a_reader_finds_one_whole_version(tmp_path: Path):
    """SIGKILL in the middle of building, renaming, linking or clearing, twelve times."""
    store = Store(tmp_path / "out")
    seen = []
    for nth in range(12):
        begin = [sys.executable, "-c", CRASHING, str(store.out), str(nth * 1_000_000)]
        writer = subprocess.Popen(begin, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.02 + 0.013 * nth)
        finally:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            if writer.stdout:
                writer.stdout.close()
        current = store.current()
        if current is not None:
            parts = {(current / f"part-{part}").read_text() for part in range(20)}
            assert len(parts) == 1
            seen.append(int(parts.pop()))

    assert len(seen) > 6
    assert seen == sorted(seen)


@pytest.fixture
def small_disk(disk_of: Callable[[str], Path]) -> Path:
    return disk_of("400k")


def test_a_full_disk_is_told_in_one_sentence_and_leaves_the_last_report(spark: SparkSession, small_disk: Path):
    store = Store(small_disk / "out")
    put(store, rows(spark, ("a", 1, FIRST)))

    told = pytest.raises(NoSpace, match=r"The disk is full, .*The last report is untouched")
    with told as full, store.draft(keep_pages=False) as draft:
        (draft.path / "index.html").write_bytes(os.urandom(600_000))
        draft.publish()

    assert full.value.exit_code == 4
    assert read(store, spark) == [("a", 1, FIRST)]
    assert (store.out / "index.html").read_text() == "one"
    assert [path.name for path in store.versions.iterdir()] == ["1"]


def test_a_disk_that_fills_while_spark_writes_is_told_the_same(spark: SparkSession, small_disk: Path):
    store = Store(small_disk / "out")
    put(store, rows(spark, ("a", 1, FIRST)))
    noise = spark.range(200_000).selectExpr("uuid() as key", "cast(id as int) as n", "date'2026-11-01' as date")

    with pytest.raises(NoSpace, match="The last report is untouched"), store.draft() as draft:
        draft.put("t", noise)

    assert read(store, spark) == [("a", 1, FIRST)]
    assert [path.name for path in store.versions.iterdir()] == ["1"]


def test_another_error_of_the_disk_is_not_called_a_full_one(tmp_path: Path):
    with pytest.raises(PermissionError), Store(tmp_path / "out").draft():
        raise PermissionError(errno.EACCES, "not yours")
