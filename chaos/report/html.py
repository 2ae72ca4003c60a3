"""Writes report.html: one file that shows the run, opens from a disk without a network, and asks nobody for anything.

Its policy forbids every request and every script and style but its own two, so that no text of a run can become code.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from chaos.evidence.folder import RunFolder
from chaos.report import figures, tables, timeline
from chaos.report.buckets import Buckets, filled
from chaos.report.charts.backdrop import Backdrop
from chaos.report.rows import batches, span
from chaos.report.words import WITHOUT, clean, gap_of, longest_gap, lost, seconds, setting

TEMPLATES = Path(__file__).parent / "templates"
MARKS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?"}


def write_report(folder: RunFolder) -> Path:
    manifest, verdict, events = folder.manifest(), folder.verdict(), folder.events()
    buckets, clock = _summed(folder, events)
    page = rendered(manifest, verdict, events, buckets, clock, folder.path)
    draft = folder.report.with_name(f".{folder.report.name}.new")
    draft.write_text(page, encoding="utf-8", errors="replace")  # JSON may hold half a character, a page may not
    draft.rename(folder.report)  # whole or not at all: somebody may be looking
    return folder.report


def rendered(
    manifest: dict[str, Any],
    verdict: dict[str, Any],
    events: list[dict[str, Any]],
    buckets: Buckets | None,
    clock: timeline.Clock,
    path: Path,
) -> str:
    faults = timeline.faults(events, clock)
    style, script = _asset("report.css"), _asset("report.js")
    recovery, untouched = tables.recovery(verdict)
    drawn = _figures(verdict, events, faults, buckets, clock) if buckets else {}
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            style=style,
            script=script,
            policy=_policy(style, script),
            manifest=manifest,
            verdict=verdict,
            mark=MARKS.get(verdict.get("verdict", ""), "?"),
            facts=_facts(manifest, verdict),
            tiles=_tiles(verdict, buckets),
            faults=faults,
            drawn=drawn,
            readouts={one.id: one.readout for one in _flat(drawn) if one.readout},
            findings=tables.findings(verdict),
            recovery=recovery,
            untouched=untouched,
            bounds=tables.bounds(verdict),
            latency=tables.latency(verdict),
            expectations=tables.expectations(verdict),
            contract=tables.contract(verdict),
            config=tables.config(manifest),
            clients=tables.clients(manifest),
            schedule=tables.schedule(manifest),
            events=tables.events(events, clock),
            events_left_out=max(0, len(events) - tables.MOST_EVENTS),
            again=tables.again(path, manifest),
        )
    )


def _summed(folder: RunFolder, events: list[dict[str, Any]]) -> tuple[Buckets | None, timeline.Clock]:
    """The page's time begins with the first row of a client: starting brokers is not what it is about."""
    known = span(folder.ledger)
    if known is None:
        begin = events[0]["t_ns"] if events else 0
        return None, timeline.Clock(begin, max(1e-3, (events[-1]["t_ns"] - begin) / 1e9) if events else 1.0)
    begin, end = known
    end = max([end, *(event["t_ns"] for event in events if event["event"] in ("fault", "heal", "partition"))])
    end = min([end, *(_soon_after(event["t_ns"], begin) for event in events if event.get("phase") == "drain")])
    buckets = filled(begin, end, batches(folder.ledger))
    return buckets, timeline.Clock(begin, max((end - begin) / 1e9, buckets.width_s))


def _soon_after(drain: int, begin: int) -> int:
    """Reading everything back may take as long as the run, and there is nothing to see in it."""
    return drain + max(10**9, (drain - begin) // 20)


def _figures(
    verdict: dict[str, Any],
    events: list[dict[str, Any]],
    faults: list[timeline.Fault],
    buckets: Buckets,
    clock: timeline.Clock,
) -> dict[str, list[figures.Figure]]:
    leads = timeline.leaderships(events, clock)
    elections, controllers = timeline.leader_changes(leads), timeline.controller_changes(events, clock)
    backdrop = Backdrop(timeline.phases(events, clock), faults, elections, controllers)
    held = timeline.holdings(buckets.changes, clock)
    return {
        "over_time": [figures.rates(buckets, clock, backdrop), figures.latencies(buckets, clock, backdrop)],
        "leaders": [figures.leaders(leads, buckets, verdict, faults, clock, backdrop)] if leads else [],
        "positions": figures.positions(buckets, verdict, clock, backdrop),
        "consumers": [figures.consumers(held, clock, backdrop)] if held else [],
    }


def _flat(drawn: dict[str, list[figures.Figure]]) -> list[figures.Figure]:
    return [one for group in drawn.values() for one in group]


def _facts(manifest: dict[str, Any], verdict: dict[str, Any]) -> list[tuple[str, str]]:
    named = [
        ("run", verdict.get("run_id") or manifest.get("run_id")),
        ("started", clean(manifest.get("started") or "")[:19].replace("T", " ")),
        ("Kafka", manifest.get("kafka")),
        ("provider", manifest.get("provider")),
        ("with", ", ".join(setting(manifest))),
        ("settings", manifest.get("settings")),
        ("seed", manifest.get("seed")),
        ("judged by", f"{verdict['engine']} engine, {verdict.get('rows', '?')} rows" if verdict.get("engine") else None),
    ]
    return [(name, str(value)) for name, value in named if value not in (None, "")]


def _tiles(verdict: dict[str, Any], buckets: Buckets | None) -> list[tuple[str, str, str, str]]:
    """Figure, what it is, a word more, and whether it is bad."""
    gap, gone = longest_gap(verdict), lost(verdict)
    more = f"without {WITHOUT.get(str(gap.get('kind')), 'success')}" if gap else ""
    more += "" if not gap or gap.get("bound_s") is None else f", bound {seconds(gap['bound_s'])}"
    tiles = [
        (_grouped(verdict.get("acknowledged")), "acknowledged", "", ""),
        (_grouped(verdict.get("read")), "read", "", ""),
        (_grouped(gone), "lost", "acknowledged, and gone" if gone else "", "bad" if gone else ""),
        (gap_of(gap) if gap else "–", "longest gap", more, "bad" if gap and gap.get("within") is False else ""),
    ]
    if buckets and buckets.unknown:
        tiles.insert(2, (_grouped(buckets.unknown), "unknown", "may be in the log, or not", ""))
    return tiles


def _grouped(number: object) -> str:
    return f"{number:,}".replace(",", "\u202f") if isinstance(number, int) else "–"


def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)


def _asset(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704  (a file of ours)


def _policy(style: str, script: str) -> str:
    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {allowed(str(style))}; script-src {allowed(str(script))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
