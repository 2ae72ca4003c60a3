"""Which file was damaged, when Spark stumbles over one whose footer is whole: Arrow reads them all again and tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_reports.ledger.files import ledger_files
from spark_reports.ledger.translated import translated

UNREADABLE = "FAILED_READ_FILE"


@contextmanager
def damage_told(*ledgers: Path) -> Iterator[None]:
    """Whatever Spark reads of these ledgers, it reads in here; what is damaged is refused in one sentence."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if UNREADABLE in str(error):
            refuse_damaged(*ledgers)
        raise


def refuse_damaged(*ledgers: Path) -> None:
    """Returns if Arrow can read all there is."""
    for ledger in ledgers:
        for file in ledger_files(ledger):
            for _ in translated(file):
                pass
