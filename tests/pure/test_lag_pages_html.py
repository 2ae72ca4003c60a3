"""The pages for people: what is grave comes first and is named in the title, and no name can do harm."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lag_monitor.pages.addresses import group_page
from lag_monitor.verdict import Burrow, Status
from tests.pure.lag_views import NOW, Views, client, group, incident, many, mixed, partition, summary

BILLING = "/clusters/prod/groups/billing"
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\u202e"


class Tags(HTMLParser):
    """What a browser would make of it: tags with their attributes, and the text outside the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def title(page: str) -> str:
    return re.search("<title>(.*?)</title>", page, re.S)[1]  # type: ignore[index]


def groups_on(page: str) -> list[str]:
    return re.findall(r'<td role="cell" class="name"><a href="[^"]*"><bdi>([^<]*)', page)


def harmless(page: str) -> bool:
    seen = Tags(page)
    attributes = [name for _, known in seen.tags for name in known]
    return not {"script", "img", "iframe"} & {tag for tag, _ in seen.tags} and not any(
        name.startswith("on") or name == "style" for name in attributes
    )


def test_the_first_page_tells_the_gravest_first():
    page = client(mixed(), incidents=[incident()]).get("/").text

    assert groups_on(page) == [
        "invoices-archive", "billing", "search-indexer", "telemetry", "old-report", "audit-eos", "checkout", "firmware",
    ]  # fmt: skip
    assert "4 of 8 groups need a look" in page and title(page) == "edge cannot be reached · lag"
    for fact in (
        "edge-1.example.test:9092 refused the connection", "not reached", "judged 44 s ago", "from admin and offsets topic",
        "1\u202f204\u202f511", "1 d 1 h", "9 min 5 s", "2 h ago", 'title="2026-07-25 17:15:50 UTC">4 min ago', "Burrow: ERR",
        "Open incidents", "opened 13 min ago", 'href="/?status=STALLED&amp;cluster=prod"', "see 2 groups differently",
        "1–8 of 8 groups",
    ):  # fmt: skip
        assert fact in page


def test_burrows_word_stands_there_only_where_it_differs():
    views = Views({"prod": [group("same", Status.STALLED), group("other", Status.STALLED, burrow=Burrow.OK)]})
    unseen = Views(
        {"prod": [group("a", Status.UNKNOWN, burrow=Burrow.OK), group("b", Status.STOPPED, burrow=Burrow.NOTFOUND)]}
    )

    assert client(views).get("/").text.count("Burrow: ") == 1
    assert "Burrow: " not in client(unseen).get("/").text


@pytest.mark.parametrize(
    ("groups", "expected", "headline"),
    [
        (
            [group("a"), group("b", Status.STALLED), group("c", Status.SLOW)],
            "stalled: b and 1 more · lag",
            "2 of 3 groups need a look",
        ),
        ([group("a", Status.BEHIND_SLO)], "behind SLO: a · lag", "1 of 1 group needs a look"),
        ([group("a"), group("b", Status.EMPTY_GROUP)], "All 2 groups are well · lag", "All 2 groups are well"),
        ([group("a")], "The only group is well · lag", "The only group is well"),
        ([], "No groups yet · lag", "No groups yet"),
    ],
)
def test_the_title_names_the_gravest_thing(groups: list, expected: str, headline: str):
    page = client(Views({"prod": groups})).get("/").text

    assert title(page) == expected and f"<h1>{headline}</h1>" in page


def test_a_cluster_that_does_not_answer_is_said_even_if_its_groups_were_well():
    known = [group("a")]
    page = client(Views({"prod": known}, {"prod": summary("prod", known, up=False, trouble="it is gone")})).get("/").text

    assert "<h1>prod cannot be reached</h1>" in page and "it is gone" in page


def test_a_cluster_that_has_not_been_judged_yet_says_so():
    page = client(Views({"prod": []}, {"prod": summary("prod", ready=False, judged_at=None)})).get("/").text

    assert "starting" in page and "not judged yet" in page


@pytest.mark.parametrize(
    ("views", "query", "sentence"),
    [
        (Views(), "", "No cluster is watched yet. Name one in the configuration file"),
        (Views({"prod": []}), "", "No group has committed anything yet."),
        (Views({"prod": []}, {"prod": summary("prod", up=False)}), "", "Nothing has been seen so far."),
        (Views({"prod": [group("a")]}), "?q=zzz", "No group is like that. Clear the filter"),
        (Views({"prod": [group("a")]}), "?page=9", "There are not so many pages."),
    ],
)
def test_an_empty_page_says_what_to_do(views: Views, query: str, sentence: str):
    answer = client(views).get(f"/{query}")

    assert answer.status_code == 200 and sentence in answer.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=BILL", ["billing"]),
        ("status=SLOW", ["search-indexer"]),
        ("status=attention", ["invoices-archive", "billing", "search-indexer", "telemetry"]),
        ("cluster=edge", ["telemetry", "firmware"]),
        ("q=e&status=OK&cluster=edge", ["firmware"]),
    ],
)
def test_a_filter_leaves_what_it_is_asked_for_and_stays_in_the_form(query: str, expected: list[str]):
    page = client(mixed()).get(f"/?{query}").text

    assert groups_on(page) == expected and ">clear</a>" in page
    for word in query.split("&"):
        value = word.split("=")[1]
        assert f'value="{value}" selected' in page or f'name="q" value="{value}"' in page


@pytest.mark.parametrize(
    ("query", "sentence"),
    [("status=bad", "no status is called"), ("cluster=none", "No cluster is called"), ("page=0", "is not a whole number")],
)
def test_a_filter_that_cannot_be_is_told_and_everything_is_shown(query: str, sentence: str):
    answer = client(mixed()).get(f"/?{query}")

    assert answer.status_code == 400 and sentence in answer.text and len(groups_on(answer.text)) == 8


def test_a_hundred_groups_fill_a_page_and_the_filter_goes_with_it():
    asking = client(many(250))
    first, second, third = (asking.get(f"/?q=service&refresh=0{page}").text for page in ("", "&page=2", "&page=3"))

    assert [len(groups_on(page)) for page in (first, second, third)] == [100, 100, 50]
    assert len({*groups_on(first), *groups_on(second), *groups_on(third)}) == 250
    assert 'rel="next" href="/?q=service&amp;page=2&amp;refresh=0"' in first and 'rel="prev"' not in first
    assert 'rel="prev" href="/?q=service&amp;refresh=0"' in second and "101–200 of 250 groups" in second
    assert 'rel="prev" href="/?q=service&amp;page=2&amp;refresh=0"' in third and 'rel="next"' not in third


@pytest.mark.parametrize("path", ["/", BILLING])
def test_it_comes_anew_every_ten_seconds_unless_paused(path: str):
    refresh = '<meta http-equiv="refresh" content="10">'
    running, paused = client(mixed()).get(path).text, client(mixed()).get(f"{path}?refresh=0").text

    assert refresh in running and f'href="{path}?refresh=0">pause' in running
    assert refresh not in paused and f'href="{path}">go on' in paused


@pytest.mark.parametrize("path", ["/", BILLING, "/clusters/prod/groups/nobody"])
def test_the_policy_allows_the_one_style_and_nothing_else(path: str):
    answer = client(mixed()).get(path)

    style = re.search("<style>(.*?)</style>", answer.text, re.S)[1]  # type: ignore[index]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'", "style-src": f"'sha256-{digest}'", "img-src": "data:", "form-action": "'self'",
        "base-uri": "'none'", "frame-ancestors": "'none'",
    }  # fmt: skip
    assert harmless(answer.text) and answer.headers["cache-control"] == "no-store"


def test_a_group_is_told_with_its_facts_and_its_partitions():
    others = [
        incident(group="other", reason="not this one"),
        incident(reason="long over", closed=NOW - 5),
        incident(reason="still held", opened_at=None),
    ]
    page = client(mixed(), incidents=[incident(), *others]).get(BILLING).text

    assert title(page) == "stalled: billing · prod · lag"
    assert re.findall(r"<bdi>orders</bdi>-(\d)", page) == ["3", "1", "5", "0", "2", "4"]
    for fact in (
        "11\u202f510", "<dt>promised</dt><dd>5 min</dd>", "<dt>kind</dt><dd>consumer</dd>", "Burrow: STALL", "88\u202f120",
        "span seconds</dt><dd>540.5", "last commit</dt><dd>–", "no member has it", "no lag seen yet", "seen once",
        "lag from 0 to 4\u202f320 in 9 min, at most 4\u202f320", "orders-3 does not get on", "1–6 of 6 partitions",
        'href="/api/clusters/prod/groups/billing"', 'href="/v3/kafka/prod/consumer/billing/lag"',
    ):  # fmt: skip
        assert fact in page
    assert not any(words in page for words in ("not this one", "long over", "still held"))


def test_an_incident_is_shown_however_it_is_told():
    told = [
        {"cluster": "prod", "group": "plain", "status": "slow", "reason": "all on one level", "since": NOW - 60},
        incident(group="theirs", status="ERR", gravity=3, reason="Burrow's rules say ERR"),
        {},
    ]
    page = client(mixed(), incidents=told).get("/").text

    for fact in (
        "all on one level",
        "opened 1 min ago",
        "</svg>ERR</span>",
        "Burrow&#39;s rules say ERR",
        "</svg>incident</span>",
    ):
        assert fact in page


def test_two_hundred_partitions_fill_a_page():
    parts = tuple(partition(number) for number in range(450))
    asking = client(Views({"prod": [group("big", partitions=parts, partition_count=450)]}))
    first, last = (asking.get(f"/clusters/prod/groups/big{page}").text for page in ("", "?page=3"))

    assert first.count("<bdi>orders</bdi>") == 200 and "1–200 of 450 partitions" in first
    assert last.count("<bdi>orders</bdi>") == 50 and 'href="/clusters/prod/groups/big?page=2"' in last
    assert asking.get("/clusters/prod/groups/big?page=x").status_code == 200


def test_a_group_without_partitions_says_when_it_will_have_some():
    assert (
        "No partition of this group is known yet."
        in client(Views({"prod": [group("new")]})).get("/clusters/prod/groups/new").text
    )


@pytest.mark.parametrize("path", ["/clusters/prod/groups/nobody", "/clusters/none/groups/billing"])
def test_a_group_that_is_not_known_is_a_page_that_leads_back(path: str):
    answer = client(mixed()).get(path)

    assert answer.status_code == 404 and "has no group" in answer.text and '<a href="/">See all groups</a>' in answer.text


@pytest.mark.parametrize("name", ["a/b", "", ".", "..", "ü b", "100%", HOSTILE, "x" * 249])
def test_the_link_on_the_first_page_leads_to_the_group(name: str):
    asking = client(Views({"prod": [group(name, Status.STALLED)]}))
    href = group_page("prod", name)

    assert f'href="{href}"' in asking.get("/").text
    answer = asking.get(href)
    assert answer.status_code == 200 and title(answer.text).startswith("stalled: ")


def test_what_slipped_through_would_be_noticed():
    assert not harmless("<p onclick=x>") and not harmless("<script>") and harmless("<p>&lt;script&gt;")


def test_hostile_names_are_only_text():
    part = partition(
        0, Status.STALLED, topic=HOSTILE, owner=HOSTILE, client_id=HOSTILE, reason=HOSTILE, evidence={HOSTILE: HOSTILE}
    )
    views = Views(
        {
            HOSTILE: [
                group(
                    HOSTILE, Status.STALLED, cluster=HOSTILE, reason=HOSTILE, state=HOSTILE, kind=HOSTILE, partitions=(part,)
                )
            ]
        },
        {HOSTILE: summary(HOSTILE, bootstrap=HOSTILE, trouble=HOSTILE, sources=(HOSTILE,), up=False)},
    )
    asking = client(
        views, incidents=[incident(cluster=HOSTILE, group=HOSTILE, reason=HOSTILE, status=HOSTILE, opened_at=HOSTILE)]
    )

    for path in (
        "/",
        group_page(HOSTILE, HOSTILE),
        f"/?q={HOSTILE}",
        f"/?status={HOSTILE}",
        group_page("x", HOSTILE),
    ):
        page = asking.get(path).text
        assert harmless(page) and "\u202e" not in page and "{{ 7 * 7 }}" in Tags(page).text


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    name=st.text(alphabet=st.characters(exclude_categories=[]), min_size=1),
    topic=st.text(alphabet=st.characters(exclude_categories=[])),
    reason=st.text(),
    status=st.sampled_from(Status),
)
def test_a_page_is_rendered_whatever_the_names(name: str, topic: str, reason: str, status: Status):
    views = Views(
        {name: [group(name, status, cluster=name, reason=reason, partitions=(partition(0, topic=topic, owner=topic),))]}
    )
    asking = client(views, incidents=[incident(cluster=name, group=name, reason=reason)])

    first = asking.get("/")
    assert first.status_code == 200 and harmless(first.text)
    if not any("\ud800" <= letter <= "\udfff" for letter in name):  # half a character has no address
        second = asking.get(group_page(name, name)) if name not in (".", "..") else first
        assert second.status_code == 200 and harmless(second.text)
