"""The page holds the facts, asks nobody for anything, and no text of a run becomes code in it."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.evidence.folder import RunFolder
from chaos.report import tables
from chaos.report.block import verdict_block
from chaos.report.html import write_report
from kernel.errors import UsageError
from tests.pure.run_folders import Run, ns, write_run

HOSTILE = "</script><script>alert(1)</script>'\"&<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs"))


class Seen(HTMLParser):
    """What a browser would find: tags, their attributes, the text between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def test_the_page_holds_the_facts(failed: RunFolder):
    file = write_report(failed)
    seen = Seen(file.read_text())

    assert file == failed.report
    facts = ("kill-leader", "FAIL", "r-0001", "orders-0", "lost-write", "broker 1 is killed (SIGKILL)", "consumer-2")
    more = ("process 4711 is gone", "min.insync.replicas", "kafka-trial check", "-o acks=1", "--seed 7", "bound 15.0 s")
    assert [fact for fact in facts + more if fact not in seen.text] == []
    assert not list(failed.path.glob(".report*"))


def test_the_page_asks_nobody_for_anything(failed: RunFolder):
    page = write_report(failed).read_text()
    asked = [attrs[name] for _, attrs in Seen(page).tags for name in ("src", "href") if name in attrs]
    policy = next(attrs["content"] for tag, attrs in Seen(page).tags if attrs.get("http-equiv") == "Content-Security-Policy")

    assert asked == ["data:,"]
    assert "default-src 'none'" in (policy or "") and "unsafe" not in (policy or "")
    assert "url(" not in page and "@import" not in page
    assert not any("style" in attrs or any(name.startswith("on") for name in attrs) for _, attrs in Seen(page).tags)


@pytest.mark.slow
def test_text_of_a_run_stays_text(tmp_path: Path):
    topic = HOSTILE.replace("/", "")  # a topic may not hold it, but a foreign folder may
    run = Run(
        topic=topic, client=HOSTILE, manifest={"promise": HOSTILE, "versions": {HOSTILE: HOSTILE}, "options": {"x": HOSTILE}}
    )
    folder = write_run(tmp_path, run)
    folder.write_verdict(
        folder.verdict() | {"reasons": [HOSTILE], "expectations": [{"name": HOSTILE, "holds": None, "sentence": HOSTILE}]}
    )
    page = write_report(folder).read_text()
    seen = Seen(page)

    assert seen.count("script") == 2 and seen.count("img") == 0
    assert HOSTILE in seen.text
    assert "alert(1)</script>" not in page


def test_secrets_of_the_configuration_are_not_shown(failed: RunFolder):
    assert "hunter2" not in write_report(failed).read_text()


def test_configuration_shows_what_matters_and_what_differs(failed: RunFolder):
    shown = {(row[0], row[1]) for row in tables.config(failed.manifest()).rows}

    assert ("every broker", "broker.session.timeout.ms") in shown
    assert {("broker 1", "node.id"), ("broker 3", "node.id")} <= shown
    assert not any(key == "num.io.threads" for _, key in shown)


@pytest.mark.slow
def test_an_unfinished_run_is_refused_in_a_sentence(tmp_path: Path):
    folder = write_run(tmp_path)
    (folder.path / "verdict.json").unlink()

    with pytest.raises(UsageError, match=r"verdict\.json is missing"):
        write_report(folder)
    assert not folder.report.exists()


@pytest.mark.slow
def test_a_broken_ledger_is_refused_in_a_sentence(tmp_path: Path):
    folder = write_run(tmp_path)
    (folder.ledger / "part-1.parquet").write_bytes(b"PAR1 and no more")

    with pytest.raises(UsageError, match=r"part-1\.parquet cannot be read"):
        write_report(folder)


def test_an_empty_ledger_gives_a_page_that_says_so(tmp_path: Path):
    seen = Seen(write_report(write_run(tmp_path, rows=[])).read_text())

    assert "The ledger is empty" in seen.text and "INCONCLUSIVE" in seen.text
    assert not any("chart" in (attrs.get("class") or "") for _, attrs in seen.tags)


@pytest.mark.slow
def test_a_folder_with_the_least_a_check_needs_has_a_page(tmp_path: Path):
    folder = write_run(tmp_path, Run(files=1))
    folder.events_file.write_text("")
    folder.write_manifest({"run_id": "x", "scenario": "by-hand"})
    folder.write_verdict({"verdict": "PASS"})

    assert "by-hand" in Seen(write_report(folder).read_text()).text


@pytest.mark.slow
def test_the_page_stays_small_whatever_the_number_of_partitions_and_events(tmp_path: Path):
    folder = write_run(tmp_path, Run(partitions=60, rate=10))
    many = [{"t_ns": ns(5 + number / 10_000), "event": "health", "clause": "x" * 50} for number in range(20_000)]
    with folder.events_file.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in many)

    page = write_report(folder).read_text()

    assert len(page) < 2_500_000
    assert "of 60 partitions are drawn" in page and "more are in events.jsonl" in page


def test_every_chart_has_words_for_those_who_do_not_see_it(failed: RunFolder):
    charts = [attrs for tag, attrs in Seen(write_report(failed).read_text()).tags if tag == "svg" and "role" in attrs]

    assert len(charts) == 2 * 7  # rates, latency, leaders, three partitions, consumers; for two widths
    assert all(len(attrs["aria-label"] or "") > 30 and attrs["tabindex"] == "0" for attrs in charts)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs"), Run(rate=2, files=1))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("config", "options", "topics", "versions", "schedule", "brokers", "started", "seed", "kafka", "promise", "clients")
EVENTS = ("partition", "phase", "controller", "brokers", "health", "expectation", "mine")
FACTS = ("topic", "partition", "leader", "isr", "replicas", "phase", "node", "sentence")


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from(KEYS), ANYTHING),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.dictionaries(st.sampled_from(FACTS), ANYTHING, max_size=5)), max_size=8),
)
@settings(max_examples=20)
def test_what_others_add_to_a_folder_in_their_own_shape_does_no_harm(
    foreign: RunFolder, more: dict[str, Any], told: list[tuple[str, dict[str, Any]]]
):
    """The contract lets anyone add keys and events of their own."""
    foreign.write_manifest({"run_id": "x", "scenario": "s", "permitted": []} | more)
    lines = [json.dumps({"t_ns": ns(number), "event": name} | facts) for number, (name, facts) in enumerate(told)]
    foreign.events_file.write_text("".join(line + "\n" for line in lines))

    assert "</html>" in write_report(foreign).read_text()
    assert verdict_block(foreign.verdict(), foreign.manifest())
