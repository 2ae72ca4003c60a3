"""Spark as the command line uses it: a session with what the job needs, and the engine that judges with it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from chaos.judge import Engine

Say = Callable[[str], None]


def session(
    say: Say, master: str | None, settings: Mapping[str, str], *, kafka: bool = False
) -> "AbstractContextManager[SparkSession]":
    """`kafka`: with the connector, and so that no password shows in a plan or a log."""
    from compose.jars import spark_kafka_jars
    from spark_reports.session import spark_session

    say("starting Spark")
    if not kafka:
        return spark_session(master=master, settings=settings)
    from spark_reports.kafka.options import SESSION

    return spark_session(master=master, settings={**SESSION, **settings}, jars=spark_kafka_jars(say))


def spark_engine(say: Say, master: str | None, settings: Mapping[str, str]) -> "Engine":
    """Started when it is asked to judge, and no earlier."""
    from chaos.checkers.rings import rings
    from spark_reports.examine import engine

    return engine(lambda: session(say, master, settings), rings, say)
