"""Compare what tiers have counted: which records are missing, which came twice. As a daemon, or once, as a report."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafka_trial.cli.options import AsJson
from kafka_trial.cli.screen import err, out, progress
from kernel.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from interceptors.audit.auditor import Auditor
    from interceptors.audit.reconcile import Judgement

audit = typer.Typer(help=__doc__, rich_markup_mode=None)
EXAMPLE = "docs/audit.md shows a file to start from."
Config = Annotated[Path | None, typer.Option("--config", help=f"A TOML file: which cluster, which tiers. {EXAMPLE}")]
Check = Annotated[bool, typer.Option("--check", help="Read the file and all it names, say whether it is right, and end.")]
SHOWN = 50  # buckets that are not complete


@audit.callback(invoke_without_command=True)
def watch(context: typer.Context, config: Config = None, check: Check = False) -> None:
    """Without a command: a daemon that reads the audit topic and tells Prometheus what is missing."""
    if context.invoked_subcommand is not None:
        if config is not None or check:
            raise UsageError(
                f"--config and --check belong behind the command: kafka-trial audit {context.invoked_subcommand} …"
            )
        return
    if config is None:
        raise UsageError(
            f"give a file with --config, or a command: kafka-trial audit report --bootstrap HOST:PORT. {EXAMPLE}"
        )
    from interceptors.audit.auditor import Auditor
    from interceptors.audit.reading import Reader
    from interceptors.audit.reconcile import Patience
    from kafka_trial.daemon.audit_config import AuditConfig
    from kafka_trial.daemon.audit_metrics import page
    from kafka_trial.daemon.audit_watching import AuditWatch
    from kafka_trial.daemon.config_file import address_of, load
    from kafka_trial.daemon.serving import entrance, log_to_stderr, serve, site

    wanted = load(config, AuditConfig)
    connection = address_of(wanted.kafka).librdkafka() | wanted.kafka.settings
    if check:
        entrance(wanted)
        err.print(f"{config} is right: topic {wanted.topic} on {wanted.kafka.bootstrap}.", markup=False)
        return
    log_to_stderr()
    auditor = Auditor(
        Patience(int(wanted.lateness * 1000)),
        [flow.wanted for flow in wanted.flow],
        settle_ms=int(wanted.settle_after * 1000),
        keep_ms=int(wanted.keep * 1000),
    )
    reader = Reader(connection, wanted.topic, wanted.since_ms)
    watching = AuditWatch(reader, auditor, judge_every=wanted.judge_every, ask_log_ends=wanted.ask_log_ends)
    here = site(wanted, lambda accept: page(watching.figures, accept), lambda: watching.ready)
    with watching:
        serve(here, lambda words: err.print(words, markup=False))


@audit.command()
def report(
    bootstrap: Annotated[
        str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="A cluster without a login.")
    ] = None,
    config: Config = None,
    topic: Annotated[str | None, typer.Option("--topic", help="The audit topic. [default: kafka-trial-audit]")] = None,
    lateness: Annotated[
        float | None, typer.Option("--lateness", min=0, help="Seconds until what is not there is late. [default: 60]")
    ] = None,
    within: Annotated[float, typer.Option("--within", min=0.1, help="Seconds to reach the end of the topic.")] = 120,
    as_json: AsJson = False,
) -> None:
    """Read the audit topic to its end, once. Exit code 0: all complete; 1: missing or extra; 3: it cannot be said."""
    from interceptors.audit.auditor import exit_code
    from kafka_trial.daemon.audit_once import audited, told_of

    wanted = told_of(bootstrap, config, topic, lateness)
    with progress(quiet=as_json) as say:
        say(f"reading {wanted.topic}")
        auditor = audited(wanted, within)
    if as_json:
        print(json.dumps(_as_json(auditor), indent=1))
    else:
        _print(auditor, wanted.topic)
    raise typer.Exit(exit_code(auditor.judgements))


def _print(auditor: "Auditor", topic: str) -> None:
    from interceptors.audit.reconcile import Verdict

    if not auditor.books.tiers:
        out.print(f"Nobody has reported to {topic}.", markup=False)
        return
    out.print(_table(auditor))
    bad = [one for one in auditor.judgements if one.verdict is not Verdict.COMPLETE]
    for one in sorted(bad, key=lambda one: -list(Verdict).index(one.verdict))[:SHOWN]:
        out.print(_line(one), markup=False)
    if len(bad) > SHOWN:
        out.print(f"… and {len(bad) - SHOWN} buckets more that are not complete.")
    for (name, role), alone in auditor.alone():
        out.print(f"{alone}: only the {role} {name} reports; there is nothing to compare it with.", markup=False)


def _table(auditor: "Auditor") -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    words = ("complete", "missing", "extra", "late", "pending", "uncertain", "unknown")
    table = Table("topic", "from", "to", *words, box=SIMPLE)
    for (topic, source, tier), found in sorted(auditor.sums().items()):
        table.add_row(topic, source, tier, *(str(found.outcomes.get(word, 0)) for word in words))
    return table


def _line(one: "Judgement") -> str:
    when = (
        datetime.fromtimestamp(one.start_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        if one.start_ms < 4e12
        else one.start_ms
    )
    words = [f"{one.verdict.upper():9} {one.topic}-{one.partition}  {when}  {one.records} from {one.flow.source},"]
    words.append(f"{one.counted} in {one.flow.tier[0]}")
    least = "" if one.exact else "at least "
    if one.missing:
        words.append(f"· {least}{one.missing} missing" + _places(one.missing_offsets))
    if one.extra:
        words.append(f"· {least}{one.extra} extra" + _places(one.extra_offsets))
    return " ".join(words) + (f" · {one.why}" if one.why else "")


def _places(offsets: tuple[int, ...]) -> str:
    """Neighbours as a stretch."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return " @ " + ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) if runs else ""


def _as_json(auditor: "Auditor") -> dict[str, Any]:
    from interceptors.audit.reconcile import Verdict

    flows = [
        {"topic": topic, "from": source, "to": tier, "records": found.outcomes, "buckets": found.verdicts}
        for (topic, source, tier), found in sorted(auditor.sums().items())
    ]
    buckets = [
        {
            "topic": one.topic, "partition": one.partition, "start_ms": one.start_ms, "from": one.flow.source,
            "to": one.flow.tier[0], "verdict": one.verdict, "sent": one.records, "counted": one.counted,
            "missing": one.missing, "extra": one.extra, "exact": one.exact, "missing_offsets": one.missing_offsets,
            "extra_offsets": one.extra_offsets, "why": one.why,
        }
        for one in auditor.judgements if one.verdict is not Verdict.COMPLETE
    ]  # fmt: skip
    alone = [{"tier": name, "role": role, "topic": topic} for (name, role), topic in auditor.alone()]
    return {"flows": flows, "not_complete": buckets, "alone": alone}
