"""The nightly report's pages: whole, linked, escaped, and silent about nothing that the report says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spark_reports import contents as c
from spark_reports.site.draw import draw
from spark_reports.site.words import median, p95, share
from tests.pure.nightly_example import CONFIG, LAST, TWIN, example_report

HOSTILE = "<script>alert(1)</script>'\"&|` ../../etc\x00\u202e"
EMPTY = example_report(
    names=(), regressed=False, flaky=False, failing=False, watched=False, unreadable=0, clashes=0, baseline=False
)
QUIET = {
    "regressed": False,
    "flaky": False,
    "failing": False,
    "never": False,
    "watched": False,
    "unreadable": 0,
    "clashes": 0,
}


def drawn(folder: Path, report: c.Report) -> Path:
    draw(report, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def report() -> c.Report:
    return example_report(nights=8)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, report: c.Report) -> Path:
    return drawn(tmp_path_factory.mktemp("rich"), report)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn(tmp_path_factory.mktemp("quiet"), example_report(nights=4, **QUIET))  # type: ignore[arg-type]


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def tree(page: Path) -> ElementTree.Element:
    return ElementTree.fromstring(page.read_text())  # noqa: S314  (our own page)


def text(page: Path) -> str:
    """As somebody reads it: without what is in the head and in scripts."""
    body = tree(page).find("body")
    assert body is not None
    for script in body.findall("script"):
        body.remove(script)
    return " ".join("".join(body.itertext()).split())


def having(page: Path, look: str) -> list[ElementTree.Element]:
    return [one for one in tree(page).iter() if look in one.get("class", "").split()]


def section(page: Path, name: str) -> str:
    (found,) = [one for one in tree(page).iter("section") if one.get("aria-labelledby") == name]
    return " ".join("".join(found.itertext()).split())


def of(site: Path, run: c.Run) -> Path:
    return site / "runs" / f"{run.key.replace('/', '_')}.html"


def test_there_is_a_page_for_all_and_for_each(site: Path, report: c.Report):
    assert {page.name for page in (site / "scenarios").iterdir()} == {f"{one.name}.html" for one in report.scenarios}
    assert set((site / "runs").iterdir()) == {of(site, run) for run in report.runs}
    assert {one.name for one in site.iterdir()} == {"index.html", "scenarios", "runs", "report.json", "summary.md"}


def test_the_document_beside_the_pages_is_the_report_itself(site: Path, report: c.Report):
    assert c.Report.model_validate_json((site / "report.json").read_text()) == report


@pytest.mark.slow
@pytest.mark.parametrize("made", [EMPTY, example_report(nights=3), example_report(nights=1, baseline=False)])
def test_pages_are_well_formed_and_their_links_lead_somewhere(tmp_path: Path, made: c.Report):
    site = drawn(tmp_path, made)

    assert list(dead_links(site)) == []


def dead_links(site: Path) -> Iterator[str]:
    for page in pages(site):
        root = tree(page)
        ids = {one.get("id") for one in root.iter()}
        for anchor in root.iter("a"):
            address = str(anchor.get("href"))
            if anchor.get("class") == "own":
                continue  # the run's own report, which lies outside the site
            if address.startswith("#"):
                if address[1:] not in ids:
                    yield f"{page.name}: {address}"
            elif not (page.parent / address).is_file():
                yield f"{page.name}: {address}"


def test_a_dead_link_would_be_noticed(tmp_path: Path):
    (tmp_path / "index.html").write_text('<html><body><a href="gone.html">x</a><a href="#nowhere">y</a></body></html>')

    assert list(dead_links(tmp_path)) == ["index.html: gone.html", "index.html: #nowhere"]


def test_no_page_asks_for_anything_outside_itself(site: Path):
    for page in [site / "index.html", *pages(site / "scenarios"), *pages(site / "runs")[:20]]:
        source = page.read_text()
        loaded = {one.tag for one in tree(page).iter()} & {
            "img",
            "iframe",
            "object",
            "embed",
            "audio",
            "video",
            "source",
            "use",
        }
        addresses = [str(one.get(name)) for one in tree(page).iter() for name in ("href", "src", "action") if one.get(name)]
        assert loaded == set() and not re.search(r"://|url\(|@import", source)
        assert [one for one in addresses if not re.match(r"[\w./#-]+$|data:,$", one)] == []
        assert "default-src 'none'" in unescape(source)


def test_identifiers_are_used_once(site: Path):
    for page in [site / "index.html", *pages(site / "scenarios")]:
        ids = [one.get("id") for one in tree(page).iter() if one.get("id")]
        assert len(ids) == len(set(ids))


def test_the_headline_comes_first_and_has_a_colour_and_a_sign(site: Path, quiet: Path, report: c.Report):
    (banner,) = having(site / "index.html", "banner")
    assert banner.get("class") == "banner bad" and "".join(banner.itertext()).startswith(f"✗{report.headline}")

    (calm,) = having(quiet / "index.html", "banner")
    assert calm.get("class") == "banner good" and "".join(calm.itertext()).startswith("✓Nothing got worse")


def test_a_failure_that_nothing_can_be_compared_with_is_no_green_morning(tmp_path: Path):
    site = drawn(tmp_path, example_report(nights=1, baseline=False, regressed=False))

    assert having(site / "index.html", "banner")[0].get("class") == "banner unsure"
    assert "there is no baseline" in text(site / "index.html")
    assert "Baseline: none: no run of the 30 days before 2026-11-17 is known" in text(site / "index.html")


@pytest.mark.slow
def test_everything_that_is_worse_odd_or_missing_is_on_the_first_page(site: Path, report: c.Report):
    page = site / "index.html"
    failing = [run for run in report.runs if run.current and run.verdict != "PASS"]
    expected = {
        "regressions": [
            word for one in report.regressions for word in (one.sentence, one.now, one.before, "p < 0.001", "+0.98, large")
        ],
        "changes": report.changes,
        "failing": [word for run in failing for word in (run.folder, run.reasons[0], run.run_id)],
        "flaky": [
            word for one in report.flaky for word in (one.scenario, "2 INCONCLUSIVE", "2 PASS", one.runs[3].split("/")[-1])
        ],
        "anomalies": [word for one in report.anomalies for word in (f"{one.name} × {one.count}", one.sentence, one.folder)],
        "slowest": [f"{one.topic}-{one.partition}" for one in report.slowest] + ["≥ 24.0 s"],
        "costs": [word for one in report.costs for word in (one.kind, f"{one.scenario}{one.config}", median(one.spread))],
        "delays": ["STALLED", "UnderReplicatedPartitions", "6.8 s (6.4 to 7.0 s)"],
        "audits": ["producer → warehouse", "99.99 %", "the audit topic", "1 204 511"],
        "unreadable": [word for one in report.unreadable for word in (one.folder, one.sentence)],
        "clashes": [word for one in report.clashes for word in (one.key, *one.folders)],
        "baseline": [report.baseline_words, "392 runs"],
    }

    assert all(expected.values()), "the example must have something of each"
    for name, facts in expected.items():
        assert [fact for fact in facts if fact not in section(page, name)] == []
    assert "kafka-trial 0.1.0" in text(page)


def test_what_there_is_none_of_is_not_shown_as_an_empty_box(quiet: Path):
    page = quiet / "index.html"
    words = text(page)

    for heading in ("flaky", "anomalies", "unreadable", "clashes", "delays", "audits", "failing", "changes"):
        assert not [one for one in tree(page).iter("h2") if one.get("id") == heading]
    for sentence in (
        "No anomaly was found.",
        "No run was watched by a lag monitor.",
        "No run was audited.",
        "Nothing is worse",
    ):
        assert sentence in words
    assert not [table for table in tree(page).iter("tbody") if len(table) == 0]


def test_what_is_known_to_fail_is_folded_away(site: Path, report: c.Report):
    folded = " ".join("".join(one.itertext()) for one in tree(site / "index.html").iter("details"))
    known = [run for run in report.runs if run.current and run.config == TWIN]
    news = [run for run in report.runs if run.current and run.verdict == "FAIL" and run.config == CONFIG]

    assert known and all(run.folder in folded for run in known)
    assert news and not any(run.folder in folded for run in news)


def squares(page: Path) -> dict[tuple[str, int], tuple[str, str]]:
    (table,) = having(page, "heat")
    found = {}
    for row in table.findall("tbody/tr"):
        for number, cell in enumerate(row.findall("td")):
            inside = cell[0]
            found["".join(row[0].itertext()), number] = (
                (str(inside.get("class")).split()[1:][:1] or [""])[0],
                "".join(inside.itertext()),
            )
    return found  # type: ignore[return-value]


def test_the_heat_map_says_it_in_colour_sign_and_words(site: Path):
    found = squares(site / "index.html")

    assert [head.text for head in having(site / "index.html", "heat")[0].findall("thead/tr/th")] == [
        "scenario",
        "4.3.1",
        "3.9.1",
    ]
    assert found["leader-election", 0] == ("good", "✓ 100\u202f%4 of 4 passed")
    assert found["acks-exposure", 0] == ("known", "✗ 50\u202f%4 of 8 failed as before")
    assert found["idempotence", 1] == ("unsure", "? 75\u202f%1 of 4 inconclusive")
    assert found["storm", 1][0] == "bad" and found["storm", 1][1].startswith("✗ ")


def test_a_scenario_that_was_not_run_on_a_version_says_so(tmp_path: Path):
    made = example_report(nights=2, names=("storm", "idempotence"))
    less = made.scenarios[0].model_copy(update={"cells": made.scenarios[0].cells[:1]})
    site = drawn(tmp_path, made.model_copy(update={"scenarios": [less, made.scenarios[1]]}))

    assert squares(site / "index.html")["storm", 1] == ("", "not run")


def test_a_scenario_has_its_promise_its_figures_its_nights_and_its_worst_run(site: Path, report: c.Report):
    page = site / "scenarios" / "leader-election.html"
    words = text(page)
    scenario = report.scenarios[0]

    assert scenario.promise in words and scenario.worst and scenario.worst.run in words
    for cell in scenario.cells:
        figures = section(page, "versions")
        assert share(cell.availability).replace("\u202f", " ") in figures and median(cell.recovery) in figures
        assert f"{cell.passed} of {cell.runs}" in figures and p95(cell.recovery) in figures
    assert len(having(page, "worse")) == 1 + 2  # in the legend, and around the judged night on a desk and on a telephone
    assert "broker 2 is killed (SIGKILL): begins at 5.1 s, seen to bite at 5.2 s, healed at 25.1 s" in words
    assert "billing is STALLED on orders-0" in words and "broker 3 leads orders-0, epoch 7" in words


def test_what_a_scenario_cost_stands_on_its_page_by_configuration_and_nowhere_else(tmp_path: Path):
    made = example_report(nights=1, names=("storm", "idempotence"), baseline=False)
    ours = next(one for one in made.costs if one.scenario == "storm")
    costs = [ours, ours.model_copy(update={"config": TWIN, "kind": "stop-broker"})]
    site = drawn(tmp_path, made.model_copy(update={"costs": costs}))

    told = section(site / "scenarios" / "storm.html", "costs")
    assert f"kill-broker{CONFIG}" in told and f"stop-broker{TWIN}" in told and median(ours.spread) in told
    assert "What each fault and operation cost" not in text(site / "scenarios" / "idempotence.html")


def test_of_many_costs_the_rest_stands_on_the_pages_of_their_scenarios(tmp_path: Path):
    made = example_report(nights=1, names=("storm",), baseline=False)
    site = drawn(tmp_path, made.model_copy(update={"costs": made.costs * 103}))

    assert "3 more stand on the pages of their scenarios." in section(site / "index.html", "costs")


def test_trends_stand_with_what_is_worse_first_and_by_version(tmp_path: Path):
    made = example_report(nights=2, names=("leader-election",), versions=("3.9.1", "4.10.0", "4.3.1"))
    figures = list(tree(drawn(tmp_path, made) / "scenarios" / "leader-election.html").iter("figure"))
    told = [" ".join("".join(one[0].itertext()).split())[:30] for one in figures[:6]]

    assert [words.split(" acks=")[0].split("acks=")[0][:14] for words in told] == [
        "4.3.1 without ", "4.10.0 without", "3.9.1 without ", "4.10.0 without", "4.3.1 without ", "3.9.1 without ",
    ]  # fmt: skip


def test_what_is_not_so_is_not_drawn(quiet: Path):
    page = quiet / "scenarios" / "leader-election.html"

    assert len(having(page, "worse")) == 1  # in the legend
    assert [one for one in having(page, "never") if one.get("d", "").count("M") and len(one) == 1] == []
    assert "Worse than before" not in text(page) and "STALLED" not in text(page)


def test_runs_that_never_recovered_are_triangles_with_a_sentence(site: Path, report: c.Report):
    page = site / "scenarios" / "storm.html"
    stuck = [run for run in report.runs if run.scenario == "storm" and run.recovery_open]
    told = ["".join(one.itertext()) for one in having(page, "never") if len(one)]

    assert stuck and len(told) == 2 * len(stuck)  # for a desk and a telephone
    assert all("≥ 24.0 s" in words for words in told)


def test_without_a_baseline_there_is_no_band(tmp_path: Path, site: Path):
    bare = drawn(tmp_path, example_report(nights=1, baseline=False))

    assert (
        len(having(site / "scenarios" / "storm.html", "band")) > len(having(bare / "scenarios" / "storm.html", "band")) == 1
    )


def test_a_dot_leads_to_its_run(site: Path, report: c.Report):
    (chart, _) = [
        one
        for one in tree(site / "scenarios" / "storm.html").iter("svg")
        if one.find("a") is not None or one.find("g/a") is not None
    ]
    linked = {anchor.get("href") for anchor in chart.iter("a")}

    assert linked == {f"../runs/{run.key.replace('/', '_')}.html" for run in report.runs if run.scenario == "storm"}


@pytest.mark.slow
def test_of_many_runs_the_newest_are_listed_and_the_rest_is_counted(tmp_path: Path):
    made = example_report(nights=30, names=("storm",), repeats=4)
    page = drawn(tmp_path, made) / "scenarios" / "storm.html"
    listed = [anchor.text for anchor in tree(page).iter("a") if re.match(r"\d{4}-\d\d-\d\d \d", anchor.text or "")]

    when = [str(one)[:17] for one in listed]
    assert len(when) == 200 and when == sorted(when, reverse=True)
    assert "40 runs that are older still" in text(page) and "Runs 240" in text(page)


def test_a_run_shows_why_and_what_to_type(site: Path, report: c.Report):
    lost = next(run for run in report.runs if run.counts["lost-write"] and run.config == CONFIG)
    words = text(of(site, lost))

    assert "100 acknowledged records are lost." in words and "100 lost-write" in words and lost.findings[9] in words
    assert f"kafka-trial check {lost.folder}" in words
    assert (
        f"kafka-trial run storm -o acks=all -o how=kill --settings quick --brokers 3 --kafka 3.9.1 --seed {lost.seed}"
        in words
    )
    assert "broker 2 is killed (SIGKILL)" in words and "✓ within" in words and "✗ never" not in words


def test_a_run_that_never_recovered_says_never(site: Path, report: c.Report):
    stuck = next(run for run in report.runs if run.recovery_open)

    assert "✗ never" in text(of(site, stuck)) and "≥ 24.0 s" in text(of(site, stuck))


def test_a_run_leads_to_its_own_report_where_it_has_one(site: Path, report: c.Report):
    having_one, without = (next(run for run in report.runs if bool(run.report) is wanted) for wanted in (True, False))

    assert [one.get("href") for one in having(of(site, having_one), "own")] == [f"../{having_one.report}"]
    assert having(of(site, without), "own") == []


def test_an_address_from_a_foreign_file_is_only_ever_a_path(tmp_path: Path):
    made = example_report(nights=1, baseline=False, names=("storm",), versions=("4.3.1",), repeats=1)
    run = made.runs[0].model_copy(update={"report": 'javascript:alert(1)//"><b>'})
    page = of(drawn(tmp_path, made.model_copy(update={"runs": [run]})), run)

    assert [one.get("href") for one in having(page, "own")] == ["../javascript%3Aalert%281%29//%22%3E%3Cb%3E"]


def test_what_is_typed_again_cannot_become_another_command(tmp_path: Path):
    made = example_report(nights=1, baseline=False, names=("a; rm -rf ~",), versions=("4.3.1",), repeats=1)
    run = made.runs[0].model_copy(
        update={
            "config": "acks=$(id) · quick · 1 broker · processes · tls · linger.ms=5 · permitted: duplicate, lost-write",
            "folder": "/runs/o'clock",
        }
    )
    site = drawn(tmp_path, made.model_copy(update={"runs": [run]}))
    words = text(pages(site / "runs")[0])

    assert "kafka-trial run 'a; rm -rf ~' -o 'acks=$(id)' --settings quick --brokers 1 --provider processes " in words
    assert "--security tls --permit duplicate,lost-write --kafka 4.3.1 --seed 7" in words
    assert "add what stands for “linger.ms=5”" in words and "kafka-trial check '/runs/o'\"'\"'clock'" in words


def hostile() -> c.Report:
    made = example_report(
        names=(HOSTILE, "..", "a/b", "x" * 300), versions=(HOSTILE, "4.3.1"), nights=2, repeats=2, sentence=HOSTILE
    )
    runs = [
        run.model_copy(update={"folder": HOSTILE, "config": HOSTILE, "report": HOSTILE, "run_id": HOSTILE})
        for run in made.runs
    ]
    return made.model_copy(
        update={"headline": HOSTILE, "runs": runs, "baseline_words": HOSTILE, "made_by": HOSTILE, "changes": [HOSTILE]}
    )


def test_names_of_foreign_files_stay_text_and_inside_the_site(tmp_path: Path):
    site = drawn(tmp_path, hostile())

    assert [one.name for one in tmp_path.iterdir()] == ["site"]
    assert list(dead_links(site)) == [] and len(pages(site / "scenarios")) == 4
    for page in pages(site):
        assert len(list(tree(page).iter("script"))) == 1, "a script of a run got in"
        assert "\x00" not in page.read_text() and "\u202e" not in page.read_text()
    assert "<script>alert(1)</script>" in text(site / "index.html")


@pytest.mark.slow
def test_a_novel_in_a_file_does_not_become_the_page(tmp_path: Path):
    novel = "word " * 1000
    site = drawn(tmp_path, example_report(nights=2, sentence=novel))

    assert (site / "index.html").stat().st_size < 200_000 and "word word" in text(site / "index.html")
    assert novel.strip() in text(pages(site / "runs")[0])  # where there is room, all of it is told


def test_nothing_but_an_empty_report_has_its_page_too(tmp_path: Path):
    words = text(drawn(tmp_path, EMPTY) / "index.html")

    assert "No scenario was run in these nights." in words and "Compared with nothing" in words
    assert str(LAST) in words


@pytest.mark.slow
def test_pages_are_drawn_without_spark_and_numpy():
    code = "import sys, spark_reports.site.draw; print(sorted({'pyspark', 'numpy', 'chaos', 'pyarrow'} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_two_thousand_runs_have_a_page_each_and_no_page_is_large(tmp_path: Path):
    made = example_report(nights=25, repeats=6)
    assert len(made.runs) >= 2000
    site = drawn(tmp_path, made)

    assert len(pages(site / "runs")) == len(made.runs)
    assert max(page.stat().st_size for page in pages(site)) < 2_000_000


@pytest.mark.slow
def test_two_thousand_runs_in_one_night_leave_the_first_page_small(tmp_path: Path):
    made = example_report(nights=1, baseline=False, repeats=145)
    many = made.model_copy(update={"unreadable": [c.Unreadable(folder=f"/r/{n}", sentence="x" * 5000) for n in range(3000)]})
    assert len(many.runs) >= 2000
    from spark_reports.site.addresses import Addresses, Links
    from spark_reports.site.index_page import index_page
    from spark_reports.site.shelves import Shelves

    page = index_page(Shelves(many), Links(Addresses(many), ""))

    assert len(page.encode()) < 2_000_000 and "2900 more folders stand in report.json" in page


@pytest.mark.slow
def test_of_much_that_went_wrong_the_first_page_unfolds_some(tmp_path: Path):
    made = example_report(nights=1, baseline=False, names=("acks-exposure",), repeats=20)
    page = drawn(tmp_path, made) / "index.html"

    assert "25 more runs" in text(page) and "25 more anomalies" in text(page)
    assert all(run.folder in text(page) for run in made.runs if run.verdict == "FAIL")
