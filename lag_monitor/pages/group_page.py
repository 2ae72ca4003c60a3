"""One group: what is said of it and why, and each of its partitions, the gravest first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel.errors import UsageError
from lag_monitor.answers import Verdicts
from lag_monitor.pages import words
from lag_monitor.pages.addresses import encoded, group_page, with_query
from lag_monitor.pages.incident_rows import open_incidents
from lag_monitor.pages.rendering import rendered
from lag_monitor.pages.selection import cut, whole
from lag_monitor.pages.sparkline import Sparkline, sparkline
from lag_monitor.verdict import Gravity, GroupVerdict, PartitionVerdict, differ

PER_PAGE = 200


@dataclass(frozen=True, slots=True)
class PartitionRow:
    verdict: PartitionVerdict
    spark: Sparkline
    since: str
    differs: bool
    evidence: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str
    more: str = ""  # shown when it is pointed at
    bad: bool = False


def one_group_page(
    verdicts: Verdicts,
    incidents: Iterable[Mapping[str, Any]],
    cluster: str,
    group: str,
    now: float,
    *,
    page: str = "",
    refresh: str = "",
) -> tuple[int, str]:
    known = verdicts.group(cluster, group)
    if known is None:
        return 404, lost_page(f"Cluster {cluster!r} has no group {group!r}, or has not been asked for it yet.")
    try:
        number = whole(page, "page", default=1, least=1, most=10**7)
    except UsageError:
        number = 1
    shown, place = cut(known.partitions, (number - 1) * PER_PAGE, PER_PAGE)
    here, kept = group_page(cluster, group), "0" if refresh == "0" else ""
    counts = Counter(one.status for one in known.partitions)
    return 200, rendered(
        "group.html.j2",
        title=f"{words.word(known.status)}: {known.group} · {known.cluster} · lag",
        group=known,
        differs=differ(known.status, known.burrow),
        facts=_facts(known, now),
        counts=sorted(counts.items(), reverse=True),
        home=with_query("/", refresh=kept),
        cluster_href=with_query("/", cluster=cluster, refresh=kept),
        api=f"/api{here}",
        burrow=f"/v3/kafka/{encoded(cluster)}/consumer/{encoded(group)}/lag",
        incidents=open_incidents((one for one in incidents if _of(one, cluster, group)), now),
        rows=[_row(one, now) for one in shown],
        place=place,
        before=with_query(here, page=str(number - 1) if number > 2 else "", refresh=kept) if number > 1 else "",
        after=with_query(here, page=str(number + 1), refresh=kept) if place.offset + PER_PAGE < place.total else "",
        paused=bool(kept),
        toggle=with_query(here, page=page, refresh="" if kept else "0"),
        judged=words.ago(known.at, now),
    )


def lost_page(sentence: str) -> str:
    return rendered("lost.html.j2", title="Nothing here · lag", sentence=sentence, paused=True)


def _of(incident: Mapping[str, Any], cluster: str, group: str) -> bool:
    return incident.get("cluster") == cluster and incident.get("group") == group


def _facts(one: GroupVerdict, now: float) -> list[Fact]:
    late = one.slo is not None and one.seconds is not None and one.seconds > one.slo
    promised = f"{words.duration(one.slo)} promised" if one.slo is not None else ""
    facts = [
        Fact("lag", words.grouped(one.lag), "records behind, all partitions together"),
        Fact("behind", words.duration(one.seconds), promised or "age of the oldest record that is still to be read", late),
        Fact("promised", words.duration(one.slo), "how far behind it may be") if one.slo is not None else None,
        Fact("members", words.grouped(one.members)),
        Fact("partitions", words.grouped(one.partition_count or len(one.partitions))),
        Fact("since", words.ago(one.since, now), words.absolute(one.since)),
        Fact("state", one.state) if one.state else None,
        Fact("kind", one.kind) if one.kind else None,
        Fact("Burrow says", one.burrow.name, bad=differ(one.status, one.burrow)),
    ]
    return [fact for fact in facts if fact]


def _row(one: PartitionVerdict, now: float) -> PartitionRow:
    grave = one.status.gravity >= Gravity.NOTE
    told = [(name.replace("_", " "), _told(value)) for name, value in one.evidence.items()] if grave else []
    return PartitionRow(one, sparkline(one.samples), words.ago(one.since, now), differ(one.status, one.burrow), told)


def _told(value: float | int | str | None) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return words.NONE if value is None else str(value)
    return words.grouped(value) if isinstance(value, int) else f"{value:.6g}"
