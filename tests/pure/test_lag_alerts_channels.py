"""What is sent, byte for byte; what is refused before the start; and that no secret is ever shown."""

import json
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import UsageError
from lag_monitor.alerts.channels.alertmanager import Alertmanager
from lag_monitor.alerts.channels.channel import SAMPLE, Refused
from lag_monitor.alerts.channels.email import Email
from lag_monitor.alerts.channels.posting import Access, origin, retry_after
from lag_monitor.alerts.channels.slack import Slack, message
from lag_monitor.alerts.channels.webhook import Webhook
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.wording import headline, lasting, shown
from lag_monitor.verdict import Gravity

URL = "https://hooks.example.org/services/T0/SECRET"


def notice(kind: Kind = Kind.OPEN, **more: Any) -> Notice:
    told: dict[str, Any] = {"kind": kind, "group": "billing", "cluster": "prod", "opened_at": 1000.0, "at": 1000.0}
    return replace(SAMPLE, **(told | more))


def mail(**more: Any) -> Email:
    told: dict[str, Any] = {"name": "m", "host": "h", "port": 25, "sender": "kafka@example.org", "to": ("a@example.org",)}
    return Email(**(told | more))


# ---- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (notice(), "STALLED: billing on prod"),
        (notice(Kind.REPEAT, previous="STALLED", at=1120.0), "still STALLED: billing on prod, for 2 min"),
        (notice(Kind.REPEAT, previous="SLOW", at=8260.0), "now STALLED, was SLOW: billing on prod, for 2 h 1 min"),
        (notice(Kind.CLOSE, previous="STALLED", at=1005.0), "resolved: billing on prod, after 5 s"),
    ],
)
def test_each_kind_has_its_headline(told: Notice, line: str):
    assert headline(told) == line


def test_durations_are_told_in_two_units_at_most():
    assert [lasting(one) for one in (-1, 59.9, 60, 3661, 86_400, 90_000)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 h 1 min",
        "1 d",
        "1 d 1 h",
    ]


def test_whatever_is_not_printable_is_shown_as_an_escape():
    assert shown("a\r\nb\u202ec\ud800名") == r"a\r\nb\u202ec\ud800名"
    assert shown("x" * 20, 5) == "xxxx…"


# ---- webhook ----------------------------------------------------------------------------------------------------------


def test_without_a_template_a_webhook_sends_json_with_all_there_is():
    url, body = Webhook("w", URL).request(notice())
    told = json.loads(body)

    assert (url, told["key"], told["kind"], told["gravity"]) == (URL, f"{SAMPLE.incident}/1", "open", "ERROR")
    assert (told["partitions"][0]["topic"], told["duration"], told["headline"]) == (
        "sample",
        0.0,
        "STALLED: billing on prod",
    )


def test_templates_of_address_and_body_are_filled_in_and_a_close_may_have_its_own():
    hook = Webhook("w", URL, f"{URL}/{{{{ incident }}}}/close", template='{"g": {{ group | tojson }}}', template_close="[]")
    hook.check()

    assert hook.request(notice(group='a"b'))[1] == '{"g": "a\\"b"}'
    assert hook.request(notice(Kind.CLOSE)) == (f"{URL}/{SAMPLE.incident}/close", "[]")


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{{ grup }}", "UndefinedError: 'grup' is undefined"),
        ("{{ group", "TemplateSyntaxError"),
        ("{{ seconds + 1 }}", "TypeError"),  # which may be None, and the sample shows it
        ("{{ group.__class__.__mro__ }}", "SecurityError"),
        ('{"group": "{{ group }}"}', "gives no JSON for a group named"),
    ],
)
def test_a_template_that_would_fail_some_day_fails_before_the_start(template: str, sentence: str):
    with pytest.raises(UsageError) as refused:
        Webhook("w", URL, template=template).check()

    assert refused.value.message.startswith("the webhook w: ")
    assert sentence in refused.value.message


def test_a_template_that_is_not_meant_to_be_json_need_not_be():
    Webhook(
        "w", URL, template="group={{ group | urlencode }}", access=Access(headers={"content-type": "text/plain"})
    ).check()


def test_a_group_cannot_send_a_notice_to_another_host():
    hook = Webhook("w", "https://{{ group }}.example.org/")

    with pytest.raises(Refused, match="would be of another host") as refused:
        hook.send(notice(group="evil.org/"))
    assert refused.value.permanent


@pytest.mark.parametrize("url", ["ftp://host/", "hooks.example.org", "http:///word", "http://[word", "http://u:word@host/"])
def test_an_address_that_is_none_is_refused_without_being_shown(url: str):
    with pytest.raises(UsageError) as refused:
        Slack("s", url).check()

    assert url not in refused.value.message
    assert "word" not in refused.value.message.replace("password", "")


def test_retry_after_is_a_number_or_a_date():
    date = "Thu, 01 Jan 1970 00:01:40 GMT"

    assert [retry_after(told, 40.0) for told in ("7", date, "soon", "", "-3")] == [7.0, 60.0, None, None, None]


def test_of_an_address_only_the_host_is_told():
    assert origin("https://host:8443/path/token?key=word") == "https://host:8443"


# ---- Alertmanager -----------------------------------------------------------------------------------------------------


def test_the_labels_are_the_same_from_open_to_close_whatever_changes():
    manager = Alertmanager("am", ("http://am",), labels={"team": "data"})
    lives = [
        notice(gravity=Gravity.WARNING, status="SLOW"),
        notice(Kind.REPEAT, seq=2, gravity=Gravity.ERROR, previous="SLOW", reason="worse"),
        notice(Kind.REFRESH, seq=2, lag=9),
        notice(Kind.CLOSE, seq=3, gravity=Gravity.OK, status="OK", reason="well"),
        notice(incident="another"),
    ]

    assert len({json.dumps(manager.alert(one, 1000.0)["labels"], sort_keys=True) for one in lives}) == 1
    assert manager.alert(lives[0], 1000.0)["labels"] == {
        "alertname": "KafkaConsumerLag",
        "cluster": "prod",
        "consumer_group": "billing",
        "route": "sample",
        "severity": "critical",
        "team": "data",
    }


def test_what_is_open_ends_in_the_future_and_what_is_closed_when_it_closed():
    manager = Alertmanager("am", ("http://am",), refresh=60)
    opened, closed = manager.alert(notice(), 2000.0), manager.alert(notice(Kind.CLOSE, at=1500.0), 2000.0)

    assert (opened["startsAt"], opened["endsAt"]) == ("1970-01-01T00:16:40.000+00:00", "1970-01-01T00:38:20.000+00:00")
    assert closed["endsAt"] == "1970-01-01T00:25:00.000+00:00"


# ---- Slack ------------------------------------------------------------------------------------------------------------


def test_a_group_cannot_wake_a_whole_slack_channel():
    told = json.dumps(message(notice(group="<!channel> & <@U1>")))

    assert "<!channel>" not in told and "<@U1>" not in told
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in told


def test_slack_shows_by_a_colour_how_grave_it_is_and_that_it_is_over():
    kinds = [notice(), notice(gravity=Gravity.WARNING), notice(Kind.CLOSE, gravity=Gravity.OK)]

    assert len({message(one)["attachments"][0]["color"] for one in kinds}) == 3


def test_what_slack_would_refuse_for_its_length_is_cut():
    told = message(notice(reason="x" * 9000, group="g" * 9000))
    blocks = told["attachments"][0]["blocks"]
    texts = [
        one["text"] for block in blocks for one in [*block.get("fields", ()), *([block["text"]] if "text" in block else [])]
    ]

    assert max(map(len, texts)) < 2000


# ---- mail -------------------------------------------------------------------------------------------------------------


def test_what_follows_the_open_hangs_under_it():
    first, again, last = (
        mail().message(one) for one in (notice(), notice(Kind.REPEAT, seq=2, previous="STALLED"), notice(Kind.CLOSE, seq=3))
    )
    root = f"<{SAMPLE.incident}.1@example.org>"

    assert (first["Message-ID"], first["In-Reply-To"]) == (root, None)
    assert [one["Message-ID"] for one in (again, last)] == [root.replace(".1@", f".{number}@") for number in (2, 3)]
    assert [(one["In-Reply-To"], one["References"]) for one in (again, last)] == [(root, root)] * 2


@pytest.mark.slow
@given(st.text())
def test_no_name_of_a_group_writes_a_header_of_its_own(name: str):
    sent = mail().message(notice(group=name + "\r\nBcc: evil@example.org\n\n<b>x</b>", reason=name))
    read = message_from_bytes(sent.as_bytes(), policy=default)

    assert sorted(read.keys()) == sorted(mail().message(notice()).keys())
    assert (read["Bcc"], read["To"]) == (None, "a@example.org")
    assert "Bcc: evil" in read["Subject"]  # it is shown, in one line
    html = read.get_body(("html",))
    assert html is not None and "<b>x</b>" not in html.get_content()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"to": ()}, "nobody in to"),
        ({"to": ("a@b\r\nBcc: x@y",)}, "is not an address"),
        ({"sender": "nobody"}, "is not an address"),
        ({"security": "none", "username": "u"}, "the password would be sent in the open"),
        ({"ca_file": "/nowhere"}, "there is no CA file /nowhere"),
    ],
)
def test_mail_that_could_not_be_sent_is_refused_before_the_start(more: dict[str, Any], sentence: str):
    with pytest.raises(UsageError, match=sentence):
        mail(**more).check()


# ---- secrets ----------------------------------------------------------------------------------------------------------


def test_no_channel_shows_its_secrets():
    access = Access("user", "SECRET", {"Authorization": "Bearer SECRET"})
    channels = [
        Webhook("w", URL, URL, access=access, template="SECRET"),
        Slack("s", URL, access),
        Alertmanager("am", (URL,), access=access),
        mail(username="user", password="SECRET"),
    ]

    assert [repr(one) for one in channels if "SECRET" in repr(one)] == []


def test_a_receiver_that_is_not_there_is_named_without_its_path():
    with pytest.raises(Refused) as refused:
        Slack("s", "http://127.0.0.1:1/services/SECRET").send(notice())

    assert refused.value.message == "no connection to http://127.0.0.1:1."
    assert (refused.value.permanent, refused.value.__cause__, refused.value.__suppress_context__) == (False, None, True)
