"""The room as the daemon sees it, with channels that only write down what they are sent."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernel.errors import UsageError
from kernel.waiting import wait_until
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.channel import Refused
from lag_monitor.alerts.notices import Notice
from lag_monitor.alerts.queue import Patience
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.verdict import Status
from tests.pure.test_lag_alerts_incidents import CLUSTER, GROUP, verdict

QUICK = Patience(first=0.01, longest=0.05)


@dataclass
class Paper:
    """A channel. `answers`: what it says to the next notices, in turn; nothing is yes."""

    name: str = "mail"
    refresh: float = 0.0
    answers: list[Exception | None] = field(default_factory=list)
    heard: list[Notice] = field(default_factory=list)
    tried: int = 0
    door: threading.Event = field(default_factory=threading.Event)  # closed, whoever sends waits before it

    def __post_init__(self) -> None:
        self.door.set()

    def check(self) -> None:
        pass

    def send(self, notice: Notice) -> None:
        self.tried += 1
        self.door.wait(30)
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.heard.append(notice)

    @property
    def kinds(self) -> list[str]:
        return [notice.kind.value for notice in self.heard]

    def hears(self, *kinds: str) -> None:
        wait_until(
            lambda: self.kinds, lambda seen: seen == list(kinds), what=f"what {self.name} heard", timeout=10, every=0.005
        )


@pytest.fixture
def started() -> Iterator[Any]:
    with ExitStack() as stack:

        def start(path: Path | None, *channels: Paper, route: Route | None = None, **more: Any) -> Alerts:
            names = tuple(channel.name for channel in channels)
            routes = [route or Route("team", names)]
            return stack.enter_context(Alerts(path, routes, channels, patience=QUICK, **more))

        yield start


def look(alerts: Alerts, status: Status, now: float | None = None) -> None:
    alerts.take({(CLUSTER, GROUP): verdict(status)}, {CLUSTER}, time.time() if now is None else now)


def test_what_is_opened_is_sent_and_so_is_its_end(started: Any):
    paper = Paper()
    alerts = started(None, paper)
    look(alerts, Status.STALLED)
    paper.hears("open")
    look(alerts, Status.OK)
    paper.hears("open", "close")

    assert alerts.figures().notices == {
        ("mail", result): 2 * (result == "sent") for result in ("sent", "failed", "given_up", "dropped", "withdrawn")
    }
    assert (alerts.incidents(), alerts.figures().queued, alerts.figures().open) == ((), {"mail": 0}, {"team": 0})


@pytest.mark.slow
def test_a_receiver_that_fails_is_tried_again_and_told_of_in_the_log_once(started: Any, caplog: pytest.LogCaptureFixture):
    paper = Paper(answers=[Refused("it is down.")] * 5)
    with caplog.at_level(logging.INFO):
        alerts = started(None, paper)
        look(alerts, Status.STALLED)
        paper.hears("open")
        wait_until(lambda: len(caplog.records), lambda seen: seen == 2, what="lines in the log", timeout=10)

    assert (paper.tried, alerts.figures().notices["mail", "failed"]) == (6, 5)
    assert [one.getMessage() for one in caplog.records] == [
        "the channel mail did not take a notice: it is down. It is tried again.",
        "the channel mail takes notices again",
    ]


def test_what_is_refused_for_good_is_not_tried_again(started: Any):
    paper = Paper(answers=[Refused("no such page.", permanent=True)])
    alerts = started(None, paper)
    look(alerts, Status.STALLED)
    wait_until(lambda: alerts.figures().queued["mail"], lambda seen: seen == 0, what="the queue", timeout=10)

    assert (paper.tried, paper.heard, alerts.figures().notices["mail", "given_up"]) == (1, [], 1)


def test_a_bug_in_a_channel_ends_nothing_and_its_text_is_not_written(started: Any, caplog: pytest.LogCaptureFixture):
    paper = Paper(answers=[RuntimeError("https://host/SECRET")])
    look(started(None, paper), Status.STALLED)
    paper.hears("open")

    assert "a bug of ours, RuntimeError at" in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.slow
def test_a_receiver_that_hangs_holds_up_no_other_and_no_end(started: Any):
    hung, well = Paper("hung"), Paper("well")
    hung.door.clear()
    alerts = started(None, hung, well)
    look(alerts, Status.STALLED)
    well.hears("open")
    began = time.monotonic()
    alerts.stop()

    assert time.monotonic() - began < 4
    assert (hung.tried, hung.heard) == (1, [])
    hung.door.set()


def test_a_standby_decides_nothing_and_sends_nothing(started: Any):
    paper = Paper()
    alerts = started(None, paper, active=False)
    look(alerts, Status.STALLED)

    assert (alerts.incidents(), alerts.figures().queued, paper.tried) == ((), {"mail": 0}, 0)


def test_one_that_takes_over_sends_the_one_close_and_no_second_open(started: Any):
    paper = Paper()
    first, second = started(None, paper), started(None, paper, active=False)
    look(first, Status.STALLED)
    paper.hears("open")
    first.active = False
    second.adopt(json.loads(json.dumps(first.export())))
    second.active = True
    look(second, Status.STALLED)
    look(first, Status.OK)
    look(second, Status.OK)

    paper.hears("open", "close")
    assert {notice.incident for notice in paper.heard} == {paper.heard[0].incident}


def test_what_the_other_could_not_send_any_more_is_sent_by_the_one_that_takes_over(started: Any):
    dead, well = Paper(answers=[Refused("it is down.", retry_after=1000.0)]), Paper()
    first, second = started(None, dead), started(None, well, active=False)
    look(first, Status.STALLED)
    wait_until(lambda: first.figures().notices["mail", "failed"], bool, what="a failure", timeout=10)
    first.active = False
    second.adopt(first.export())
    second.active = True
    look(second, Status.OK)

    well.hears("open", "close")


def test_what_a_standby_adopts_waits_until_it_is_active(started: Any):
    dead, well = Paper(answers=[Refused("it is down.", retry_after=1000.0)]), Paper()
    first, second = started(None, dead), started(None, well, active=False)
    look(first, Status.STALLED)
    wait_until(lambda: first.figures().notices["mail", "failed"], bool, what="a failure", timeout=10)
    second.adopt(first.export())

    assert second.figures().queued == {"mail": 1}
    assert second._sender._workers["mail"]._claimed() is None
    second.active = True
    well.hears("open")


def test_the_first_gets_it_back_without_sending_anything_twice(started: Any):
    paper = Paper()
    first, second = started(None, paper), started(None, paper, active=False)
    look(first, Status.STALLED)
    paper.hears("open")
    for giver, taker in ((first, second), (second, first)):
        giver.active = False
        taker.adopt(giver.export())
        taker.active = True
    look(first, Status.OK)

    paper.hears("open", "close")


def test_an_active_instance_adopts_nothing(started: Any):
    with pytest.raises(UsageError, match="an active instance adopts no incidents"):
        started(None, Paper()).adopt({})


def test_a_reload_that_takes_a_route_away_closes_what_it_opened(started: Any):
    paper = Paper()
    alerts = started(None, paper)
    look(alerts, Status.STALLED)
    paper.hears("open")
    alerts.reload([], [paper], [])
    look(alerts, Status.STALLED)

    paper.hears("open", "close")
    assert paper.heard[-1].reason == "the route team is no longer configured"


def test_a_reload_brings_channels_and_silences(started: Any):
    old, new = Paper("old"), Paper("new")
    alerts = started(None, old)
    look(alerts, Status.STALLED)
    old.hears("open")
    alerts.reload([Route("team", ("new",))], [new], [Silence()])
    look(alerts, Status.STALLED)
    assert alerts.figures().queued == {"new": 0}
    alerts.reload([Route("team", ("new",))], [new], [])
    look(alerts, Status.STALLED)
    new.hears("open")
    look(alerts, Status.OK)

    new.hears("open", "close")
    assert old.kinds == ["open"]


def test_a_channel_that_is_mended_by_a_reload_is_tried_at_once(started: Any):
    broken, mended = Paper(answers=[Refused("not now.", retry_after=1000.0)]), Paper(refresh=1.0)
    alerts = started(None, broken)
    look(alerts, Status.STALLED)
    wait_until(lambda: alerts.figures().notices["mail", "failed"], bool, what="a failure", timeout=10)
    alerts.reload([Route("team", ("mail",))], [mended], [])

    mended.hears("open")


def test_a_reload_that_makes_no_sense_changes_nothing(started: Any):
    paper = Paper()
    alerts = started(None, paper)
    for routes, channels in (([Route("r", ("nobody",))], [paper]), ([], [paper, paper])):
        with pytest.raises(UsageError):
            alerts.reload(routes, channels, [])
    look(alerts, Status.STALLED)

    paper.hears("open")


def test_a_route_to_a_channel_that_is_not_there_is_refused_by_name():
    with pytest.raises(UsageError, match="the route r names the channel nobody, and there is none: there are mail"):
        Alerts(None, [Route("r", ("nobody",))], [Paper()])


def test_it_goes_on_after_a_restart_where_it_was(started: Any, tmp_path: Path):
    paper = Paper()
    first = started(tmp_path / "outbox.db", paper)
    look(first, Status.STALLED)
    paper.hears("open")
    wait_until(lambda: first.figures().notices["mail", "sent"], bool, what="the open's being noted", timeout=10)
    first.stop()
    second = started(tmp_path / "outbox.db", paper)
    look(second, Status.STALLED)
    look(second, Status.OK)

    paper.hears("open", "close")


def test_what_is_held_or_silenced_is_shown_but_not_counted_as_open_before_it_is(started: Any):
    alerts = started(None, Paper(), route=Route("team", ("mail",), after=60))
    look(alerts, Status.STALLED, now=0.0)
    assert ([one.group for one in alerts.incidents()], alerts.figures().open) == ([GROUP], {"team": 0})
    look(alerts, Status.STALLED, now=60.0)

    assert alerts.figures().open == {"team": 1}


@pytest.mark.slow
def test_a_receiver_that_forgets_is_told_again(started: Any):
    paper, other = Paper("am", refresh=60.0), Paper("mail")
    alerts = started(None, paper, other)
    for now in (0.0, 60.0, 120.0):
        look(alerts, Status.STALLED, now=time.time() + now)
        wait_until(lambda: alerts.figures().queued["am"], lambda seen: seen == 0, what="the queue", timeout=10)

    paper.hears("open", "refresh", "refresh")
    other.hears("open")
