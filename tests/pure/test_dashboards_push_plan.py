"""What a push would do, and how two versions differ, told from values alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dashboards.push.diff import changes, unified
from dashboards.push.files import checked, read_dashboards
from dashboards.push.plan import Action, hash_of, message_of, step_for
from dashboards.push.port import Folder, Stored, Version
from kernel.errors import UsageError

HERE, THERE = Folder("here", "Here"), Folder("there", "There")
BOARD: dict[str, Any] = {
    "uid": "kafka-trial-brokers",
    "title": "Brokers",
    "tags": ["kafka"],
    "refresh": "30s",
    "panels": [
        {
            "id": 1, "type": "timeseries", "title": "Bytes in", "gridPos": {"x": 0, "y": 0, "w": 8, "h": 7},
            "targets": [{"refId": "A", "expr": "rate(bytes_in[5m])"}], "fieldConfig": {"defaults": {"unit": "Bps"}},
        },
        {"id": 2, "type": "row", "title": "Folded", "panels": [{"id": 3, "type": "stat", "title": "Inside", "targets": []}]},
    ],
    "templating": {"list": [{"name": "cluster", "query": "label_values(up, cluster)"}]},
}  # fmt: skip


def stored(board: dict[str, Any] = BOARD, message: str | None = None, **more: Any) -> Stored:
    """Pushed by us in version 3, unless said otherwise."""
    newest = Version(3, message_of(board) if message is None else message)
    found = Stored({**board, "id": 7, "version": 3}, 3, HERE, "http://grafana/d/x", newest=newest)
    return replace(found, **more)


def edited(**more: Any) -> dict[str, Any]:
    return {**BOARD, **more}


@pytest.mark.parametrize(
    ("there", "folder", "action"),
    [
        (None, None, Action.CREATE),
        (stored(), None, Action.UNCHANGED),
        (stored(), HERE, Action.UNCHANGED),
        (stored(edited(title="Old")), None, Action.UPDATE),
        (stored(edited(title="Old"), message=""), None, Action.EDITED),
        (stored(edited(title="Old"), message="Restored from version 1"), None, Action.EDITED),
        (stored(edited(title="Old"), newest=None), None, Action.EDITED),
        (stored(edited(title="Old"), version=4), None, Action.EDITED),  # saved since the history was read
        (stored(message="saved again as it was"), None, Action.UNCHANGED),
        (stored(edited(title="By Grafana"), message=message_of(BOARD)), None, Action.UNCHANGED),  # it may rewrite the JSON
        (stored(), THERE, Action.ELSEWHERE),
        (stored(edited(title="Old")), THERE, Action.ELSEWHERE),
        (stored(edited(title="Old"), message="mine"), THERE, Action.EDITED),
        (stored(provisioned=True), None, Action.UNCHANGED),
        (stored(edited(title="Old"), provisioned=True), None, Action.PROVISIONED),
    ],
)
def test_what_would_be_done(there: Stored | None, folder: Folder | None, action: Action):
    assert step_for("file", BOARD, there, folder).action is action


@pytest.mark.parametrize(
    ("there", "folder", "refused", "refused_with_overwrite"),
    [
        (None, None, "", ""),
        (stored(edited(title="Old")), None, "", ""),
        (stored(edited(title="Old"), message="mine"), None, "changed by hand", ""),
        (stored(), THERE, "in the folder Here, not in There", ""),
        (stored(edited(title="Old"), provisioned=True), None, "provisioning files", "provisioning files"),
    ],
)
def test_what_must_not_be_done(there: Stored | None, folder: Folder | None, refused: str, refused_with_overwrite: str):
    step = step_for("file", BOARD, there, folder)

    for overwrite, words in ((False, refused), (True, refused_with_overwrite)):
        told = step.refusal(overwrite)
        assert (words in told, bool(told), step.writes(overwrite)) == (True, bool(words), not words)


def test_a_hash_is_of_the_content_alone_and_of_all_of_it():
    reordered = dict(reversed(BOARD.items()))

    assert hash_of(BOARD) == hash_of({**reordered, "id": 9, "version": 12, "iteration": 1})
    assert len({hash_of(edited(**{key: "other"})) for key in BOARD} | {hash_of(BOARD)}) == len(BOARD) + 1


def with_panel(**more: Any) -> dict[str, Any]:
    return edited(panels=[{**BOARD["panels"][0], **more}, *BOARD["panels"][1:]])


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (edited(id=9, version=4), []),
        (edited(title="All brokers"), ["title: Brokers → All brokers"]),
        (edited(tags=["kafka", "new"]), ['tags: ["kafka"] → ["kafka", "new"]']),
        (with_panel(title="In"), ["panel renamed: Bytes in → In"]),
        (with_panel(type="stat"), ["panel Bytes in: type: timeseries → stat"]),
        (
            with_panel(targets=[{"refId": "A", "expr": "rate(bytes_in[1m])"}]),
            ["panel Bytes in: query A: rate(bytes_in[5m]) → rate(bytes_in[1m])"],
        ),
        (
            with_panel(targets=[{"refId": "B", "expr": "up"}]),
            ["panel Bytes in: query A removed: rate(bytes_in[5m])", "panel Bytes in: query B added: up"],
        ),
        (
            with_panel(targets=[{"refId": "A", "expr": "rate(bytes_in[5m])", "legendFormat": "x"}]),
            ["panel Bytes in: query A: its legend or other settings changed"],
        ),
        (with_panel(fieldConfig={"defaults": {"unit": "bytes"}}), ["panel Bytes in: unit: Bps → bytes"]),
        (with_panel(fieldConfig={}), ["panel Bytes in: unit: Bps → none"]),
        (
            with_panel(fieldConfig={"defaults": {"unit": "Bps", "min": 0}}),
            ["panel Bytes in: thresholds, colours or other settings of its fields changed"],
        ),
        (with_panel(gridPos={"x": 8}), ["panel Bytes in: moved or resized"]),
        (with_panel(options={"legend": {}}), ["panel Bytes in: options changed"]),
        (edited(panels=BOARD["panels"][:1]), ["panel removed: Folded", "panel removed: Inside"]),
        (edited(panels=[*BOARD["panels"], {"id": 4, "title": "Out"}]), ["panel added: Out"]),
        (edited(templating={"list": []}), ["variable cluster removed"]),
        (edited(templating={"list": [{"name": "cluster"}]}), ["variable cluster changed"]),
        (edited(annotations={"list": [{"name": "Trials"}]}), ["annotation query Trials added"]),
        (edited(links=[1]), ["links changed"]),
    ],
)
def test_a_difference_is_told_in_words(new: dict[str, Any], told: list[str]):
    assert changes(BOARD, new) == told


def test_lines_show_what_is_there_and_what_is_to_be():
    lines = unified({**BOARD, "version": 3}, edited(title="All brokers", version=1), "Brokers")

    assert [line for line in lines if line.startswith(("+", "-"))] == [
        "--- Brokers in Grafana",
        "+++ Brokers to be pushed",
        '- "title": "Brokers",',
        '+ "title": "All brokers",',
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 200_000, "nested too deeply"),
        ("[]", "it holds a list, not an object"),
        ('"x"', "it holds a string"),
        ("{}", "no list of panels"),
        ('{"groups": []}', "no list of panels"),
        (json.dumps(edited(title=" ")), "its title is ' '"),
        (json.dumps(edited(title=None)), "its title is None"),
        (json.dumps(edited(uid=None)), "its uid is None"),
        (json.dumps(edited(uid="x" * 41)), "1 to 40 letters"),
        (json.dumps(edited(uid="a/b")), "its uid is 'a/b'"),
        (json.dumps(edited(__inputs=[{"name": "DS"}])), "exported for sharing"),
        (json.dumps({"apiVersion": "dashboard.grafana.app/v2beta1", "kind": "Dashboard", "spec": {}}), "classic form"),
    ],
)
def test_what_is_no_dashboard_is_told_with_its_file(tmp_path: Path, text: str, words: str):
    file = tmp_path / "some.json"
    file.write_text(text)

    with pytest.raises(UsageError) as told:
        read_dashboards([file])
    assert words in told.value.message and str(file) in told.value.message


def test_files_and_directories_are_read_and_a_second_of_one_uid_is_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps(BOARD))
    (tmp_path / "b.json").write_text(json.dumps({"dashboard": edited(uid="b"), "meta": {}}))
    (tmp_path / "notes.txt").write_text("not looked at")

    found = read_dashboards([tmp_path])
    assert [board["uid"] for board in found.values()] == ["kafka-trial-brokers", "b"]
    with pytest.raises(UsageError, match="a second has the uid b of a first"):
        checked({"a first": edited(uid="b"), "a second": edited(uid="b")})


def test_what_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match=r"nothing\.json cannot be read: No such file"):
        read_dashboards([tmp_path / "nothing.json"])
    with pytest.raises(UsageError, match=r"holds no \*\.json"):
        read_dashboards([tmp_path])
