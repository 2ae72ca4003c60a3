"""Prometheus' own tool, asked whether rules are well formed and whether each does what its cases say."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboards.alerts.cases import Case, as_promtool
from kernel.errors import MissingTool, UsageError

PATIENCE = 120  # seconds for one case
ADVICE = "install Prometheus, which brings it (Debian: apt-get install prometheus), or say where it is with --promtool"


@dataclass(frozen=True, slots=True)
class Told:
    case: str
    holds: bool
    words: str = ""  # what promtool has to say against it


def find_promtool(path: str | None = None) -> str:
    found = shutil.which(path or "promtool")
    if found is None:
        raise MissingTool(f"{path or 'promtool'} is not on the PATH: {ADVICE}.", tool="promtool")
    return found


def check(rules: Path, promtool: str) -> None:
    """Or one sentence with what is wrong, in promtool's own words."""
    ran = subprocess.run([promtool, "check", "rules", str(rules)], capture_output=True, text=True, timeout=PATIENCE)
    if ran.returncode:
        raise UsageError(f"{rules} is no file of rules: {_reason(ran.stderr or ran.stdout)}.")


def names_in(rules: Path) -> list[str]:
    """Of all alerts in a file that promtool has found good."""
    import yaml

    told = yaml.safe_load(rules.read_text()) or {}
    groups = told.get("groups") or []  # promtool finds nothing wrong with a file, or a group, in which there is nothing
    return [rule["alert"] for group in groups for rule in group.get("rules") or [] if "alert" in rule]


def tried(rules: Path, cases: Iterable[Case], promtool: str) -> Iterator[Told]:
    """Case by case, as they come to their end."""
    names = names_in(rules)
    with _without_annotations(rules) as bare, ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda case: _tried(case, bare, names, promtool), cases)


def _tried(case: Case, rules: Path, names: list[str], promtool: str) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"  # which is YAML too
        file.write_text(json.dumps(as_promtool(case, str(rules), names)))
        ran = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, timeout=PATIENCE)
    return Told(case.name, ran.returncode == 0, "" if ran.returncode == 0 else (ran.stdout + ran.stderr).strip())


@contextmanager
def _without_annotations(rules: Path) -> Iterator[Path]:
    """promtool compares texts as well; what is tried here is when a rule fires, and texts are anybody's to change."""
    import yaml

    told: dict[str, Any] = yaml.safe_load(rules.read_text())
    for group in told["groups"]:
        group["rules"] = [{**rule, "annotations": {}} if "alert" in rule else rule for rule in group.get("rules") or []]
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "rules.json"
        bare.write_text(json.dumps(told))
        yield bare


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and "FAILED" not in line and "Checking" not in line]
    if not lines:
        return "promtool does not say why"
    told = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]  # the reason itself is on the line below
    return told.rstrip(".")
