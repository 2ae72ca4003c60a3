"""The summary for a chat: short, and no name of a run can break out of its place."""

import re

import pytest

from spark_reports.contents import Report
from spark_reports.site.markdown import code, escaped, markdown
from tests.pure.nightly_example import example_report

CALM = example_report(
    nights=2, regressed=False, flaky=False, failing=False, never=False, watched=False, unreadable=0, clashes=0
)  # fmt: skip


def test_it_says_what_is_worse_what_failed_and_where():
    report = example_report(nights=4)
    said = markdown(report)
    lines = said.splitlines()

    assert lines[0] == "### ❌ leader-election takes 14.6 s to recover on 4.3.1, before 9.1 s. And 1 more got worse."
    for sentence in (
        "storm fails on 3.9.1",
        "before 0 of 76 failed",
        "2 INCONCLUSIVE, 2 PASS",
        "2 folders could not be read",
    ):
        assert sentence in said
    broken = next(run for run in report.runs if run.current and run.scenario == "storm" and run.counts["lost-write"])
    assert f"<code>{broken.folder}</code>".replace("_", "&#95;") in said
    assert said.index("**storm**") < said.index("FAIL, as before **acks-exposure**")


def test_it_stays_quiet_about_what_there_is_none_of():
    said = markdown(CALM)

    assert said.startswith("### ✅ Nothing got worse")
    for heading in ("Worse than before", "Did not pass", "Flaky", "Not counted"):
        assert heading not in said


def test_a_table_of_verdicts_and_medians():
    rows = [line for line in markdown(example_report(nights=4)).splitlines() if line.startswith("| ")]

    assert len(rows) == 2 + 6 and rows[3].startswith("| acks-exposure | 8 | 8 | 0 | 4.")
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


@pytest.mark.parametrize(
    "name", ["a|b", "a\nb", "<b>x</b>", "[x](http://evil)", "`x`", "# x", "- x", "1. x", "@someone", "$x$", "a\\"]
)
def test_no_name_breaks_out_of_its_place(name: str):
    said = markdown(example_report(names=(name,), versions=(name,), nights=2, sentence=name))
    rows = [line for line in said.splitlines() if line.startswith("| ")]

    assert len(rows) == 3 and {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {7}
    assert (
        "<b>" not in said
        and not re.search(r"(?<!\\)\]\(", said)
        and "://" not in said
        and "@someone" not in said
        and "$x" not in said
    )
    assert len(said.splitlines()) == len(markdown(example_report(names=("plain",), versions=("1",), nights=2)).splitlines())


def test_plain_words_stay_as_they_are():
    assert escaped("leader-election (acks=all): 9.1 s, 50 % #1") == "leader-election (acks=all): 9.1 s, 50 % #1"
    assert [escaped(text) for text in ("4.3.1", "14.5 s (n = 6)", "-5 s", "#1")] == ["4.3.1", "14.5 s (n = 6)", "-5 s", "#1"]
    assert [escaped(text) for text in ("- x", "# x", "12. x")] == ["\\- x", "\\# x", "12\\. x"]
    assert (
        code("/runs/a-b/1") == "<code>/runs/a-b/1</code>"
        and code("a`|</code>b") == "<code>a&#96;&#124;&#60;/code&#62;b</code>"
    )


@pytest.mark.slow
def test_it_is_never_longer_than_sixty_lines():
    names = [f"scenario-{number}" for number in range(80)]
    crowd = example_report(nights=1, baseline=False, names=(*names, "storm", "acks-exposure", "idempotence"), repeats=6)
    worse = example_report(nights=2).regressions * 40
    flaky = example_report(nights=2).flaky * 40
    said = markdown(
        Report.model_validate({**crowd.model_dump(), "regressions": worse, "flaky": flaky, "headline": "x\n" * 900})
    )

    assert said.index("| acks-exposure") < said.index("| scenario-0")  # what did not pass is not what is left out
    assert len(said.splitlines()) <= 60 and "and 65 scenarios more" in said and "and 72 more" in said
