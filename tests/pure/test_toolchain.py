"""A missing or old tool is one sentence that says what to install."""

from pathlib import Path

import pytest

from compose.toolchain import Java, docker_trouble, find_go, find_java, find_maven
from kernel.errors import MissingTool


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def jdk(home: Path, release: str) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')


@pytest.mark.parametrize(
    ("find", "sentence"),
    [
        (
            find_java,
            "no java on the PATH: install a JDK 17 or newer (Debian: apt-get install openjdk-17-jdk-headless)",
        ),
        (find_maven, "mvn is not on the PATH: install Maven to download Kafka's jars (Debian: apt-get install maven)"),
        (find_go, "go is not on the PATH: install Go to build Toxiproxy (Debian: apt-get install golang-go)"),
    ],
)
def test_what_is_missing_is_named(bare_machine: Path, find, sentence: str):
    with pytest.raises(MissingTool) as missing:
        find()

    assert str(missing.value).startswith(sentence)


@pytest.mark.parametrize("old", ["1.8.0_402", "11.0.2", "16"])
def test_an_old_jdk_is_named(bare_machine: Path, monkeypatch: pytest.MonkeyPatch, old: str):
    jdk(bare_machine, old)
    monkeypatch.setenv("JAVA_HOME", str(bare_machine))

    with pytest.raises(MissingTool, match=r"java at .* is version .*, but Kafka needs 17: install a JDK 17 or newer"):
        find_java()


def test_a_new_jdk_is_taken(bare_machine: Path, monkeypatch: pytest.MonkeyPatch):
    jdk(bare_machine, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(bare_machine))

    assert find_java() == Java(str(bare_machine / "bin" / "java"), "21.0.1")


def test_a_java_home_without_java_is_named(bare_machine: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(bare_machine))

    with pytest.raises(MissingTool, match=r"JAVA_HOME is .*, but there is no bin/java in it"):
        find_java()


def test_a_docker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")

    trouble = docker_trouble()

    assert trouble is not None
    assert "Docker does not answer at unix://" in trouble.message
    assert "start Docker, or set DOCKER_HOST, or use --provider processes" in trouble.message
