"""The programs of this machine that we stand on: a JDK, Maven, Go, Docker. Found once, named clearly when missing."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernel.errors import MissingTool

OLDEST_JAVA = 17
INSTALL_JAVA = f"install a JDK {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME"


@dataclass(frozen=True, slots=True)
class Java:
    path: str
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0].split("-")[0].split("+")[0])


def find_java() -> Java:
    """JAVA_HOME's java, else the one on the PATH; an error that says what to install when there is none, or an old one."""
    path = _java_path()
    java = Java(str(path), _java_version(path))
    if java.major < OLDEST_JAVA:
        raise MissingTool(
            f"java at {java.path} is version {java.version}, but Kafka needs {OLDEST_JAVA}: {INSTALL_JAVA}.",
            tool="java",
            version=java.version,
        )
    return java


def find(tool: str, advice: str) -> str:
    if path := shutil.which(tool):
        return path
    raise MissingTool(f"{tool} is not on the PATH: {advice}.", tool=tool)


def find_maven() -> str:
    return find(
        "mvn", "install Maven to download Kafka's jars (Debian: apt-get install maven), or use --provider containers"
    )


def find_go() -> str:
    return find("go", "install Go to build Toxiproxy (Debian: apt-get install golang-go), or use --provider containers")


def docker_trouble() -> MissingTool | None:
    """Why Docker cannot be used, or None when it answers."""
    try:
        import docker
    except ImportError:
        return MissingTool(
            "the Python package docker is not installed: pip install 'kafka-trial[containers]'.", tool="docker"
        )
    try:
        client = docker.from_env(timeout=10)
        client.ping()
        client.close()
    except Exception as error:  # docker-py lets errors of three libraries through
        where = os.environ.get("DOCKER_HOST", "its default socket")
        return MissingTool(
            f"Docker does not answer at {where} ({_first_line(error)}): start Docker, or set DOCKER_HOST, or use "
            "--provider processes.",
            tool="docker",
        )
    return None


def processes_possible() -> bool:
    """Whether this machine can run brokers as plain processes at all, or needs Docker for it."""
    return _java_candidate() is not None


def _java_candidate() -> Path | None:
    if home := os.environ.get("JAVA_HOME"):
        return Path(home) / "bin" / "java"
    found = shutil.which("java")
    return Path(found) if found else None


def _java_path() -> Path:
    path = _java_candidate()
    if path is None:
        raise MissingTool(f"no java on the PATH: {INSTALL_JAVA}, or use --provider containers.", tool="java")
    if not os.access(path, os.X_OK):
        raise MissingTool(f"JAVA_HOME is {path.parent.parent}, but there is no bin/java in it: {INSTALL_JAVA}.", tool="java")
    return path.resolve()


def _java_version(path: Path) -> str:
    """From the JDK's `release` file, because asking a JVM costs a tenth of a second at every start."""
    release = path.parent.parent / "release"
    if release.exists() and (match := re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(), re.M)):
        return _modern(match[1])
    answer = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    if match := re.search(r'version "([^"]+)"', answer.stderr + answer.stdout):
        return _modern(match[1])
    raise MissingTool(f"java at {path} does not tell its version: {INSTALL_JAVA}.", tool="java")


def _modern(version: str) -> str:
    return version.removeprefix("1.") if version.startswith("1.") else version  # Java 8 called itself 1.8


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
