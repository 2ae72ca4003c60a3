"""The first page: the clusters and how they are, then every group, the gravest first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel.errors import UsageError
from lag_monitor.answers import ClusterSummary, Verdicts
from lag_monitor.pages import words
from lag_monitor.pages.addresses import encoded, group_page, with_query
from lag_monitor.pages.incident_rows import open_incidents
from lag_monitor.pages.rendering import rendered
from lag_monitor.pages.selection import Slice, Wanted, chosen, cut, gravest_first, statuses, whole
from lag_monitor.verdict import Gravity, GroupVerdict, Status, differ

PER_PAGE = 100
ATTENTION = "attention"  # beside the statuses: whatever somebody should look at


@dataclass(frozen=True, slots=True)
class Question:
    """What stands in the address. Kept as it was asked, so that every link can ask the same and one thing more."""

    q: str = ""
    status: str = ""
    cluster: str = ""
    page: str = ""
    refresh: str = ""

    @property
    def paused(self) -> bool:
        return self.refresh == "0"

    @property
    def filtered(self) -> bool:
        return bool(self.q or self.status or self.cluster)

    def address(self, **changes: str) -> str:
        asked = replace(self, **changes)
        refresh = "0" if asked.paused else ""
        return with_query("/", q=asked.q, status=asked.status, cluster=asked.cluster, page=asked.page, refresh=refresh)

    def wanted(self) -> Wanted:
        if self.status == ATTENTION:
            return Wanted(self.q, gravity=Gravity.WARNING)
        return Wanted(self.q, statuses([self.status]))


@dataclass(frozen=True, slots=True)
class ClusterCard:
    summary: ClusterSummary
    href: str
    state: str
    gravity: Gravity
    judged: str
    chips: Sequence[tuple[Status, int, str]]  # with where a click on it leads
    disagreements: str  # where they are told


@dataclass(frozen=True, slots=True)
class GroupRow:
    verdict: GroupVerdict
    href: str
    since: str
    differs: bool


def index_page(verdicts: Verdicts, incidents: Iterable[Mapping[str, Any]], asked: Question, now: float) -> tuple[int, str]:
    """Status and text. A filter that cannot be is told, and nothing is filtered."""
    clusters = verdicts.clusters()
    names = [one.name for one in clusters]
    code, notice, question = 200, "", asked
    try:
        if asked.cluster and asked.cluster not in names:
            raise UsageError(f"No cluster is called {asked.cluster!r}.")
        wanted = asked.wanted()
        page = whole(asked.page, "page", default=1, least=1, most=10**7)
    except UsageError as trouble:
        code, notice, question, wanted, page = 400, str(trouble), Question(refresh=asked.refresh), Wanted(), 1
    asked = question
    every = [one for name in names for one in verdicts.groups(name)]
    here = [one for one in every if not asked.cluster or one.cluster == asked.cluster]
    shown, place = cut(gravest_first(chosen(here, wanted)), (page - 1) * PER_PAGE, PER_PAGE)
    counts = Counter(one.status for one in here)
    return code, rendered(
        "index.html.j2",
        title=_title(clusters, every),
        headline=_headline(clusters, every),
        gravity=max((one.gravity for one in every), default=Gravity.OK),
        notice=notice,
        asked=asked,
        attention=ATTENTION,
        counts=[(one, counts[one]) for one in sorted(Status, reverse=True) if counts[one] or asked.status == one.name],
        to_look_at=sum(number for one, number in counts.items() if one.gravity >= Gravity.WARNING),
        clusters=[_card(one, asked, now) for one in clusters],
        incidents=open_incidents(incidents, now),
        rows=[_row(one, now) for one in shown],
        place=place,
        nothing=_nothing(clusters, every, place),
        before=asked.address(page=str(page - 1) if page > 2 else "") if page > 1 and place.total else "",
        after=asked.address(page=str(page + 1)) if place.offset + PER_PAGE < place.total else "",
        toggle=asked.address(refresh="" if asked.paused else "0"),
        judged=words.ago(max((one.judged_at for one in clusters if one.judged_at is not None), default=None), now),
    )


def _card(one: ClusterSummary, asked: Question, now: float) -> ClusterCard:
    here = replace(asked, q="", status="", page="", cluster=one.name)
    counted = sorted(((status, number) for status, number in one.by_status.items() if number), reverse=True)
    state, gravity = (
        ("not reached", Gravity.ERROR) if not one.up else ("up", Gravity.OK) if one.ready else ("starting", Gravity.NOTE)
    )
    return ClusterCard(
        summary=one,
        href=here.address(),
        state=state,
        gravity=gravity,
        judged=words.ago(one.judged_at, now) if one.judged_at is not None else "",
        chips=[(status, number, here.address(status=status.name)) for status, number in counted],
        disagreements=f"/api/clusters/{encoded(one.name)}/disagreements",
    )


def _row(one: GroupVerdict, now: float) -> GroupRow:
    return GroupRow(one, group_page(one.cluster, one.group), words.ago(one.since, now), differ(one.status, one.burrow))


def _title(clusters: Sequence[ClusterSummary], groups: Sequence[GroupVerdict]) -> str:
    """The gravest thing first: it is all that can be read of a tab. Who cannot see knows of nothing else."""
    blind = [one for one in clusters if not one.up]
    if blind:
        return f"{blind[0].name} cannot be reached · lag"
    bad = gravest_first(one for one in groups if one.gravity >= Gravity.WARNING)
    if not bad:
        return f"{_well(len(groups))} · lag"
    more = f" and {words.grouped(len(bad) - 1)} more" if bad[1:] else ""
    return f"{words.word(bad[0].status)}: {bad[0].group}{more} · lag"


def _headline(clusters: Sequence[ClusterSummary], groups: Sequence[GroupVerdict]) -> str:
    bad = sum(one.gravity >= Gravity.WARNING for one in groups)
    blind = [one.name for one in clusters if not one.up]
    if not bad and blind:
        return f"{blind[0]} cannot be reached" if len(blind) == 1 else f"{len(blind)} clusters cannot be reached"
    if not bad:
        return _well(len(groups))
    return f"{words.grouped(bad)} of {words.plural(len(groups), 'group')} {'needs' if bad == 1 else 'need'} a look"


def _well(number: int) -> str:
    if number == 0:
        return "No groups yet"
    return "The only group is well" if number == 1 else f"All {words.grouped(number)} groups are well"


def _nothing(clusters: Sequence[ClusterSummary], groups: Sequence[GroupVerdict], place: Slice) -> str:
    """Why the table is empty, and what to do about it."""
    if place.total and place.offset >= place.total:
        return "There are not so many pages."
    if groups:
        return "No group is like that. Clear the filter to see all of them."
    if not clusters:
        return "No cluster is watched yet. Name one in the configuration file, and start the monitor again."
    if not any(one.up for one in clusters):
        return "Nothing has been seen so far. Groups are shown here once a cluster answers: see above why it does not."
    return "No group has committed anything yet. Start a consumer that commits its offsets, and it is shown here."
