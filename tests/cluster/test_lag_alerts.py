"""Alerts to real receivers: Debian's Alertmanager, an SMTP server, HTTP servers that fail, hang, are away; and kill -9."""

import logging
import random
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from kernel.waiting import wait_until
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.alertmanager import Alertmanager
from lag_monitor.alerts.channels.channel import Refused
from lag_monitor.alerts.channels.email import Email
from lag_monitor.alerts.channels.posting import Access
from lag_monitor.alerts.channels.slack import Slack
from lag_monitor.alerts.channels.webhook import Webhook
from lag_monitor.alerts.queue import Patience
from lag_monitor.alerts.routes import Route
from lag_monitor.verdict import Gravity, Status
from tests.cluster.alertmanager import alertmanager, inbox
from tests.cluster.daemons import free_port
from tests.cluster.mail import PASSWORD, postbox
from tests.pure.test_lag_alerts_channels import notice
from tests.pure.test_lag_alerts_incidents import CLUSTER, verdict

QUICK = Patience(first=0.05, longest=0.2)
NASTY = 'bill"ing\r\nBcc: evil@example.org <!channel> 名'


def look(alerts: Alerts, status: Status, group: str = "billing", now: float | None = None) -> None:
    alerts.take({(CLUSTER, group): verdict(status, group)}, {CLUSTER}, time.time() if now is None else now)


def running(path: Path | None, *channels: Any, **more: Any) -> Alerts:
    route = Route("team", tuple(one.name for one in channels), threshold=Gravity.WARNING)
    return Alerts(path, [route], channels, patience=QUICK, **more)


# ---- Alertmanager -----------------------------------------------------------------------------------------------------


def test_alertmanager_fires_and_resolves_the_same_alert(tmp_path: Path):
    with inbox() as heard, alertmanager(tmp_path, heard.url) as manager:
        channel = Alertmanager(
            "am", (manager.address,), labels={"team": "data"}, generator_url="http://monitor.example.org/"
        )
        with running(None, channel) as alerts:
            look(alerts, Status.SLOW, NASTY)
            (firing,) = wait_until(manager.alerts, bool, what="an alert in Alertmanager", timeout=30)
            look(alerts, Status.STOPPED, NASTY)  # graver: another status, the same alert
            wait_until(
                manager.alerts,
                lambda seen: [one["annotations"]["status"] for one in seen] == ["STOPPED"],
                what="the status in Alertmanager",
                timeout=30,
            )
            look(alerts, Status.OK, NASTY)
            told = heard.gets(2)

    assert firing["labels"] == {
        "alertname": "KafkaConsumerLag",
        "cluster": "prod",
        "consumer_group": NASTY,
        "route": "team",
        "severity": "warning",
        "team": "data",
    }
    assert (firing["annotations"]["status"], firing["status"]["state"]) == ("SLOW", "active")
    assert [one["status"] for one in told if one["status"] == "resolved" or one is told[0]] == ["firing", "resolved"]
    first, last = told[0]["alerts"][0], told[-1]["alerts"][0]
    assert (first["fingerprint"], first["status"], last["status"]) == (last["fingerprint"], "firing", "resolved")
    assert first["annotations"]["incident"] == last["annotations"]["incident"]


def test_alertmanager_does_not_take_an_open_incident_for_resolved_as_long_as_it_is_refreshed(tmp_path: Path):
    """And does when nobody refreshes it any more."""
    with inbox() as heard, alertmanager(tmp_path, heard.url) as manager:
        with running(None, Alertmanager("am", (manager.address,), refresh=0.2)) as alerts:
            look(alerts, Status.STALLED)
            (first,) = wait_until(manager.alerts, bool, what="an alert in Alertmanager", timeout=30)

            def refreshed() -> list[dict[str, Any]]:
                look(alerts, Status.UNKNOWN)  # blind: it stays open all the same
                return manager.alerts()

            later = wait_until(
                refreshed,
                lambda seen: not seen or seen[0]["updatedAt"] > first["endsAt"],
                what="refreshed beyond its first end",
                timeout=30,
            )
        assert [one["fingerprint"] for one in later] == [first["fingerprint"]]
        assert [one["status"] for one in heard.taken] == ["firing"]

        wait_until(manager.alerts, lambda seen: not seen, what="resolved by Alertmanager itself", timeout=30)
        assert [one["status"] for one in heard.gets(2)] == ["firing", "resolved"]


def test_of_several_alertmanagers_one_that_is_down_is_passed_over(tmp_path: Path):
    with inbox() as heard, alertmanager(tmp_path, heard.url) as manager:
        channel = Alertmanager("am", (f"http://127.0.0.1:{free_port()}", f"{manager.address}/"))
        with running(None, channel) as alerts:
            look(alerts, Status.STALLED)
            wait_until(manager.alerts, bool, what="an alert in Alertmanager", timeout=30)
            look(alerts, Status.OK)
            told = heard.gets(2)

    assert [one["status"] for one in told] == ["firing", "resolved"]


def test_when_no_alertmanager_is_there_it_is_tried_again_until_one_is(tmp_path: Path):
    with inbox() as heard:
        port = free_port()
        with running(None, Alertmanager("am", (f"http://127.0.0.1:{port}",))) as alerts:
            look(alerts, Status.STALLED)
            wait_until(lambda: alerts.figures().notices["am", "failed"], lambda seen: seen > 1, what="failures", timeout=30)
            with inbox(port=port) as late:  # stands for it: what is asked here is when, not what
                (told,) = late.gets(1)[0]

    assert (told["labels"]["consumer_group"], heard.taken) == ("billing", [])


# ---- webhook and Slack ------------------------------------------------------------------------------------------------


def test_a_receiver_that_fails_twice_gets_it_the_third_time_and_once():
    with inbox(500, 500) as box, running(None, Webhook("hook", box.url, access=Access("me", PASSWORD))) as alerts:
        look(alerts, Status.STALLED)
        box.gets(1)
        look(alerts, Status.OK)
        opened, closed = box.gets(2)

    assert [(one["kind"], one["seq"]) for one in (opened, closed)] == [("open", 1), ("close", 2)]
    assert (opened["incident"], box.asked) == (closed["incident"], 4)
    assert [headers["Idempotency-Key"] for headers in box.headers] == [opened["key"], closed["key"]]
    assert box.headers[0]["Authorization"].startswith("Basic ")


def test_a_receiver_that_hangs_holds_up_no_other():
    with inbox() as hung, inbox() as well:
        hung.door.clear()
        with running(None, Webhook("hung", hung.url, access=Access(timeout=0.3)), Slack("well", well.url)) as alerts:
            look(alerts, Status.STALLED)
            well.gets(1)
            hung.is_asked(2)  # it was tried again
            look(alerts, Status.OK)
            well.gets(2)
            assert hung.taken == []
            began = time.monotonic()
        assert time.monotonic() - began < 4

    assert well.taken[0]["text"] == "STALLED: billing on prod"
    assert [one["attachments"][0]["color"] for one in well.taken] == ["#d72b3f", "#2e9e6b"]


def test_a_receiver_that_is_away_gets_it_when_it_comes_and_its_address_is_never_written(caplog: pytest.LogCaptureFixture):
    port = free_port()
    with caplog.at_level(logging.DEBUG), running(None, Slack("chat", f"http://127.0.0.1:{port}/hook/SECRET")) as alerts:
        look(alerts, Status.STALLED)
        wait_until(lambda: alerts.figures().notices["chat", "failed"], lambda seen: seen > 2, what="failures", timeout=30)
        with inbox(port=port) as box:
            box.gets(1)
            look(alerts, Status.OK)
            box.gets(2)

    assert f"the channel chat did not take a notice: no connection to http://127.0.0.1:{port}." in caplog.text
    assert "SECRET" not in caplog.text
    assert sum("did not take" in one.getMessage() for one in caplog.records) == 1


def test_what_began_and_ended_while_nothing_was_tried_is_not_told():
    with inbox() as box, running(None, Webhook("hook", box.url), active=False) as standby:
        with running(None, Webhook("hook", box.url)) as busy:
            box.door.clear()
            look(busy, Status.STALLED, "first")
            box.is_asked(1)
            judged = {(CLUSTER, name): verdict(Status.STALLED, name) for name in ("first", "second")}
            busy.take(judged, {CLUSTER}, time.time())
            look(busy, Status.STALLED, "first")  # the second is gone, before anything of it was tried
            look(busy, Status.OK, "first")
            box.door.set()
            assert [(one["group"], one["kind"]) for one in box.gets(2)] == [("first", "open"), ("first", "close")]
            assert busy.figures().notices["hook", "withdrawn"] == 2
        assert standby.incidents() == ()


@pytest.mark.parametrize(
    ("answer", "permanent", "wait"),
    [
        (404, True, None),
        (400, True, None),
        (503, False, None),
        (408, False, None),
        ((429, {"Retry-After": "7"}), False, 7.0),
    ],
)
def test_what_is_worth_another_try_is_known_by_the_answer(answer: Any, permanent: bool, wait: float | None):
    with inbox(answer) as box, pytest.raises(Refused) as refused:
        Webhook("hook", box.url).send(notice())

    assert (refused.value.permanent, refused.value.retry_after) == (permanent, wait)
    assert "SECRET" not in refused.value.message


def test_a_redirect_is_not_followed():
    with (
        inbox() as other,
        inbox((307, {"Location": other.url})) as box,
        pytest.raises(Refused, match="answers 307, a redirect"),
    ):
        Webhook("hook", box.url, access=Access("me", PASSWORD)).send(notice())

    assert other.asked == 0


def test_a_certificate_is_checked_against_the_file_that_is_given(tmp_path: Path, authority: trustme.CA):
    with inbox(tls=served(authority)) as box:
        with pytest.raises(Refused, match="has no certificate that we trust; see ca_file"):
            Webhook("hook", box.url).send(notice())
        Webhook("hook", box.url, access=Access(ca_file=trusted(authority, tmp_path))).send(notice())

    assert [one["group"] for one in box.taken] == ["billing"]


# ---- mail -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def served(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def trusted(authority: trustme.CA, folder: Path) -> str:
    file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    return str(file)


def mail(port: int, **more: Any) -> Email:
    return Email("mail", "127.0.0.1", port, "kafka@example.org", ("a@example.org", "b@example.org"), **more)


def test_mail_arrives_in_one_thread_after_the_server_asked_to_come_again_and_no_name_writes_a_header():
    with postbox("451 later", "451 later") as box, running(None, mail(box.port, security="none")) as alerts:
        look(alerts, Status.SLOW, NASTY)
        box.gets(1)
        look(alerts, Status.STOPPED, NASTY)
        box.gets(2)
        look(alerts, Status.OK, NASTY)
        first, again, last = box.gets(3)

    assert [one["Message-ID"] for one in (first, again, last)] == [
        first["Message-ID"].replace(".1@", f".{number}@") for number in (1, 2, 3)
    ]
    assert [one["In-Reply-To"] for one in (first, again, last)] == [None, first["Message-ID"], first["Message-ID"]]
    assert [one["Subject"].split(":")[0] for one in (first, again, last)] == [
        "[kafka-trial] SLOW",
        "[kafka-trial] now STOPPED, was SLOW",
        "[kafka-trial] resolved",
    ]
    shown = " ".join(first["Subject"].split())  # where letters need encoding, Python's library may double a space
    assert r'bill"ing\r\nBcc: evil@example.org <!channel> 名' in shown
    assert (first["Bcc"], first["To"]) == (None, "a@example.org, b@example.org")
    assert [part.get_content_type() for part in first.iter_parts()] == ["text/plain", "text/html"]


def test_mail_is_sent_over_starttls_with_a_login(tmp_path: Path, authority: trustme.CA):
    with postbox(starttls=served(authority)) as box:
        right = {"username": "kafka", "password": PASSWORD, "ca_file": trusted(authority, tmp_path)}
        mail(box.port, **right).send(notice())
        for wrong, sentence in (
            ({"password": "another"}, "does not take the login of kafka: 535"),
            ({"ca_file": ""}, "has no certificate that we trust"),
        ):
            with pytest.raises(Refused, match=sentence) as refused:
                mail(box.port, **(right | wrong)).send(notice())
            assert not refused.value.permanent

    assert (len(box.mails), box.logins[0].split()[0]) == (1, "kafka")


def test_mail_is_sent_over_tls(tmp_path: Path, authority: trustme.CA):
    with postbox(tls=served(authority)) as box:
        mail(box.port, security="tls", ca_file=trusted(authority, tmp_path)).send(notice())

    assert len(box.mails) == 1


@pytest.mark.parametrize(("answer", "permanent"), [("554 never", True), ("451 later", False)])
def test_what_a_mail_server_refuses_for_good_is_not_tried_again(answer: str, permanent: bool):
    with postbox(answer) as box, pytest.raises(Refused, match=f"answers {answer}") as refused:
        mail(box.port, security="none").send(notice())

    assert refused.value.permanent is permanent


# ---- kill -9 ----------------------------------------------------------------------------------------------------------

# Looks at what stands in a file, as the daemon looks at Kafka, and writes down how many notices wait and how many were sent.
# Loads requests at once, so that what is killed is the sending, and not the loading.
CHILD = """
import sys, time
from pathlib import Path
import requests
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.webhook import Webhook
from lag_monitor.alerts.queue import Patience
from lag_monitor.alerts.routes import Route
from lag_monitor.verdict import GroupVerdict, Status

folder, url = Path(sys.argv[1]), sys.argv[2]
hook = Webhook("hook", url)
with Alerts(folder / "outbox.db", [Route("team", ("hook",))], [hook], patience=Patience(0.05, 0.2)) as alerts:
    while True:
        status, now = Status[(folder / "status").read_text()], time.time()
        alerts.take({("prod", "billing"): GroupVerdict("prod", "billing", status, "", now, now, 1, None)}, {"prod"}, now)
        seen = alerts.figures()
        (folder / "looked.new").write_text(f"{status.name}, {seen.queued['hook']} wait, {seen.notices['hook', 'sent']} sent")
        (folder / "looked.new").rename(folder / "looked")
        time.sleep(0.005)
"""


@contextmanager
def child(folder: Path, url: str, looked: bool = True) -> Iterator[None]:
    """Until the block ends; then it is killed outright."""
    (folder / "looked").unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(folder), url])
    try:
        if looked:
            saw(folder, "")
        assert process.poll() is None
        yield
    finally:
        process.kill()
        process.wait()


def turns(folder: Path, status: Status) -> None:
    (folder / "status.new").write_text(status.name)
    (folder / "status.new").rename(folder / "status")


def saw(folder: Path, what: str) -> None:
    file = folder / "looked"
    wait_until(
        lambda: file.read_text() if file.exists() else None,
        lambda seen: seen is not None and seen.startswith(what),
        what=f"looked and saw {what}",
        timeout=30,
        every=0.01,
    )


def test_killed_at_every_turn_one_open_and_one_close_arrive(tmp_path: Path):
    with inbox(*[503] * 1000) as box:
        turns(tmp_path, Status.STALLED)
        with child(tmp_path, box.url):
            box.is_asked(2)  # killed while the open waits for its next try
        box.answers.clear()
        box.door.clear()
        before = box.asked
        with child(tmp_path, box.url):
            box.is_asked(before + 1)  # killed while the receiver thinks about it
        box.answers.append(500)  # and says no in the end
        box.door.set()
        wait_until(lambda: box.answers, lambda seen: not seen, what="the receiver's no", timeout=30)
        with child(tmp_path, box.url):
            saw(tmp_path, "STALLED, 0 wait, 1 sent")  # killed after the open
        box.answers += [503] * 1000
        with child(tmp_path, box.url):
            turns(tmp_path, Status.OK)
            before = box.asked
            box.is_asked(before + 1)  # killed while the close waits for its next try
        box.answers.clear()
        with child(tmp_path, box.url):
            saw(tmp_path, "OK, 0 wait, 1 sent")
        with child(tmp_path, box.url):
            saw(tmp_path, "OK, 0 wait, 0 sent")  # nothing is left to send

    assert [(one["kind"], one["seq"]) for one in box.taken] == [("open", 1), ("close", 2)]
    assert len({one["incident"] for one in box.taken}) == 1


def test_killed_at_any_moment_every_open_has_its_close(tmp_path: Path):
    """A kill between the receiver's answer and our note of it may send one twice: under the same key, so it counts once. One
    before anything was tried may leave nothing to tell of."""
    chance = random.Random(7)
    with inbox() as box:
        for status in (Status.STALLED, Status.OK) * 4:
            turns(tmp_path, status)
            with child(tmp_path, box.url):
                saw(tmp_path, status.name)
                time.sleep(chance.uniform(0, 0.02))  # the one place where it is the moment that matters, and any will do
        with child(tmp_path, box.url):
            saw(tmp_path, "OK, 0 wait")

    once = {one["key"]: one for one in box.taken}
    assert once
    assert set(Counter((one["incident"], one["kind"]) for one in once.values()).values()) == {1}
    firsts = list(dict.fromkeys((one["incident"], one["kind"]) for one in box.taken))
    assert firsts == [(name, kind) for name in dict.fromkeys(name for name, _ in firsts) for kind in ("open", "close")]
