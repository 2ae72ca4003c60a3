"""One Spark session for all tests that need one: it takes seconds to start."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    from spark_reports.session import spark_session

    with spark_session(
        "tests", master="local[2]", settings={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g"}
    ) as spark:
        yield spark


@pytest.fixture
def disk_of(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """`disk_of("400k")`: a real file system with so much room. Mounting one needs root, as CI has it and promises."""
    with ExitStack() as mounted:

        def mount(size: str) -> Path:
            disk = tmp_path / "disk"
            disk.mkdir()
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode and not os.environ.get("KAFKA_TRIAL_REQUIRE_MOUNT"):
                pytest.skip("needs root, to mount a small file system (set KAFKA_TRIAL_REQUIRE_MOUNT to fail instead)")
            assert done.returncode == 0, done.stderr
            mounted.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=True)
            return disk

        yield mount
