"""Pushing to a Grafana, by its HTTP API alone: the same promises hold on the server beside these tests and on a real one.

tests/cluster/test_real_grafana.py runs them against the Grafana at GRAFANA_URL.
"""

import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from dashboards.push.grafana_api_port import GrafanaApiPort
from dashboards.push.plan import Action, message_of
from dashboards.push.port import Annotation, Refused
from dashboards.push.push import planned, push
from kernel.errors import UsageError
from tests.grafana_server import Grafana, serving

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change


@dataclass
class Somewhere:
    """A Grafana, and somebody with a browser."""

    url: str
    token: str
    tag: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def port(self) -> GrafanaApiPort:
        return GrafanaApiPort(self.url, self.token)

    def board(self, name: str, expr: str = "up", **more: Any) -> dict[str, Any]:
        panel = {"id": 1, "type": "timeseries", "title": "Up", "targets": [{"refId": "A", "expr": expr}]}
        return {
            "uid": f"kt-{self.tag}-{name}",
            "title": f"{name} {self.tag}",
            "panels": [panel],
            "schemaVersion": 38,
            **more,
        }

    def folder(self, name: str) -> str:
        return f"folder {name} {self.tag}"

    def there(self, board: dict[str, Any]) -> dict[str, Any] | None:
        answer = self._ask("GET", f"/api/dashboards/uid/{board['uid']}")
        return answer.json() if answer.ok else None

    def edit(self, board: dict[str, Any], message: str = "", **changes: Any) -> None:
        """As a browser saves it: what was read, with changes, over whatever is there."""
        told = self.there(board)
        assert told
        body = {"dashboard": {**told["dashboard"], **changes}, "message": message, "overwrite": True}
        assert self._ask("POST", "/api/dashboards/db", {**body, "folderUid": told["meta"].get("folderUid", "")}).ok

    def _ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.request(method, self.url + path, json=body, headers=headers, timeout=10)

    def tidy(self) -> None:
        for one in self._ask("GET", f"/api/search?query={self.tag}").json():
            if one["type"] == "dash-db" and self.tag in one["uid"]:
                self._ask("DELETE", f"/api/dashboards/uid/{one['uid']}")
        for folder in self.port.folders():
            if self.tag in folder.title:
                with suppress(Exception):
                    self._ask("DELETE", f"/api/folders/{folder.uid}")


@pytest.fixture(params=[10, 11, 12])
def somewhere(request: pytest.FixtureRequest) -> Iterator[Somewhere]:
    with serving(Grafana(major=request.param)) as server:
        yield Somewhere(server.url, server.token)


def pushed(somewhere: Somewhere, *boards: dict[str, Any], overwrite: bool = False, **where: Any) -> list[str]:
    port = somewhere.port
    done = push(port, planned(port, {board["uid"]: board for board in boards}, **where), overwrite=overwrite)
    return [one.outcome for one in done]


def content(told: dict[str, Any] | None) -> Any:
    assert told
    return own(told["dashboard"])


def own(board: dict[str, Any]) -> Any:
    """What a Grafana that brings old JSON up to date leaves as it is."""
    exprs = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return board["uid"], board["title"], exprs


def test_a_push_creates_and_a_second_one_writes_nothing(somewhere: Somewhere):
    one, two = somewhere.board("one"), somewhere.board("two")

    assert pushed(somewhere, one, two) == ["created", "created"]
    first = somewhere.there(one)
    assert pushed(somewhere, one, two) == ["unchanged", "unchanged"]
    assert (content(first), somewhere.there(one)) == (own(one), first)


def test_a_change_of_ours_is_an_update_and_only_of_what_changed(somewhere: Somewhere):
    one, two = somewhere.board("one"), somewhere.board("two")
    pushed(somewhere, one, two)
    changed = somewhere.board("one", "sum(up)")

    assert pushed(somewhere, changed, two) == ["updated", "unchanged"]
    assert content(somewhere.there(one)) == own(changed)
    newest = somewhere.port.dashboard(one["uid"])
    assert newest and newest.newest and newest.newest.message == message_of(changed)


def test_what_was_changed_by_hand_is_refused_and_stays_unless_told(somewhere: Somewhere):
    one, two = somewhere.board("one"), somewhere.board("two")
    pushed(somewhere, one)
    somewhere.edit(one, description="mine now")
    by_hand = somewhere.there(one)

    with pytest.raises(Refused, match=r"Nothing was pushed|nothing was pushed") as refused:
        pushed(somewhere, two, somewhere.board("one", "sum(up)"))

    assert "changed by hand" in refused.value.message and "--overwrite" in refused.value.message
    assert (somewhere.there(one), somewhere.there(two)) == (by_hand, None)
    assert pushed(somewhere, somewhere.board("one", "sum(up)"), overwrite=True) == ["updated"]
    assert pushed(somewhere, somewhere.board("one", "sum(up)")) == ["unchanged"]


def test_what_was_made_by_hand_under_our_uid_is_refused(somewhere: Somewhere):
    one = somewhere.board("one")
    theirs = {**one, "panels": [], "id": None}
    assert somewhere._ask("POST", "/api/dashboards/db", {"dashboard": theirs, "message": "my first"}).ok

    with pytest.raises(Refused, match="made or changed by hand"):
        pushed(somewhere, one)


def test_a_dashboard_that_somebody_saves_between_plan_and_write_is_not_overwritten(somewhere: Somewhere):
    one = somewhere.board("one")
    pushed(somewhere, one)
    port = somewhere.port
    plan = planned(port, {"one": somewhere.board("one", "sum(up)")})
    somewhere.edit(one, description="just in time")

    with pytest.raises(Refused, match=r"changed by somebody else in the meantime.*Nothing was pushed\.") as refused:
        push(port, plan, overwrite=True)

    told = somewhere.there(one)
    assert told and told["dashboard"]["description"] == "just in time"
    assert refused.value.exit_code == 1


def test_a_dashboard_that_appears_between_plan_and_write_is_not_overwritten(somewhere: Somewhere):
    one, port = somewhere.board("one"), somewhere.port
    plan = planned(port, {"one": one})
    assert [step.action for step in plan.steps] == [Action.CREATE]
    theirs = somewhere.board("one", "theirs")
    assert somewhere._ask("POST", "/api/dashboards/db", {"dashboard": theirs}).ok

    with pytest.raises(Refused, match="in the meantime"):
        push(port, plan)
    assert content(somewhere.there(one)) == own(theirs)


def test_a_failure_in_the_middle_takes_everything_back(somewhere: Somewhere):
    old, new, raced = somewhere.board("old"), somewhere.board("new"), somewhere.board("raced")
    pushed(somewhere, old, raced)
    before, port = somewhere.there(old), somewhere.port
    wanted = {"old": somewhere.board("old", "sum(up)"), "new": new, "raced": somewhere.board("raced", "sum(up)")}
    plan = planned(port, wanted)
    somewhere.edit(raced, description="just in time")

    with pytest.raises(Refused, match="Nothing is half pushed: 2 dashboards were taken back"):
        push(port, plan)

    assert (content(somewhere.there(old)), somewhere.there(new)) == (content(before), None)
    assert pushed(somewhere, old) == ["unchanged"]  # what was put back is ours as before, not a change by hand


def test_a_folder_is_made_when_told_and_goes_with_a_push_that_fails(somewhere: Somewhere):
    one, raced, port = somewhere.board("one"), somewhere.board("raced"), somewhere.port
    name = somewhere.folder("new")
    with pytest.raises(UsageError, match=rf"has no folder {name}: .*--create-folder"):
        planned(port, {"one": one}, name)

    plan = planned(port, {"one": one, "raced": raced}, name, create_folder=True)
    assert somewhere._ask("POST", "/api/dashboards/db", {"dashboard": raced}).ok
    with pytest.raises(Refused):
        push(port, plan)
    assert name not in [folder.title for folder in port.folders()]

    assert pushed(somewhere, one, folder=name, create_folder=True) == ["created"]
    told = somewhere.there(one)
    assert told and told["meta"]["folderTitle"] == name
    assert pushed(somewhere, one, folder=name, create_folder=True) == ["unchanged"]


def test_folders_that_there_are_are_named(somewhere: Somewhere):
    name = somewhere.folder("there")
    somewhere.port.create_folder(name)

    with pytest.raises(UsageError, match=rf"there is .*{name}"):
        planned(somewhere.port, {}, "nowhere at all")


def test_a_dashboard_stays_in_its_folder_unless_told(somewhere: Somewhere):
    one = somewhere.board("one")
    here, there = somewhere.folder("here"), somewhere.folder("there")
    pushed(somewhere, one, folder=here, create_folder=True)
    changed = somewhere.board("one", "sum(up)")

    assert pushed(somewhere, changed) == ["updated"]
    told = somewhere.there(one)
    assert told and told["meta"]["folderTitle"] == here
    somewhere.port.create_folder(there)
    with pytest.raises(Refused, match=rf"in the folder {here}, not in {there}"):
        pushed(somewhere, changed, folder=there)
    assert pushed(somewhere, changed, folder=there, overwrite=True) == ["updated"]
    told = somewhere.there(one)
    assert told and told["meta"]["folderTitle"] == there


def test_a_folder_can_be_named_by_its_uid(somewhere: Somewhere):
    made = somewhere.port.create_folder(somewhere.folder("a"))

    assert pushed(somewhere, somewhere.board("one"), folder=made.uid) == ["created"]
    told = somewhere.there(somewhere.board("one"))
    assert told and told["meta"]["folderUid"] == made.uid
    assert somewhere.port.folder(made.uid) == made
    assert somewhere.port.folder("no-such-folder") is None


def test_a_folder_with_something_in_it_is_never_deleted(somewhere: Somewhere):
    name = somewhere.folder("full")
    pushed(somewhere, somewhere.board("one"), folder=name, create_folder=True)
    (folder,) = [one for one in somewhere.port.folders() if one.title == name]

    assert somewhere.port.delete_folder(folder.uid) is False
    assert somewhere.there(somewhere.board("one"))


def test_an_annotation_is_opened_closed_and_found_by_its_tags(somewhere: Somewhere):
    port, start = somewhere.port, 1_763_000_000_000
    tags = ("kafka-trial", f"run:{somewhere.tag}", "step:f1", "fault:kill-broker&more")
    number = port.annotate(Annotation(start, None, tags, "broker 1 is killed"))
    closed = Annotation(start, start + 8000, tags, "broker 1 is killed\nHealed after 8.0 s")
    port.change_annotation(number, closed)

    found = port.annotations([*tags[:2], tags[3]], start_ms=start - 1, end_ms=start + 9000, limit=10)
    assert [(one.number, one.annotation.start_ms, one.annotation.end_ms) for one in found] == [(number, start, start + 8000)]
    assert (set(found[0].annotation.tags), found[0].annotation.text) == (set(tags), closed.text)
    assert port.annotations(["kafka-trial", "run:another"], start_ms=start - 1, end_ms=start + 9000, limit=10) == []


def test_a_grafana_says_who_it_is_and_takes_no_wrong_token(somewhere: Somewhere):
    assert somewhere.port.version()
    stranger = GrafanaApiPort(somewhere.url, "glsa_wrong_token")

    with pytest.raises(UsageError, match="does not take the token") as refused:
        planned(stranger, {"one": somewhere.board("one")})
    assert "glsa_wrong" not in refused.value.message
