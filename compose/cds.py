"""AppCDS: a broker's classes, parsed and verified once, mapped into every later JVM.

An archive fits one JDK and one class path, so both are in its name. Making one needs a running cluster (the classes
are those a real broker loaded); that is `compose.training`. This half only finds what is there.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from compose.cache import SUMS, cache_root
from compose.jvm import LEAN
from compose.toolchain import Java

ARCHIVE = "broker.jsa"


def archive_entry(java: Java, kafka: str, class_path: Sequence[str]) -> str:
    words = (java.path, java.version, *class_path, *LEAN)
    return f"cds/{kafka}-jdk{java.major}-{sha256(chr(10).join(words).encode()).hexdigest()[:12]}"


def find_archive(java: Java, kafka: str, class_path: Sequence[str]) -> Path | None:
    """The archive if it was made. It is not hashed here: the JVM checks it itself, and goes without when it does not fit."""
    folder = cache_root() / archive_entry(java, kafka, class_path)
    return folder / ARCHIVE if (folder / SUMS).exists() else None
