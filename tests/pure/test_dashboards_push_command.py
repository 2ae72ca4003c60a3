"""`kafka-trial dashboards push`: what it prints, how it ends, and that a dry run changes nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboards.build import dashboards
from kafka_trial.cli.dashboards.push import push
from tests.grafana_server import TOKEN, Answer, Grafana, serving
from tests.pure.commands import Ran, ran

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

BOARD: dict[str, Any] = {
    "uid": "one",
    "title": "One",
    "panels": [{"id": 1, "type": "stat", "title": "Up", "targets": [{"refId": "A", "expr": "up"}]}],
}
NO_TOKEN = {"GRAFANA_TOKEN": "", "GRAFANA_TOKEN_FILE": "", "GRAFANA_CA_FILE": ""}


@pytest.fixture
def server() -> Iterator[Grafana]:
    with serving() as grafana:
        yield grafana


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "one.json", BOARD)


def written(file: Path, board: dict[str, Any]) -> Path:
    file.write_text(json.dumps(board))
    return file


def pushing(server: Grafana, *words: object) -> Ran:
    result = ran(push, "--url", server.url, *words, env={**NO_TOKEN, "GRAFANA_TOKEN": TOKEN})
    assert TOKEN not in result.all
    return result


def test_each_dashboard_is_a_line_with_its_address(server: Grafana, file: Path, tmp_path: Path):
    address = f"{server.url}/d/one/one"

    assert pushing(server, file).out == f"created    One  {address}\n"
    assert pushing(server, file).out == f"unchanged  One  {address}\n"
    written(file, {**BOARD, "refresh": "10s"})
    assert pushing(server, tmp_path).out == f"updated    One  {address}\n"


def test_for_programs(server: Grafana, file: Path):
    told = json.loads(pushing(server, file, "--json").out)

    assert told == [{"outcome": "created", "uid": "one", "title": "One", "address": f"{server.url}/d/one/one"}]


def test_our_own_go_into_a_folder_and_the_second_push_writes_nothing(server: Grafana):
    first = pushing(server, "--folder", "Kafka", "--create-folder")
    server.seen.clear()
    second = pushing(server, "--folder", "Kafka")

    own = dashboards()
    assert (first.code, first.out.count("created ")) == (0, len(own)) and len(own) > 3
    assert (second.code, second.out.count("unchanged "), server.writes) == (0, len(own), [])
    assert {kept.folder for kept in server.boards.values()} == set(server.folders)
    assert set(server.boards) == {board["uid"] for board in own.values()}


def test_a_dry_run_says_what_would_change_and_asks_only(server: Grafana, file: Path, tmp_path: Path):
    pushing(server, file)
    server.seen.clear()
    before = json.dumps(server.boards["one"].content)
    changed = {**BOARD, "panels": [{**BOARD["panels"][0], "targets": [{"refId": "A", "expr": "sum(up)"}]}]}
    written(file, changed)
    written(tmp_path / "two.json", {**BOARD, "uid": "two", "title": "Two"})

    told = pushing(server, tmp_path, "--dry-run", "--verbose")

    assert told.code == 0
    assert "be updated     One" in told.out and "panel Up: query A: up → sum(up)" in told.out
    assert "be created     Two  new" in told.out and "Nothing was written." in told.out
    assert '+     "expr": "sum(up)",' in told.out and '-     "expr": "up",' in told.out
    assert {method for method, _ in server.seen} == {"GET"}
    assert (json.dumps(server.boards["one"].content), list(server.boards)) == (before, ["one"])


def test_a_dry_run_into_a_new_folder_makes_none(server: Grafana, file: Path):
    told = pushing(server, file, "--folder", "Kafka", "--create-folder", "--dry-run")

    assert "would create the folder Kafka" in told.out and (told.code, server.writes, server.folders) == (0, [], {})


def test_a_dry_run_of_what_would_be_refused_ends_as_the_push_would(server: Grafana, file: Path):
    pushing(server, file)
    server.edit("one", description="mine")
    written(file, {**BOARD, "refresh": "10s"})

    told = pushing(server, file, "--dry-run")
    programs = pushing(server, file, "--dry-run", "--json")
    assert (told.code, programs.code) == (1, 1)
    assert "be refused     One" in told.out and "description: mine → none" in told.out and "changed by hand" in told.err
    (one,) = json.loads(programs.out)["dashboards"]
    assert (one["would"], one["state"]) == ("be refused", "edited by hand")
    assert pushing(server, file, "--dry-run", "--overwrite").code == 0


def test_changed_by_hand_is_exit_code_1_and_nothing_is_written(server: Grafana, file: Path):
    pushing(server, file)
    server.edit("one", description="mine")
    server.seen.clear()
    written(file, {**BOARD, "refresh": "10s"})

    told = pushing(server, file)
    assert (told.code, server.writes, told.out) == (1, [], "")
    assert told.err.count("\n") <= 3 and "One (http" in told.err and "--overwrite" in told.err
    assert pushing(server, file, "--overwrite").out.startswith("updated ")


def test_a_folder_that_is_missing_is_named_with_those_there_are(server: Grafana, file: Path):
    server.add_folder("Payments")

    told = pushing(server, file, "--folder", "Kafka")
    assert told.code == 2 and "has no folder Kafka: there is Payments; or have it made with --create-folder" in told.err
    assert server.writes == []


def test_a_folder_inside_another_is_found_and_one_of_two_is_asked_for(server: Grafana, file: Path):
    top = server.add_folder("Kafka teams")
    inner = server.add_folder("Kafka", top)

    assert pushing(server, file, "--folder", "Kafka").code == 0 and server.boards["one"].folder == inner
    other = server.add_folder("Kafka")
    told = pushing(server, file, "--folder", "Kafka")
    assert told.code == 2 and "has 2 folders named Kafka" in told.err and inner in told.err and other in told.err


@pytest.mark.parametrize("name", ["General", "general", "Dashboards"])
def test_the_top_is_a_folder_by_its_name_too(server: Grafana, file: Path, name: str):
    assert (pushing(server, file, "--folder", name).code, server.boards["one"].folder) == (0, "")


def test_a_file_that_is_no_dashboard_keeps_the_others_from_being_pushed(server: Grafana, file: Path, tmp_path: Path):
    (tmp_path / "rules.json").write_text('{"groups": []}')

    told = pushing(server, tmp_path)
    assert (told.code, server.writes) == (2, []) and "rules.json is not a dashboard" in told.err


def test_no_token_no_question(server: Grafana, file: Path):
    told = ran(push, "--url", server.url, file, env=NO_TOKEN)

    assert (told.code, server.seen) == (2, []) and "GRAFANA_TOKEN" in told.err


def test_a_token_from_a_file(server: Grafana, file: Path, tmp_path: Path):
    (tmp_path / "token").write_text(TOKEN + "\n")

    told = ran(push, "--url", server.url, file, "--token-file", tmp_path / "token", env=NO_TOKEN)
    assert told.code == 0 and TOKEN not in told.all


def test_wrong_address_and_wrong_token(server: Grafana, file: Path):
    wrong = ran(push, "--url", server.url, file, env={**NO_TOKEN, "GRAFANA_TOKEN": "glsa_stale"})
    nobody = ran(push, "--url", "http://127.0.0.1:1", file, env={**NO_TOKEN, "GRAFANA_TOKEN": TOKEN})

    assert (wrong.code, "does not take the token" in wrong.err, "glsa_stale" in wrong.all) == (2, True, False)
    assert (nobody.code, "no Grafana answers at http://127.0.0.1:1 (Connection refused)" in nobody.err) == (2, True)


def test_a_failure_half_way_is_told_with_what_became_of_it(server: Grafana, file: Path, tmp_path: Path):
    written(tmp_path / "two.json", {**BOARD, "uid": "two", "title": "Two"})

    def fail(method: str, path: str) -> None:
        if method == "POST" and server.boards:
            raise Answer(500, {"message": "database is locked"})

    server.before = fail
    told = pushing(server, tmp_path)
    assert (told.code, server.boards) == (4, {})
    assert "500 database is locked. Try again. Nothing is half pushed: one dashboard was taken back." in told.err


def test_the_whole_command_line(server: Grafana, file: Path):
    """The token is in its environment alone."""
    trial = str(Path(sys.executable).parent / "kafka-trial")
    words = [trial, "dashboards", "push", str(file), "--url", server.url]
    env = {**os.environ, **NO_TOKEN, "GRAFANA_TOKEN": TOKEN}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)

    assert (done.returncode, done.stdout) == (0, f"created    One  {server.url}/d/one/one\n"), done.stderr
    server.edit("one", description="mine")
    file.write_text(json.dumps({**BOARD, "title": "Two"}))
    again = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert again.returncode == 1 and "Traceback" not in again.stderr
    assert "kafka-trial: nothing was pushed. Two" in again.stderr and "--overwrite" in again.stderr
    assert TOKEN not in done.stdout + done.stderr + again.stdout + again.stderr
