"""Prometheus' own tools, as Debian has them. Without them, what needs them is skipped; or fails, if they were promised."""

import os
import shutil
import subprocess

import pytest


def needed(tool: str) -> str:
    found = shutil.which(tool)
    if found is None and not os.environ.get("KAFKA_TRIAL_REQUIRE_PROMETHEUS"):
        pytest.skip(f"needs {tool}, of Debian's package prometheus (set KAFKA_TRIAL_REQUIRE_PROMETHEUS to fail instead)")
    assert found, f"{tool} is not on the PATH, and KAFKA_TRIAL_REQUIRE_PROMETHEUS is set: apt-get install prometheus"
    return found


def linted(page: str | bytes) -> str:
    """What promtool has to say against a page of metrics; nothing if it is well."""
    text = page if isinstance(page, bytes) else page.encode()
    told = subprocess.run([needed("promtool"), "check", "metrics"], input=text, capture_output=True, check=False)
    said = (told.stdout + told.stderr).decode()
    return said or (f"exit code {told.returncode}" if told.returncode else "")
