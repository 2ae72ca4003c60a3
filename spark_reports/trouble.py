"""What went wrong inside Spark, as one sentence with its cause: nobody should have to read a Java stack trace."""

import re
from collections.abc import Iterator
from typing import Any

from kernel.errors import NoSpace, SuiteError

LONGEST = 300
DEEPEST = 20  # causes of causes
BORING = re.compile(r"^(?:[a-z]\w*\.)+(\w+): ")  # java.io.IOException: …


def told(error: Exception) -> Exception:
    """Spark's errors and those of its JVM become ours; any other is left as it is."""
    words = [_short(text) for text in _causes(error)]
    if not words:
        return error
    whole = " ".join(words)
    if "No space left on device" in whole:
        return NoSpace("The disk is full, and Spark needs room for its shuffles: free some, or set TMPDIR to a larger disk.")
    if "OutOfMemoryError" in whole or "GC overhead limit" in whole:
        return SuiteError("Spark ran out of memory: give it more with --conf spark.driver.memory=8g, or judge on a cluster.")
    if "All masters are unresponsive" in whole or "stopped SparkContext" in whole:
        return SuiteError("The Spark master does not answer, or ended the job: is its address right, and is it running?")
    return SuiteError(f"Spark failed: {words[-1]}")


def _causes(error: Exception) -> Iterator[str]:
    """From the outermost to the root."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError | PySparkException):
        if isinstance(error, PySparkException):
            yield str(error)
        cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        for _ in range(DEEPEST):
            if cause is None:
                return
            yield str(cause.toString())
            cause = cause.getCause()
    elif isinstance(error, Py4JError | ConnectionRefusedError | ConnectionResetError):
        yield f"its JVM is gone ({error})"


def _short(text: str) -> str:
    line = BORING.sub("", text.strip().splitlines()[0]) if text.strip() else "no reason given"
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"
