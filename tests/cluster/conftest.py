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
    """The plugin's own; but a run during which this machine itself stood still proves nothing, and is made once more."""

    def run_trial(*args: Any, **options: Any) -> TrialResult:
        result = trial(*args, **options)
        if any(event["event"] == "stall" for event in RunFolder(result.folder).events()):
            result = trial(*args, **options)
        return result

    return run_trial
