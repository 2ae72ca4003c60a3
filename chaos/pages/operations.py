"""What operators' tasks cost, partition by partition: a table from the newest run of each. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from chaos.pages.told import Told
from chaos.report.words import place, seconds

HEAD = (
    "operation",
    "scenario",
    "without an acknowledgement, by partition",
    "bound",
    "99th percentile, in quiet → during",
    "run",
)


def operations_page(scenarios: Collection[str], runs: Sequence[Told]) -> str:
    """`runs` are newest first. Only those that passed count: what a task costs when it is done wrong is another question."""
    rows = []
    for name in scenarios:
        newest: dict[tuple[tuple[str, str], ...], Told] = {}
        for run in runs:
            if run.scenario == name and run.verdict.get("verdict") == "PASS":
                newest.setdefault(tuple(sorted(run.options.items())), run)
        for run in sorted(newest.values(), key=lambda run: sorted(run.options.items())):
            rows += _rows(run)
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEAD, ["---"] * len(HEAD), *rows)) + "\n"


def _rows(run: Told) -> list[list[str]]:
    kinds = {str(event["id"]): str(event["fault"]) for event in run.events if event["event"] == "fault" and "fault" in event}
    sends = [row for row in run.verdict.get("recovery") or () if row["kind"] == "send" and row.get("affected") is not False]
    rows = []
    for kind in dict.fromkeys(kinds.values()):
        ids = {fault for fault, of in kinds.items() if of == kind}
        mine = [row for row in sends if row["fault"] in ids]
        rows.append(
            [
                kind,
                _scenario(run),
                _gaps(mine, str(run.manifest.get("run_id"))),
                _bound(mine),
                _latency(run, ids),
                f"{run.day}, Kafka {run.kafka}",
            ]
        )
    return rows


def _scenario(run: Told) -> str:
    told = [f"{name}={value}" for name, value in run.options.items() if name not in ("rate", "size")]
    return f"`{run.scenario}`" + (f" {' '.join(told)}" if told else "")


def _gaps(rows: Sequence[Mapping[str, Any]], run_id: str) -> str:
    """The worst of each partition, where a task has several steps. On a shared cluster a topic bears its run's name too."""
    worst: dict[str, tuple[bool, float]] = defaultdict(lambda: (False, 0.0))
    for row in rows:
        where = place(str(row["topic"]).removesuffix(f"-{run_id}"), row["partition"])
        worst[where] = max(worst[where], (bool(row["censored"]), float(row["gap_s"])))
    told = [f"{where} {seconds(gap, censored=censored)}" for where, (censored, gap) in sorted(worst.items())]
    return "<br>".join(told) or "none touched"


def _bound(rows: Sequence[Mapping[str, Any]]) -> str:
    bounds = sorted({float(row["bound_s"]) for row in rows if row.get("bound_s") is not None})
    return " to ".join(seconds(bound) for bound in dict.fromkeys((bounds[0], bounds[-1]))) if bounds else "not judged"


def _latency(run: Told, ids: Collection[str]) -> str:
    rows = [row for row in run.verdict.get("latency") or () if row["fault"] in ids and row.get("during_p99_ms") is not None]
    if not rows:
        return "–"
    worst = max(rows, key=lambda row: float(row["during_p99_ms"]))
    quiet = "–" if worst.get("quiet_p99_ms") is None else f"{worst['quiet_p99_ms']:.0f} ms"
    return f"{quiet} → {worst['during_p99_ms']:.0f} ms"
