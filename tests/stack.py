"""compose/stack, for tests: its file read as docker compose would, and itself run under another name and on free ports."""

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.daemons import free_port

TOP = Path(__file__).parent.parent
FOLDER = TOP / "compose" / "stack"
FILE = FOLDER / "compose.yaml"
SETTING = re.compile(r"\$\{([A-Z0-9_]+):-([^}]*)\}")
# Images built on the spot, by the setting that names them; there is none for Grafana.
ON_THE_SPOT = {"kafka-trial/kafka:4.3.1": "KAFKA_IMAGE"} | {
    f"kafka-trial/{name}:": f"{name.upper().replace('-', '_')}_IMAGE"
    for name in ("kafka-trial", "prometheus", "alertmanager", "zipkin")
}


def settings() -> dict[str, str]:
    """Every setting of the file, with its default."""
    return dict(SETTING.findall(FILE.read_text()))


def services() -> dict[str, Any]:
    """As they are when nothing is set."""
    found: dict[str, Any] = yaml.safe_load(SETTING.sub(lambda match: match[2], FILE.read_text()))["services"]
    return found


def docker(*words: str, timeout: float = 120) -> str:
    return _run(["docker", *words], timeout)


def _run(words: list[str], timeout: float, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout, env=env)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-2000:]}"
    return done.stdout.strip()


def compose_command() -> list[str]:
    """`docker compose` or docker-compose. Skipped without either; failed, where Docker was promised."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    found = ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"] if shutil.which("docker-compose") else []
    if not found and not os.environ.get("KAFKA_TRIAL_REQUIRE_DOCKER"):
        pytest.skip("needs docker compose, or docker-compose (set KAFKA_TRIAL_REQUIRE_DOCKER to fail instead)")
    assert found, "there is no docker compose, and KAFKA_TRIAL_REQUIRE_DOCKER is set: apt-get install docker-compose"
    return found


@functools.cache
def images() -> dict[str, str]:
    """Built on the spot where they were before, from the sources as they are now; nothing where there is a registry."""
    if not docker("image", "ls", "--quiet", "kafka-trial/debian"):
        return {}
    _run([str(TOP / "compose" / "images" / "build.sh"), "4.3.1"], timeout=280)
    here = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}").splitlines()
    return {setting: name for name in here for begin, setting in ON_THE_SPOT.items() if name.startswith(begin)}


@dataclass
class Stack:
    command: list[str]
    env: dict[str, str]
    project: str
    services: list[str]

    def __call__(self, *words: str, timeout: float = 120) -> str:
        return _run([*self.command, "--file", str(FILE), *words], timeout, self.env)

    def address(self, setting: str) -> str:
        return f"http://127.0.0.1:{self.env[setting]}"

    def containers(self) -> dict[str, dict[str, Any]]:
        """What Docker knows of each, by service."""
        ids = docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}").split()
        facts = json.loads(docker("inspect", *ids)) if ids else []
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in facts}

    def health(self) -> dict[str, str]:
        """Of all that is to stay; `setup` ends by itself."""
        return {
            service: facts["State"].get("Health", {}).get("Status", facts["State"]["Status"])
            for service, facts in self.containers().items()
            if service != "setup"
        }

    def left(self) -> list[str]:
        """Containers, volumes and networks that bear its name."""
        label = ["--quiet", "--filter", f"label=com.docker.compose.project={self.project}"]
        return [
            *docker("ps", "--all", *label).split(),
            *docker("volume", "ls", *label).split(),
            *docker("network", "ls", *label).split(),
        ]

    def down(self) -> None:
        self("down", "--volumes", "--timeout", "5")


@contextmanager
def stack() -> Iterator[Stack]:
    """Started as a user would, but for ports and name. Without Grafana where images are built on the spot."""
    command, here = compose_command(), images()
    ports = {name: str(free_port()) for name in settings() if name.endswith("_PORT")}
    project = f"kafka-trial-test-{os.getpid()}"
    env = {**os.environ, **here, **ports, "COMPOSE_PROJECT_NAME": project}
    wanted = [name for name in services() if not (here and name == "grafana")]
    running = Stack(command, env, project, wanted)
    try:
        running("up", "--detach", *wanted, timeout=280)
        yield running
    finally:
        running.down()
