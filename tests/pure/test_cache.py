"""What is cached is whole, or is not there; what is damaged is named."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import compose.cache
from compose.cache import cached, out_of_space_explained, verify
from kernel.errors import DamagedCache, NoSpace


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path))
    monkeypatch.setattr(compose.cache, "_verified", set())
    return tmp_path


def put(into: Path) -> None:
    (into / "a.jar").write_bytes(b"content")


def test_it_is_built_once_and_found_again():
    built: list[Path] = []

    first = cached("jars/1", lambda into: (put(into), built.append(into))[0], mend="fetch it")
    again = cached("jars/1", lambda into: pytest.fail("built twice"), mend="fetch it")

    assert first == again
    assert (first / "a.jar").read_bytes() == b"content"


def test_two_runs_at_once_build_it_once():
    built: list[Path] = []

    def build(into: Path) -> None:
        built.append(into)
        put(into)

    with ThreadPoolExecutor(8) as together:
        found = set(together.map(lambda _: cached("jars/2", build, mend="fetch it"), range(8)))

    assert len(found) == len(built) == 1


def test_a_build_that_fails_leaves_nothing(own_cache: Path):
    def fails(into: Path) -> None:
        put(into)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("jars/3", fails, mend="fetch it")

    assert [path.name for path in (own_cache / "jars").iterdir() if not path.name.endswith(".lock")] == []


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda jar: jar.write_bytes(b"cOntent"), r"a\.jar in the cache at .* is damaged \(SHA-256 begins .*\): run this\."),
        (lambda jar: jar.unlink(), r"a\.jar is missing from the cache at .*: run this\."),
    ],
)
def test_damage_is_named_with_the_way_to_mend_it(harm, sentence: str, monkeypatch: pytest.MonkeyPatch):
    folder = cached("jars/4", put, mend="run this")
    verify(folder, mend="run this")
    harm(folder / "a.jar")
    monkeypatch.setattr(compose.cache, "_verified", set())

    with pytest.raises(DamagedCache, match=sentence):
        cached("jars/4", put, mend="run this")


def test_a_full_disk_is_one_sentence(own_cache: Path):
    def write_to_a_full_disk(into: Path) -> None:
        with Path("/dev/full").open("w") as full:  # the kernel's own full disk
            full.write("x")

    with pytest.raises(NoSpace, match=r"the disk that holds .* is full: free some space, or point KAFKA_TRIAL_CACHE"):
        cached("jars/5", write_to_a_full_disk, mend="fetch it")
    with pytest.raises(NoSpace, match="KAFKA_TRIAL_STATE"), out_of_space_explained(own_cache / "elsewhere"):
        raise OSError(28, os.strerror(28))
