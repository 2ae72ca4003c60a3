"""Opens, repeats and closes: each that is sent, and beside it the one that is not."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import UsageError
from lag_monitor.alerts.incidents import Incident, Setting, step
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.verdict import Burrow, Gravity, GroupVerdict, PartitionVerdict, Status

CLUSTER, GROUP = "prod", "billing"


def verdict(status: Status = Status.STALLED, group: str = GROUP, cluster: str = CLUSTER, **more: Any) -> GroupVerdict:
    told: dict[str, Any] = {"reason": f"it is {status.name}", "since": 0.0, "at": 0.0, "lag": 100, "seconds": 60.0}
    return GroupVerdict(cluster, group, status, **(told | more))


def part(status: Status, burrow: Burrow = Burrow.OK, partition: int = 0) -> PartitionVerdict:
    return PartitionVerdict("orders", partition, status, f"{status.name} here", {}, 0.0, 1, 9, 8, 1.0, burrow=burrow)


class Desk:
    """Looks at one group, second by second, and keeps all that was told."""

    def __init__(self, *routes: Route, silences: Sequence[Silence] = (), **channels: float) -> None:
        self.routes = list(routes or [Route("team", ("mail",))])
        self.silences, self.channels = list(silences), channels or {"mail": 0.0, "chat": 0.0}
        self.incidents: tuple[Incident, ...] = ()
        self.notices: list[Notice] = []
        self.clusters: set[str] | None = None
        self._ids: Callable[[], str] = (f"incident-{number}" for number in count(1)).__next__

    def look(self, at: float, *seen: GroupVerdict | Status, blind: bool = False, cluster: str = CLUSTER) -> list[str]:
        """The kinds that were told at this look."""
        judged = [one if isinstance(one, GroupVerdict) else verdict(one) for one in seen]
        self.incidents, notices = step(
            self.incidents,
            {(one.cluster, one.group): one for one in judged},
            now=at,
            setting=Setting(self.routes, self.channels, self.silences, self.clusters),
            seen=set() if blind else {cluster},
            new_id=self._ids,
        )
        self.notices += notices
        return [notice.kind.value for notice in notices]

    @property
    def last(self) -> Notice:
        return self.notices[-1]


# ---- open and close ---------------------------------------------------------------------------------------------------


def test_a_group_in_trouble_opens_and_one_that_is_well_again_closes_once():
    desk = Desk()

    assert [desk.look(at, Status.STALLED) for at in (0, 10)] == [["open"], []]
    assert [desk.look(at, Status.OK) for at in (20, 30)] == [["close"], []]
    assert [(n.incident, n.seq, n.status, n.previous) for n in desk.notices] == [
        ("incident-1", 1, "STALLED", ""),
        ("incident-1", 2, "OK", "STALLED"),
    ]


def test_what_is_below_the_threshold_neither_opens_nor_closes_anything():
    desk = Desk()

    assert [desk.look(0, Status.SLOW), desk.look(10, Status.OK), desk.incidents] == [[], [], ()]


def test_a_second_incident_has_another_name():
    desk = Desk()
    for at, status in enumerate((Status.STALLED, Status.OK, Status.STOPPED)):
        desk.look(at, status)

    assert [notice.incident for notice in desk.notices] == ["incident-1", "incident-1", "incident-2"]


def test_it_falls_below_the_threshold_without_being_well_and_closes():
    desk = Desk()
    desk.look(0, Status.STALLED)

    assert desk.look(1, Status.SLOW) == ["close"]
    assert (desk.last.status, desk.last.gravity) == ("SLOW", Gravity.WARNING)


def test_a_notice_carries_what_whoever_is_woken_wants_to_know():
    desk = Desk()
    desk.look(5, verdict(partitions=(part(Status.STALLED), part(Status.OK, partition=1)), since=3.0, lag=7))

    (told,) = desk.notices
    assert (told.reason, told.lag, told.seconds, told.since, told.opened_at) == ("it is STALLED", 7, 60.0, 3.0, 5)
    assert [(one.topic, one.partition, one.status) for one in told.partitions] == [("orders", 0, "STALLED")]
    assert (told.key, told.severity, told.channels) == ("incident-1/1", "critical", ("mail",))


# ---- the monitor is blind, the group is gone --------------------------------------------------------------------------


def test_a_blind_monitor_neither_opens_nor_closes():
    desk = Desk()

    assert desk.look(0, Status.UNKNOWN) == []
    desk.look(1, Status.STALLED)
    assert [desk.look(2, Status.UNKNOWN), desk.look(3, blind=True)] == [[], []]
    assert desk.look(4, Status.OK) == ["close"]


def test_a_group_that_is_gone_closes_and_says_why():
    desk = Desk()
    desk.look(0, Status.STALLED)

    assert desk.look(1) == ["close"]
    assert (desk.last.reason, desk.last.previous) == ("the group is gone", "STALLED")


def test_a_group_of_a_cluster_that_was_not_looked_at_is_not_gone():
    desk = Desk()
    desk.look(0, Status.STALLED)

    assert [desk.look(1, blind=True), desk.look(2, Status.STALLED)] == [[], []]


def test_a_cluster_that_is_no_longer_watched_closes_its_incidents():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.clusters = {CLUSTER}
    assert desk.look(1, blind=True) == []
    desk.clusters = {"other"}

    assert desk.look(2, blind=True) == ["close"]
    assert desk.last.reason == "the cluster prod is no longer watched"


def test_a_monitor_that_was_started_again_and_knows_too_little_does_not_close():
    desk = Desk()
    desk.look(0, Status.STALLED)

    assert [desk.look(1, Status.WARMING_UP), desk.look(2, Status.STALLED), desk.look(3, Status.OK)] == [[], [], ["close"]]


def test_nor_does_one_that_warms_up_open():
    assert Desk().look(0, Status.WARMING_UP) == []


# ---- holding back -----------------------------------------------------------------------------------------------------


def test_it_opens_only_when_it_was_bad_for_long_enough():
    desk = Desk(Route("team", ("mail",), after=60))

    assert [desk.look(at, Status.STALLED) for at in (0, 30, 59, 60)] == [[], [], [], ["open"]]
    assert (desk.last.began, desk.last.opened_at) == (0, 60)


@pytest.mark.parametrize("between", [Status.OK, Status.EMPTY_GROUP])
def test_what_is_held_begins_anew_when_it_was_well_in_between(between: Status):
    desk = Desk(Route("team", ("mail",), after=60))

    told = [desk.look(at, status) for at, status in ((0, Status.STALLED), (50, between), (55, Status.STALLED))]
    assert [*told, desk.look(100, Status.STALLED), desk.look(115, Status.STALLED)] == [[], [], [], [], ["open"]]


def test_time_in_which_nothing_was_seen_does_not_count_as_bad_and_does_not_begin_anew():
    desk = Desk(Route("team", ("mail",), after=60))
    for at, status in ((0, Status.STALLED), (40, Status.STALLED), (50, Status.UNKNOWN), (500, Status.STALLED)):
        assert desk.look(at, status) == []

    assert [desk.look(519, Status.STALLED), desk.look(520, Status.STALLED)] == [[], ["open"]]


def test_it_closes_only_when_it_was_good_for_long_enough_and_a_relapse_is_the_same_incident():
    desk = Desk(Route("team", ("mail",), close_after=60))
    desk.look(0, Status.STALLED)

    assert [desk.look(10, Status.OK), desk.look(60, Status.OK), desk.look(65, Status.STALLED)] == [[], [], []]
    assert [desk.look(70, Status.OK), desk.look(129, Status.OK), desk.look(130, Status.OK)] == [[], [], ["close"]]
    assert {notice.incident for notice in desk.notices} == {"incident-1"}


def test_time_in_which_nothing_was_seen_does_not_count_as_good():
    desk = Desk(Route("team", ("mail",), close_after=60))
    for at, status in ((0, Status.STALLED), (10, Status.OK), (20, Status.UNKNOWN), (300, Status.OK)):
        desk.look(at, status)

    assert [desk.look(359, Status.OK), desk.look(360, Status.OK)] == [[], ["close"]]


def test_clusters_may_be_looked_at_by_turns_and_none_stops_the_other_s_time():
    desk = Desk(Route("team", ("mail",), after=60, close_after=60))
    told = []
    for at in range(0, 200, 10):
        told += desk.look(at, Status.STALLED if at < 100 else Status.OK)
        told += desk.look(at + 5, verdict(Status.OK, cluster="other"), cluster="other")

    assert (told, [notice.at for notice in desk.notices]) == (["open", "close"], [60, 160])


def test_of_a_time_in_which_nobody_looked_at_all_little_is_counted():
    desk = Desk(Route("team", ("mail",), after=300))

    assert [desk.look(at, Status.STALLED) for at in (0, 10_000, 20_000, 30_000)] == [[], [], [], ["open"]]


def test_a_group_that_is_missing_from_a_list_that_is_not_whole_was_not_seen():
    desk = Desk(Route("team", ("mail",), close_after=60))
    desk.look(0, Status.STALLED)
    desk.look(10, Status.OK)
    desk.look(60, verdict(Status.OK, "another"), blind=True)

    assert [desk.look(70, Status.OK), desk.look(129, Status.OK), desk.look(130, Status.OK)] == [[], [], ["close"]]


# ---- repeats ----------------------------------------------------------------------------------------------------------


def test_it_is_told_again_when_the_time_has_come_and_not_before():
    desk = Desk(Route("team", ("mail",), repeat=100))

    assert [desk.look(at, Status.STALLED) for at in (0, 99, 100, 150, 200)] == [["open"], [], ["repeat"], [], ["repeat"]]


def test_a_route_may_ask_for_no_repeats():
    desk = Desk(Route("team", ("mail",), repeat=0))

    assert [desk.look(at, Status.STALLED) for at in (0, 1e6)] == [["open"], []]


def test_what_gets_graver_is_told_at_once_and_what_gets_less_grave_is_not():
    desk = Desk()
    told = [
        desk.look(at, status) for at, status in enumerate((Status.STALLED, Status.STOPPED, Status.STALLED, Status.STOPPED))
    ]

    assert told == [["open"], ["repeat"], [], []]
    assert (desk.last.status, desk.last.previous) == ("STOPPED", "STALLED")


def test_nothing_is_repeated_while_nothing_is_seen_or_while_it_seems_well():
    desk = Desk(Route("team", ("mail",), repeat=10, close_after=1000))
    desk.look(0, Status.STALLED)

    assert [desk.look(20, Status.UNKNOWN), desk.look(40, Status.OK), desk.look(50, Status.STALLED)] == [[], [], ["repeat"]]


# ---- silences ---------------------------------------------------------------------------------------------------------


def test_nothing_is_told_under_a_silence_and_what_began_and_ended_in_it_is_never_told():
    desk = Desk(silences=[Silence(groups="^billing$")])

    assert [desk.look(at, status) for at, status in ((0, Status.STALLED), (9999, Status.STOPPED), (10_000, Status.OK))] == [
        []
    ] * 3


def test_what_is_still_bad_when_the_silence_ends_is_told_then():
    desk = Desk(silences=[Silence(until=50)])

    assert [desk.look(0, Status.STALLED), desk.look(49, Status.STALLED), desk.look(50, Status.STALLED)] == [[], [], ["open"]]
    assert desk.last.opened_at == 0


def test_a_close_is_told_in_spite_of_a_silence_if_the_open_was():
    desk = Desk(Route("team", ("mail",), repeat=10))
    desk.look(0, Status.STALLED)
    desk.silences = [Silence()]

    assert [desk.look(20, Status.STALLED), desk.look(30, Status.STOPPED), desk.look(40, Status.OK)] == [[], [], ["close"]]


def test_what_got_graver_under_a_silence_is_told_after_it():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.silences = [Silence(until=10)]

    assert [desk.look(5, Status.STOPPED), desk.look(10, Status.STOPPED)] == [[], ["repeat"]]


def test_a_silence_of_another_group_or_cluster_silences_nothing_here():
    assert Desk(silences=[Silence(groups="orders"), Silence(clusters="test")]).look(0, Status.STALLED) == ["open"]


# ---- routes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "covered"),
    [
        (Route("r", ("mail",)), True),
        (Route("r", ("mail",), clusters="^prod"), True),
        (Route("r", ("mail",), clusters="^test"), False),
        (Route("r", ("mail",), allow="bill"), True),
        (Route("r", ("mail",), allow="^ill"), False),
        (Route("r", ("mail",), deny="bill"), False),
        (Route("r", ("mail",), allow="bill", deny="orders"), True),
    ],
)
def test_a_route_covers_what_its_patterns_find(route: Route, covered: bool):
    assert Desk(route).look(0, Status.STALLED) == (["open"] if covered else [])


@pytest.mark.parametrize(
    ("more", "opens"),
    [
        ({"threshold": Gravity.WARNING}, True),
        ({"threshold": Gravity.ERROR}, False),
        ({"threshold": Gravity.WARNING, "min_lag": 100}, True),
        ({"threshold": Gravity.WARNING, "min_lag": 101}, False),
        ({"threshold": Gravity.WARNING, "min_seconds": 60.0}, True),
        ({"threshold": Gravity.WARNING, "min_seconds": 61.0}, False),
        ({"threshold": Gravity.OK, "min_lag": 100}, True),
    ],
)
def test_thresholds_let_through_what_reaches_them(more: dict[str, Any], opens: bool):
    assert Desk(Route("r", ("mail",), **more)).look(0, Status.SLOW) == (["open"] if opens else [])


def test_a_group_that_is_well_and_far_behind_is_told_of_by_a_word_of_its_own_and_closes_when_it_is_not():
    desk = Desk(Route("r", ("mail",), threshold=Gravity.OK, min_lag=100))

    assert [desk.look(0, verdict(Status.OK, lag=99)), desk.look(1, verdict(Status.OK, lag=100))] == [[], ["open"]]
    assert (desk.last.status, desk.last.gravity) == ("LAG", Gravity.WARNING)
    assert desk.last.reason == "its lag has reached the bound of the route r; the judge says OK: it is OK"
    assert [desk.look(2, verdict(Status.SLOW, lag=100)), desk.look(3, verdict(Status.OK, lag=99))] == [["repeat"], ["close"]]
    assert desk.last.status == "OK"


def test_a_lag_in_seconds_that_is_not_known_hides_nobody():
    assert Desk(Route("r", ("mail",), min_seconds=60.0)).look(0, verdict(seconds=None)) == ["open"]


@pytest.mark.parametrize(
    ("burrow", "threshold", "opens"),
    [
        (Burrow.OK, Gravity.WARNING, False),
        (Burrow.WARN, Gravity.WARNING, True),
        (Burrow.WARN, Gravity.ERROR, False),
        (Burrow.ERR, Gravity.ERROR, True),
        (Burrow.NOTFOUND, Gravity.WARNING, False),
    ],
)
def test_a_route_may_follow_burrows_judge(burrow: Burrow, threshold: Gravity, opens: bool):
    desk = Desk(Route("r", ("mail",), judge="burrow", threshold=threshold))

    assert desk.look(0, verdict(Status.OK, burrow=burrow, partitions=(part(Status.OK, Burrow.STALL),))) == ["open"] * opens
    assert [notice.reason for notice in desk.notices] == [f"Burrow's rules say {burrow.name}: STALL on orders-0"] * opens


def test_our_own_judge_is_not_asked_for_a_route_of_burrows():
    assert Desk(Route("r", ("mail",), judge="burrow")).look(0, Status.DATA_LOSS) == []


def test_two_routes_that_cover_a_group_have_an_incident_each():
    desk = Desk(Route("team", ("mail",)), Route("boss", ("chat",), after=100))

    assert [desk.look(0, Status.STALLED), desk.look(100, Status.STALLED)] == [["open"], ["open"]]
    assert [(n.route, n.channels, n.incident) for n in desk.notices] == [
        ("team", ("mail",), "incident-1"),
        ("boss", ("chat",), "incident-2"),
    ]


def test_a_route_that_is_taken_away_closes_what_it_opened():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.routes = []

    assert [desk.look(1, Status.STALLED), desk.look(2, Status.STALLED)] == [["close"], []]
    assert desk.last.reason == "the route team is no longer configured"


def test_it_closes_nothing_on_a_channel_that_was_taken_away_too():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.routes, desk.channels = [], {}

    assert (desk.look(1, Status.STALLED), desk.incidents) == ([], ())


def test_a_route_that_no_longer_covers_the_group_closes():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.routes = [Route("team", ("mail",), deny="billing")]

    assert desk.look(1, Status.STALLED) == ["close"]
    assert desk.last.reason == "the route team no longer covers the group"


def test_a_channel_that_joins_hears_an_open_and_then_the_close_as_the_others():
    desk = Desk()
    desk.look(0, Status.STALLED)
    desk.routes = [Route("team", ("mail", "chat"))]

    assert [desk.look(1, Status.STALLED), desk.look(2, Status.STALLED), desk.look(3, Status.OK)] == [["open"], [], ["close"]]
    assert [notice.channels for notice in desk.notices] == [("mail",), ("chat",), ("mail", "chat")]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"allow": "("}, "allow of the route r = '(' is not a regular expression"),
        ({"channels": ()}, "the route r has no channels: nobody would be told."),
        ({"threshold": Gravity.OK}, "has the threshold OK and neither min_lag nor min_seconds"),
        ({"repeat": -1.0}, "below 0"),
    ],
)
def test_a_route_that_makes_no_sense_is_refused(more: dict[str, Any], sentence: str):
    with pytest.raises(UsageError) as refused:
        Route(**({"name": "r", "channels": ("mail",)} | more))

    assert sentence in refused.value.message


# ---- receivers that forget --------------------------------------------------------------------------------------------


def test_a_receiver_that_forgets_hears_again_and_the_others_do_not():
    desk = Desk(Route("team", ("mail", "am")), mail=0.0, am=60.0)

    assert [desk.look(at, Status.STALLED) for at in (0, 59, 60, 100, 120)] == [["open"], [], ["refresh"], [], ["refresh"]]
    assert (desk.last.channels, desk.last.seq, desk.incidents[0].seq) == (("am",), 1, 1)


def test_it_hears_again_also_while_nothing_is_seen_for_it_would_take_the_quiet_for_the_end():
    desk = Desk(Route("team", ("am",), close_after=1000), am=60.0)
    desk.look(0, Status.STALLED)

    assert [desk.look(60, Status.UNKNOWN), desk.look(120, blind=True), desk.look(180, Status.OK)] == [["refresh"]] * 3


def test_it_hears_again_also_while_another_cluster_is_looked_at_and_not_for_a_clock_that_differs_a_little():
    desk = Desk(Route("team", ("am",)), am=60.0)
    desk.look(100, Status.STALLED)

    assert [desk.look(at, cluster="other") for at in (99.9, 159.9, 160, 159.9)] == [[], [], ["refresh"], []]


def test_what_was_never_announced_is_not_refreshed():
    desk = Desk(Route("team", ("am",)), silences=[Silence()], am=60.0)

    assert [desk.look(at, Status.STALLED) for at in (0, 60, 120)] == [[], [], []]


# ---- whatever happens -------------------------------------------------------------------------------------------------

LOOKS = st.lists(
    st.tuples(
        st.sampled_from([*Status, None]),  # None: not in what was judged
        st.floats(0, 200),  # seconds since the look before
        st.booleans(),  # the cluster was looked at
        st.booleans(),  # silenced
        st.sampled_from(["mail", "mail chat", "am", "none"]),  # the route's channels, or no route
    ),
    max_size=30,
)


@pytest.mark.slow
@given(LOOKS, st.sampled_from([0.0, 60.0]), st.sampled_from([0.0, 60.0]))
def test_whatever_happens_each_channel_hears_one_open_then_one_close_of_each_incident(
    looks: list[Any], after: float, close_after: float
):
    desk, now = Desk(mail=0.0, chat=0.0, am=60.0), 0.0
    for status, passed, seen, silenced, channels in looks:
        now += passed
        told = tuple(channels.split())
        desk.routes = [] if told == ("none",) else [Route("r", told, after=after, close_after=close_after, repeat=100)]
        desk.silences = [Silence()] if silenced else []
        desk.look(now, *([] if status is None else [status]), blind=not seen)
    desk.look(now + 1)  # gone, at last

    assert desk.incidents == ()
    heard: dict[tuple[str, str], list[Kind]] = {}
    for notice in desk.notices:
        for channel in notice.channels:
            heard.setdefault((notice.incident, channel), []).append(notice.kind)
    for kinds in heard.values():
        assert (kinds[0], kinds[-1]) == (Kind.OPEN, Kind.CLOSE)
        assert (kinds.count(Kind.OPEN), kinds.count(Kind.CLOSE)) == (1, 1)


@pytest.mark.slow
@given(LOOKS)
def test_whatever_happens_the_numbers_of_an_incident_rise_by_one(looks: list[Any]):
    desk, now = Desk(Route("r", ("mail",), repeat=100)), 0.0
    for status, passed, seen, _, _ in looks:
        now += passed
        desk.look(now, *([] if status is None else [status]), blind=not seen)

    by_incident: dict[str, list[int]] = {}
    for notice in desk.notices:
        by_incident.setdefault(notice.incident, []).append(notice.seq)
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_incident.values())
