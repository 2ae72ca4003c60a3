"""Spark as the command line uses it: a session with what the job needs, and the engine that judges with it."""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from chaos.judge import Engine

Say = Callable[[str], None]


def session(
    say: Say, master: str | None, settings: Mapping[str, str], *, kafka: bool = False, small: bool = False
) -> "AbstractContextManager[SparkSession]":
    """`kafka`: with the connector, and so that no password shows in a plan or a log. `small`: for a job of seconds."""
    from compose.jars import spark_kafka_jars
    from spark_reports.session import spark_session

    say("starting Spark")
    if not kafka:
        return spark_session(master=master, settings=settings, small=small, archive=_archive())
    from spark_reports.kafka.options import SESSION

    return spark_session(master=master, settings={**SESSION, **settings}, jars=spark_kafka_jars(say), small=small)


def _archive() -> Path:
    """Of one Java and one Spark, at the place where it is. A JVM that finds it does not fit goes on without."""
    import pyspark

    from compose.cache import cache_root
    from compose.toolchain import find_java

    place = blake2b(pyspark.__file__.encode(), digest_size=4).hexdigest()
    return cache_root() / "spark" / f"classes-{pyspark.__version__}-{find_java().version}-{place}.jsa"


def spark_engine(say: Say, master: str | None, settings: Mapping[str, str]) -> "Engine":
    """Started when it is asked to judge, and no earlier."""
    from chaos.checkers.rings import rings
    from spark_reports.examine import engine

    return engine(lambda: session(say, master, settings), rings, say)
