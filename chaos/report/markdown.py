"""Verdicts as Markdown, for $GITHUB_STEP_SUMMARY: a table of all runs, then what did not pass in full."""

import re
from typing import Any

from chaos.report.block import verdict_block
from chaos.report.words import clean, gap_of, longest_gap, lost

MARKS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}
HEAD = ["", "scenario", "run", "acknowledged", "lost", "longest gap", "why"]
SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~-])")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
Verdict = dict[str, Any]


def markdown_summary(verdicts: list[Verdict]) -> str:
    rows = [HEAD, ["---"] * len(HEAD), *(_row(run) for run in verdicts)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    details = [_details(run) for run in verdicts if run.get("verdict") != "PASS"]
    return "\n\n".join([f"### {_tally(verdicts)}", table, *details]) + "\n"


def _tally(verdicts: list[Verdict]) -> str:
    names = [str(run.get("verdict")) for run in verdicts]
    counts = [f"{names.count(name)} {name}" for name in MARKS if name in names]
    return f"kafka-trial: {', '.join(counts) or 'no run'}"


def _row(run: Verdict) -> list[str]:
    gap = longest_gap(run)
    acknowledged = run.get("acknowledged")
    why = "<br>".join(escaped(reason) for reason in run.get("reasons") or ())
    mark = f"{MARKS.get(str(run.get('verdict')), '❔')} {escaped(run.get('verdict', ''))}"
    figures = ["–" if acknowledged is None else str(acknowledged), str(lost(run)), gap_of(gap) if gap else "–"]
    return [mark, escaped(run.get("scenario") or "run"), escaped(run.get("run_id", "")), *figures, why]


def _details(run: Verdict) -> str:
    """As preformatted HTML, which needs no fence that the text could close."""
    block = "\n".join(_entities(line) for line in verdict_block({"verdict": "?", **run}, {}).split("\n"))
    name = f"{run.get('scenario') or 'run'} {run.get('run_id', '')}"
    return f"<details open><summary>{_entities(clean(name))}</summary>\n\n<pre>\n{block}\n</pre>\n</details>"


def escaped(text: object) -> str:
    """Plain text inside a table cell: no new column, no new line, no link, no tag."""
    return SPECIAL.sub(r"\\\1", _entities(clean(text)))


def _entities(text: str) -> str:
    return "".join(ENTITIES.get(letter, letter) for letter in text)
