"""Tell what this machine has, what is missing, and how to get it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import typer

from compose.cache import SUMS, cache_root, verify
from compose.spec import DEFAULT_KAFKA
from compose.state import NEEDED_MB, clusters, state_root
from compose.toolchain import docker_trouble, find_go, find_java, find_maven
from compose.toxiproxy_binary import ENTRY as TOXIPROXY
from kafka_trial.cli.options import AsJson, Kafka
from kafka_trial.cli.screen import out
from kernel.errors import MissingTool, SuiteError


def doctor(kafka: Kafka = DEFAULT_KAFKA, as_json: AsJson = False) -> None:
    findings = {
        "java": _tried(lambda: f"{find_java().version} at {find_java().path}"),
        "maven": _tried(find_maven),
        "go": _tried(find_go),
        "docker": _tried(_docker),
        f"Kafka {kafka}": _tried(lambda: _in_cache(f"kafka/{kafka}")),
        "Toxiproxy": _tried(lambda: _in_cache(TOXIPROXY)),
        "disk": _tried(_disk),
        "left over": _tried(_left_over),
    }
    processes = all(findings[name][0] for name in ("java", f"Kafka {kafka}", "Toxiproxy")) or all(
        findings[name][0] for name in ("java", "maven", "go")
    )
    possible = [name for name, fine in (("processes", processes), ("containers", findings["docker"][0])) if fine]
    if as_json:
        rows = {name: {"ok": fine, "says": words} for name, (fine, words) in findings.items()}
        print(json.dumps({"providers": possible, "findings": rows}, indent=1))
    else:
        for name, (fine, words) in findings.items():
            out.print(f"{'ok' if fine else '--'}  {name:<14} {words}", markup=False)
        out.print(
            f"Clusters can run as: {', '.join(possible)}."
            if possible
            else "No cluster can run here yet: a JDK, Maven and Go, or Docker, are needed."
        )
    raise typer.Exit(0 if possible and findings["disk"][0] else 4)


def _tried(look: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, look()
    except SuiteError as error:
        return False, error.message


def _docker() -> str:
    if trouble := docker_trouble():
        raise trouble
    return "answers"


def _in_cache(entry: str) -> str:
    folder = cache_root() / entry
    if not (folder / SUMS).exists():
        raise MissingTool("not fetched yet: run `kafka-trial fetch`, or just start a cluster.")
    verify(folder, mend="run `kafka-trial fetch --again`")
    return f"in {folder}"


def _disk() -> str:
    root = next(path for path in (state_root(), *state_root().parents) if path.exists())
    free = shutil.disk_usage(root).free // 2**20
    if free < NEEDED_MB:
        raise MissingTool(
            f"only {free} MB free for {state_root()}, a cluster needs {NEEDED_MB}: free some space or set KAFKA_TRIAL_STATE."
        )
    return f"{free} MB free at {Path(root)}"


def _left_over() -> str:
    orphans = [state.cluster for state in clusters() if state.orphaned]
    return f"{len(orphans)} interrupted cluster(s), removed at the next start" if orphans else "nothing"
