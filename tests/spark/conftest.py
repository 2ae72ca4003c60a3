"""One Spark session for all tests that need one: it takes seconds to start."""

from collections.abc import Iterator
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
