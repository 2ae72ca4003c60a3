"""Where there is no JDK, what needs one is skipped and says so; Docker alone still runs the other half.

But not where a JDK was promised (KAFKA_TRIAL_REQUIRE_JDK, as CI sets it): there the tests run, and fail for want of it.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from chaos.evidence.folder import RunFolder
from compose.toolchain import processes_possible
from kafka_trial.pytest_plugin import TrialResult


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if processes_possible() or os.environ.get("KAFKA_TRIAL_REQUIRE_JDK"):
        return
    reason = pytest.mark.skip(reason="runs brokers as processes, and there is no JDK on this machine")
    for item in items:
        if "tests/cluster" in str(item.path) and item.get_closest_marker("containers") is None:
            item.add_marker(reason)


@pytest.fixture
def trial(trial: Callable[..., TrialResult]) -> Callable[..., TrialResult]:
    """The plugin's own; but what is open because this machine itself stood still is tried once more."""

    def run_trial(*args: Any, **options: Any) -> TrialResult:
        result = trial(*args, **options)
        return trial(*args, **options) if open_for_a_stall(result) else result

    return run_trial


def open_for_a_stall(result: TrialResult) -> bool:
    """Only what proves nothing may be tried again: an anomaly that was found stays found."""
    stood_still = any(event["event"] == "stall" for event in RunFolder(result.folder).events())
    return stood_still and result.verdict["verdict"] == "INCONCLUSIVE"
