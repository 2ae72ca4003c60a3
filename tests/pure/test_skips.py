"""A test that needs a JDK is skipped with its reason where there is none, and never where one was promised."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cluster.conftest import pytest_collection_modifyitems


@pytest.mark.parametrize(("promised", "containers", "skipped"), [("", False, True), ("1", False, False), ("", True, False)])
def test_who_is_skipped_without_a_jdk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, promised: str, containers: bool, skipped: bool
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("KAFKA_TRIAL_REQUIRE_JDK", promised)
    marks: list[object] = []
    item = SimpleNamespace(
        path=Path("tests/cluster/test_x.py"), get_closest_marker=lambda _: containers or None, add_marker=marks.append
    )

    pytest_collection_modifyitems([item])  # type: ignore[list-item]

    assert bool(marks) is skipped
