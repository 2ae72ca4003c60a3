"""What waits to be sent: in order, bounded, patient, and on disk before anything is sent."""

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.errors import UsageError
from lag_monitor.alerts import records
from lag_monitor.alerts.channels.channel import SAMPLE
from lag_monitor.alerts.incidents import Incident, Setting, step
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.outbox import Outbox
from lag_monitor.alerts.queue import REMEMBERED, Patience, Queue, Row
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.alerts.store import Store
from lag_monitor.verdict import Status
from tests.pure.test_lag_alerts_incidents import CLUSTER, GROUP, Desk, verdict


def told(kind: Kind, seq: int, incident: str = "a", *channels: str) -> Notice:
    return replace(SAMPLE, kind=kind, seq=seq, incident=incident, channels=channels or ("mail",))


def opened(incident: str = "a") -> Notice:
    return told(Kind.OPEN, 1, incident)


def repeated(seq: int = 2, incident: str = "a") -> Notice:
    return told(Kind.REPEAT, seq, incident)


def closed(seq: int = 9, incident: str = "a") -> Notice:
    return told(Kind.CLOSE, seq, incident)


def queue(*notices: Notice, most: int = 100, **patience: float) -> Queue:
    made = Queue(most, Patience(**patience), chance=lambda: 1.0)
    made.add(notices, 0.0)
    return made


def waiting(one: Queue) -> list[tuple[str, str]]:
    return [(row.notice.incident, row.notice.kind.value) for row in one.rows.values()]


def claimed(one: Queue | Outbox, now: float = 0.0) -> Row:
    row = one.claim("mail", now)
    assert row is not None
    return row


# ---- order ------------------------------------------------------------------------------------------------------------


def test_a_close_never_goes_before_its_open():
    line = queue(opened())
    row = claimed(line)
    line.add([closed()], 1.0)

    assert line.claim("mail", 0.5) is None  # the open waits for its next try, and the close for the open
    line.delivered(row, 2.0)
    assert claimed(line, 2.0).notice.kind is Kind.CLOSE


def test_one_incident_does_not_wait_for_another():
    line = queue(opened("a"), opened("b"))

    assert [claimed(line).notice.incident for _ in range(2)] == ["a", "b"]
    assert line.claim("mail", 0.0) is None


def test_of_an_incident_that_was_over_before_anything_was_tried_nothing_is_sent():
    line = queue(opened(), repeated(), opened("b"))
    line.add([closed()], 1.0)

    assert (waiting(line), line.counts["mail", "withdrawn"]) == ([("b", "open")], 3)


@pytest.mark.parametrize("end", ["fails", "is under way"])
def test_of_one_that_was_tried_both_are_sent_for_it_may_have_arrived(end: str):
    line = queue(opened())
    row = claimed(line)
    if end == "fails":
        line.failed(row, 1.0)
    line.add([closed()], 2.0)

    assert waiting(line) == [("a", "open"), ("a", "close")]


def test_a_close_follows_an_open_that_was_delivered_long_ago():
    line = queue(opened())
    line.delivered(claimed(line), 0.0)
    for number in range(REMEMBERED + 10):
        line.add([opened(f"other-{number}")], 1.0)
        line.delivered(claimed(line, 1.0), 1.0)
    line.forget({"a"})
    line.add([closed()], 2.0)

    assert (waiting(line), len(line.done)) == ([("a", "close")], REMEMBERED + 1)


def test_a_receiver_that_hears_again_gets_no_second_row_while_one_waits():
    line = queue(opened())
    line.add([told(Kind.REFRESH, 1)], 60.0)
    assert waiting(line) == [("a", "open")]
    line.delivered(claimed(line, 60.0), 60.0)
    line.add([told(Kind.REFRESH, 1)], 120.0)

    assert waiting(line) == [("a", "refresh")]


# ---- patience ---------------------------------------------------------------------------------------------------------


def test_each_failure_doubles_the_wait_up_to_a_bound():
    line = queue(opened(), first=1, longest=10)
    now, waits = 0.0, []
    for _ in range(6):
        waits.append(line.failed(claimed(line, now), now))
        assert line.claim("mail", now + waits[-1] - 0.01) is None
        now += waits[-1]

    assert waits == [1, 2, 4, 8, 10, 10]


def test_what_the_receiver_asks_for_is_waited_and_no_more_than_an_hour():
    line = queue(opened())

    assert [line.failed(claimed(line), 0.0, 77), line.failed(row_of(line), 0.0, 1e9)] == [77, 3600]


def row_of(line: Queue) -> Row:
    return next(iter(line.rows.values()))


def test_chance_spreads_those_who_failed_together():
    patience = Patience(first=8)

    assert [patience.wait(1, lambda: 0.0), patience.wait(1, lambda: 1.0)] == [4, 8]


def test_it_is_given_up_when_it_is_too_old_and_not_before():
    line = queue(opened(), max_age=100)
    claimed(line, 100.0)
    assert line.counts["mail", "given_up"] == 0

    assert (line.claim("mail", 100.1), line.counts["mail", "given_up"], line.rows) == (None, 1, {})


def test_the_close_of_an_open_that_was_tried_and_given_up_is_sent():
    line = queue(opened())
    line.give_up(claimed(line), 0.0)
    line.add([closed()], 1.0)

    assert waiting(line) == [("a", "close")]


def test_a_clock_that_is_put_back_holds_up_nothing():
    line = queue(opened(), max_age=1e12)
    line.failed(claimed(line, 1e9), 1e9)

    assert line.next_due("mail", 1000.0) == 1000.0
    assert line.claim("mail", 1000.0) is not None


def test_when_the_receiver_is_back_nobody_waits_any_longer():
    line = queue(opened("a"), opened("b"))
    for _ in range(2):
        line.failed(claimed(line), 0.0)
    assert line.claim("mail", 0.0) is None
    line.wake("mail")

    assert claimed(line).notice.incident == "a"


# ---- room -------------------------------------------------------------------------------------------------------------


def test_without_room_repeats_go_first_and_the_oldest_of_them():
    line = queue(opened("a"), repeated(2), repeated(3), opened("b"), opened("c"), most=4)

    assert [(row.notice.incident, row.notice.seq) for row in line.rows.values()] == [("a", 1), ("a", 3), ("b", 1), ("c", 1)]
    assert line.counts["mail", "dropped"] == 1


def test_when_no_repeats_are_left_the_oldest_incident_goes_whole_and_its_close_is_not_sent():
    line = queue(opened("a"), opened("b"), opened("c"), most=2)
    assert waiting(line) == [("b", "open"), ("c", "open")]
    line.add([closed(incident="a")], 1.0)

    assert waiting(line) == [("b", "open"), ("c", "open")]


def test_but_its_close_is_sent_if_it_was_tried_before_it_was_dropped():
    line = queue(opened("a"))
    claimed(line)
    line.add([opened("b")], 0.0)
    line.most = 1
    line.add([], 0.0)
    line.most = 3
    line.add([closed(incident="a")], 1.0)

    assert waiting(line) == [("b", "open"), ("a", "close")]


def test_rows_of_a_channel_that_is_no_more_are_dropped_and_no_others():
    line = queue(told(Kind.OPEN, 1, "a", "mail", "chat"))

    assert [row.channel for row in line.keep_only({"mail"})] == ["chat"]
    assert ([row.channel for row in line.rows.values()], line.counts["chat", "dropped"]) == (["mail"], 1)


# ---- the file ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "outbox.db"


def incident(**more: Any) -> Incident:
    desk = Desk(Route("team", ("mail",)))
    desk.look(0, verdict(group='nasty "\n\ud800 名'))
    return replace(desk.incidents[0], **more)


def test_incidents_and_notices_come_back_as_they_were(file: Path):
    box = Outbox(file)
    box.save([incident()], [opened(), repeated()], 5.0)
    first = claimed(box, 6.0)
    box.delivered(first, 7.0)
    before = box.export()

    box.close()
    again = Outbox(file)
    assert (again.incidents, again.export()) == ((incident(),), before)
    assert claimed(again, 8.0).notice == repeated()
    again.close()


def test_a_try_that_was_cut_short_is_known_afterwards_and_its_close_is_sent(file: Path):
    box = Outbox(file)
    box.save([incident()], [opened()], 0.0)
    claimed(box)
    box.close()  # as if it had been killed while sending: nothing was noted after the claim
    again = Outbox(file)
    again.save([], [closed()], 1.0)

    assert [row["notice"]["kind"] for row in again.export()["queue"]] == ["open", "close"]
    again.close()


def test_incidents_and_their_notices_are_saved_together_or_not_at_all(file: Path):
    class Interrupted(Store):
        def _write_changes(self, connection: sqlite3.Connection, book: Any) -> None:
            super()._write_changes(connection, book)
            raise sqlite3.OperationalError("cut short")

    Outbox(file).close()
    box = Outbox(file, open_store=Interrupted)
    box.save([incident()], [opened()], 0.0)
    assert not box.storing
    box.close()

    again = Outbox(file)
    assert (again.incidents, again.queued("mail")) == ((), 0)
    again.close()


def test_a_full_disk_stops_nobody_and_is_caught_up_with_as_soon_as_there_is_room(
    file: Path, caplog: pytest.LogCaptureFixture
):
    room = [1_000_000]

    class Small(Store):
        def _opened(self) -> Any:
            book = super()._opened()
            assert self._connection
            self._connection.execute(f"PRAGMA max_page_count = {room[0]}")  # SQLite's own way to be full
            return book

    box = Outbox(file, open_store=Small)
    box.save([], [opened("first")], 0.0)
    room[0] = 1
    assert box._store
    box._store.close()
    with caplog.at_level(logging.INFO):
        box.save([incident()], [opened(f"{number:04}") for number in range(200)], 1.0)
        box.save([incident()], [opened("last")], 2.0)

        assert (box.storing, box.store_failures, box.queued("mail")) == (False, 2, 202)
        assert claimed(box, 3.0).notice.incident == "first"
        assert [one.levelname for one in caplog.records] == ["ERROR"]
        assert "database or disk is full. Alerts go on" in caplog.text

        room[0] = 1_000_000
        box.save([incident()], [opened("later")], 4.0)
        assert (box.storing, [one.levelname for one in caplog.records]) == (True, ["ERROR", "INFO"])
    box.close()
    again = Outbox(file)
    assert (again.queued("mail"), again.incidents) == (203, (incident(),))
    again.close()


def test_a_folder_that_cannot_be_made_stops_nobody_and_what_the_file_holds_is_not_lost(file: Path):
    box = Outbox(file)
    box.save([incident(id="old")], [opened("old")], 0.0)
    box.close()
    file.parent.rename(file.parent.with_name("elsewhere"))
    file.parent.write_text("in the way")
    blind = Outbox(file)
    blind.save([incident(id="new")], [opened("new")], 1.0)
    assert (blind.storing, claimed(blind, 1.0).notice.incident) == (False, "new")

    file.parent.unlink()
    file.parent.with_name("elsewhere").rename(file.parent)
    blind.save(blind.incidents, [], 2.0)
    assert blind.storing
    assert [row["notice"]["incident"] for row in blind.export()["queue"]] == ["old", "new"]
    assert {one.id for one in blind.incidents} == {"old", "new"}
    blind.close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b""])
def test_a_file_that_is_not_ours_is_put_aside_and_an_empty_one_is_used(
    file: Path, content: bytes, caplog: pytest.LogCaptureFixture
):
    file.parent.mkdir()
    file.write_bytes(content)
    box = Outbox(file)
    box.save([incident()], [opened()], 0.0)

    aside = [one.name for one in file.parent.iterdir() if ".broken-" in one.name]
    assert (box.storing, len(aside), len(caplog.records)) == (True, bool(content), bool(content))
    assert not content or (file.parent / aside[0]).read_bytes() == content
    box.close()


def test_tables_that_say_something_else_are_put_aside_too(file: Path):
    Outbox(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO incidents VALUES ('x', '{\"id\": 1}')")
    connection.close()
    box = Outbox(file)

    assert (box.storing, box.incidents, len(list(file.parent.glob("*.broken-*")))) == (True, (), 1)
    box.close()


@pytest.mark.slow
def test_two_cannot_send_from_one_file(file: Path):
    box = Outbox(file)
    with pytest.raises(UsageError, match="is in use: another process sends from it"):
        Outbox(file)
    box.close()

    Outbox(file).close()


def test_without_a_file_it_works_in_memory():
    box = Outbox(None)
    box.save([incident()], [opened()], 0.0)

    assert (box.storing, claimed(box).notice) == (True, opened())


def test_what_a_newer_instance_adds_is_passed_over_and_what_is_missing_is_refused():
    plain = records.plain(incident())

    assert records.incident(plain | {"more": 1}) == incident()
    with pytest.raises(UsageError, match="this is not what another instance exports"):
        Outbox(None).replace({"incidents": [{"id": "x"}]})


# ---- whatever happens -------------------------------------------------------------------------------------------------


class Receiver:
    """Takes what it likes. A crash may come after it took something and before that was noted."""

    def __init__(self) -> None:
        self.heard: list[Notice] = []

    def kinds(self) -> dict[str, list[Kind]]:
        """Of each incident, what was heard, and what came twice under the same key counted once."""
        once: dict[str, Notice] = {}
        for notice in self.heard:
            once.setdefault(notice.key, notice)
        found: dict[str, list[Kind]] = {}
        for notice in once.values():
            found.setdefault(notice.incident, []).append(notice.kind)
        return found


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("look"), st.sampled_from([*Status, None]), st.booleans()),
        st.tuples(st.just("deliver"), st.sampled_from(["takes", "refuses", "takes, then crash", "crash"])),
        st.tuples(st.just("restart")),
        st.tuples(st.just("silence"), st.booleans()),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(EVENTS)
def test_whatever_happens_and_whenever_it_is_killed_an_open_that_arrived_has_one_close(events: list[Any]):
    ids: Callable[[], str] = (f"incident-{number}" for number in count(1)).__next__
    receiver, now, silences = Receiver(), 0.0, list[Silence]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "outbox.db"
        box = Outbox(path)

        def look(seen: bool, status: Status | None) -> None:
            setting = Setting([Route("r", ("mail",), repeat=20)], {"mail": 0.0}, silences)
            known = {} if status is None else {(CLUSTER, GROUP): verdict(status)}
            after, notices = step(
                box.incidents, known, now=now, setting=setting, seen={CLUSTER} if seen else set(), new_id=ids
            )
            box.save(after, notices, now)

        def deliver(how: str) -> None:
            row = box.claim("mail", now)
            if row is not None:
                receiver.heard += [row.notice] if how.startswith("takes") else []
                if how == "takes":
                    box.delivered(row, now)
                if how == "refuses":
                    box.failed(row, now)

        for event in events:
            now += 10
            if event[0] == "look":
                look(event[2], event[1])
            elif event[0] == "deliver":
                deliver(event[1])
            elif event[0] == "silence":
                silences = [Silence()] if event[1] else []
            if event[0] == "restart" or event[-1] in ("takes, then crash", "crash"):
                box.close()
                box = Outbox(path)
        now += 10
        look(True, None)  # the group is gone
        for _ in range(100):
            now += 1000
            deliver("takes")
        assert (box.incidents, box.queued("mail")) == ((), 0)
        box.close()

    for kinds in receiver.kinds().values():
        assert (kinds[0], kinds[-1]) == (Kind.OPEN, Kind.CLOSE)
        assert (kinds.count(Kind.OPEN), kinds.count(Kind.CLOSE)) == (1, 1)
