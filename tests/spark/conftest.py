"""One Spark session for all tests that need one: it takes seconds to start."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """No job may need Python where it runs: there is none."""
    from spark_reports.session import spark_session

    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = "no-python-here"
    with spark_session(
        "tests", master="local[2]", settings={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g"}
    ) as spark:
        os.environ.pop("PYSPARK_PYTHON") if before is None else os.environ.update(PYSPARK_PYTHON=before)
        yield spark
