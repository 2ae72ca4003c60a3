"""docs/semantics.md from the tables of real runs: setting → what Kafka promises → what it permits → what was seen.

Pure. Runs that were held to a claim of another than Kafka are left out: what they were told is wrong on purpose.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chaos.contract import CLAUSES, LOSS
from chaos.matrix import COMBINATIONS, Combination

Run = Mapping[str, Any]  # what a matrix.json holds, and the verdict of its run
Fault = tuple[str, str]  # Kafka's version, what was done

WORDS = {
    "kill-exposed": "The followers stop hearing from the leader while they count as in sync, N records reach the leader "
    "alone, and it is killed (SIGKILL).",
    "clean-kill": "The leader is killed (SIGKILL) in the middle of traffic, while its followers keep up. Nothing is exposed "
    "on purpose: what is under way at that moment is lost, or sent again, by chance.",
    "unclean": "Both followers are stopped, one after the other. N records reach the leader alone, it is stopped too, and "
    "the follower that was last in sync comes back before everybody else does.",
    "lost-acks": "The leader appends N records, and its acknowledgements are swallowed on their way back. Then connections "
    "are closed, and a producer that can sends again.",
}
SETTINGS = ("acks", "enable.idempotence", "min.insync.replicas", "unclean.leader.election.enable")
INTRODUCTION = """\
# Delivery semantics, as observed

Which settings lose records, or have them twice? Every figure here was seen in a run of `kafka-trial run
delivery-matrix`; this page is made from the `matrix.json` of those runs and is not edited by hand.

In each run sixteen topics are led by one broker and hit by one fault at the same moment: four ways to send (acks
0, 1, all, and all with idempotence, which needs acks=all), min ISR 1 or 2, unclean election off or on; three
replicas each. *Exposed* are the records that a schedule puts at risk on purpose. *Lost*: acknowledged (at acks=0:
counted as sent), and not in the log at the end. *Twice*: in the log at two offsets. What a combination *permits*
comes from [chaos/contract.py](../chaos/contract.py), and a run in which a topic shows anything else fails. Where
runs differ, their figures stand in the order of the runs."""


def semantics_page(runs: Iterable[Run]) -> str:
    """Empty if no run was held to what Kafka itself claims."""
    known = [run for run in runs if run["claim"] == "kafka"]
    faults: dict[Fault, list[Run]] = {}
    if not known:
        return ""
    for run in known:
        faults.setdefault((run["kafka"], run["fault"]), []).append(run)
    order = sorted(faults, key=lambda fault: (fault[0], list(WORDS).index(fault[1])))
    parts = [INTRODUCTION, _promises(), _overview({fault: faults[fault] for fault in order})]
    return "\n\n".join([*parts, *(_section(fault, faults[fault]) for fault in order)]) + "\n"


def _promises() -> str:
    rows = [
        (f"`{setting}={value}`", clause.promise, _names(clause.leaves_room))
        for setting in SETTINGS
        for value in dict.fromkeys(combination.settings[setting] for combination in COMBINATIONS)
        if (clause := CLAUSES[setting](value))
    ]
    return "## What each setting promises\n" + _table(("setting", "Kafka promises", "leaves room for"), rows)


def _overview(faults: Mapping[Fault, Sequence[Run]]) -> str:
    titles = [f"{name} (Kafka {kafka})" for kafka, name in faults]
    rows = [
        (*_settings(one), *(_outcome([_row(run, one) for run in runs]) for runs in faults.values())) for one in COMBINATIONS
    ]
    return "## In short\n" + _table(("acks", "idempotence", "min ISR", "unclean", *titles), rows)


def _section(fault: Fault, runs: Sequence[Run]) -> str:
    kafka, name = fault
    titles = (
        "acks", "idempotence", "min ISR", "unclean", "promised", "permitted", "acknowledged", "exposed",
        "the schedule decides", "lost", "twice", "anomalies seen",
    )  # fmt: skip
    rows = [_line(one, [_row(run, one) for run in runs]) for one in COMBINATIONS]
    told = [f"- {line}" for line in map(_told, runs)]
    return "\n".join([f"## {name}, Kafka {kafka}", WORDS[name], "", *told, "", _table(titles, rows)])


def _told(run: Run) -> str:
    elr = "with" if run["elr"] else "without"
    return (
        f"run `{run['run_id']}` of {str(run['started'])[:10]}: {run['verdict']}, settings {run['settings']}, "
        f"{elr} eligible leader replicas, librdkafka {run['librdkafka']}"
    )


def _line(one: Combination, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    permitted = rows[0]["permitted"]
    acknowledged, exposed, lost, twice = (
        _figures(row[name] for row in rows) for name in ("acknowledged", "exposed", "lost", "twice")
    )
    return (
        *_settings(one), _promise(permitted), _names(permitted), acknowledged, exposed, _decided(rows[0]["decided"]),
        lost, twice, _anomalies(rows),
    )  # fmt: skip


def _row(run: Run, one: Combination) -> Mapping[str, Any]:
    wanted = {"acks": one.acks, "idempotence": one.idempotence, "min_isr": one.min_isr, "unclean": one.unclean}
    return next(row for row in run["rows"] if row["combination"] == wanted)


def _settings(one: Combination) -> tuple[str, ...]:
    on = {True: "on", False: "off"}
    return (one.acks, on[one.idempotence], str(one.min_isr), on[one.unclean])


def _promise(permitted: Iterable[str]) -> str:
    room = set(permitted)
    kept = "may be lost" if room & LOSS else "not lost"
    return f"{kept}, {'may be there twice' if 'duplicate' in room else 'there once'}"


def _decided(outcome: Mapping[str, bool | None]) -> str:
    def told(what: str) -> str:
        return {True: f"exactly these {what}", False: f"none {what}", None: f"{what} by chance"}[outcome[what]]

    return f"{told('lost')}, {told('twice')}"


def _outcome(rows: Sequence[Mapping[str, Any]]) -> str:
    """The two figures that matter, of how many that were exposed; nothing to tell if neither was seen."""
    told = [f"{_figures(row[what] for row in rows)} {what}" for what in ("lost", "twice") if any(row[what] for row in rows)]
    exposed = _figures(row["exposed"] for row in rows)
    return (", ".join(told) + (f" of {exposed}" if exposed != "0" else "")) if told else "–"


def _anomalies(rows: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(name for row in rows for name in row["observed"])
    seen = [f"{_figures(row['observed'].get(name, 0) for row in rows)} {name}" for name in names]
    forbidden = sorted(set(names) - set(rows[0]["permitted"]))
    return (", ".join(seen) or "none") + (f"; **not permitted: {', '.join(forbidden)}**" if forbidden else "")


def _figures(counts: Iterable[int]) -> str:
    """One figure if all runs agree, else each run's own, in the order in which the runs are listed."""
    known = list(counts)
    return str(known[0]) if len(set(known)) == 1 else " / ".join(map(str, known))


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def lines() -> Iterator[Sequence[str]]:
        yield titles
        yield ["---"] * len(titles)
        yield from rows

    return "\n".join(f"| {' | '.join(line)} |" for line in lines())
