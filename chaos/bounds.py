"""How long a fault may darken a partition: upper bounds from effective configuration, each with its sum in words.

Nothing here is fitted to what was once measured. Every term is a timeout that is in force and named; `allowance_s` alone
stands for the machine. A bound that is broken is therefore news about Kafka, not about us. Checked against Kafka 4.3.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kernel.errors import UsageError

# librdkafka 2.x, as far as time is concerned. They are not Java's: a request hangs for 60 s here, for 30 s there.
LIBRDKAFKA: dict[str, int] = {
    "fetch.error.backoff.ms": 500,
    "fetch.wait.max.ms": 500,
    "heartbeat.interval.ms": 3_000,
    "max.poll.interval.ms": 300_000,
    "message.timeout.ms": 300_000,
    "reconnect.backoff.max.ms": 10_000,
    "request.timeout.ms": 30_000,
    "retry.backoff.max.ms": 1_000,
    "session.timeout.ms": 45_000,
    "socket.timeout.ms": 60_000,
    "topic.metadata.refresh.fast.interval.ms": 100,
    "topic.metadata.refresh.interval.ms": 300_000,
}
REQUEST_SCAN_S = 1.0  # librdkafka looks for requests that timed out once a second
COORDINATOR_QUERY_S = 0.5  # and asks so often who coordinates its transactions, while nobody does
INITIAL_DELAY_MS = 30_000  # log.initial.task.delay.ms is internal, so brokers do not describe it
UNCLEAN_INTERVAL_MS = 300_000  # unclean.leader.election.interval.ms is internal, so brokers do not describe it


@dataclass(frozen=True, slots=True)
class Bound:
    """At most so many seconds, and the sum they come from in words."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Between which two figures an election must lie, to be of the kind it claims to be."""

    at_least_s: float
    at_most_s: float

    def fits(self, seconds: float) -> bool:
        return self.at_least_s <= seconds <= self.at_most_s


@dataclass(frozen=True, slots=True)
class Given:
    """What is in force: a broker's configuration as it describes itself, librdkafka's, and what the machine may add."""

    broker: Mapping[str, str]
    client: Mapping[str, Any] = field(default_factory=dict)
    allowance_s: float = 0.0

    def of_broker(self, key: str) -> float:
        if key not in self.broker:
            raise UsageError(f"the broker configuration lacks {key!r}: hand over everything the broker describes.", key=key)
        return _seconds(key, self.broker[key])

    def number_of_broker(self, key: str) -> int:
        """What is not a time: a count, or bytes."""
        if not self.broker.get(key, "").isdecimal():
            raise UsageError(f"the broker configuration has {key}={self.broker.get(key)!r}, not a whole number.", key=key)
        return int(self.broker[key])

    def of_client(self, key: str) -> float:
        return _seconds(key, self.client.get(key, LIBRDKAFKA[key]))


def event_bounds(send: Bound | None, poll: Bound | None) -> dict[str, Any]:
    """The `bounds` of a fault event; without a bound of either kind it is empty, and recovery is measured only."""
    bounds = {kind: bound for kind, bound in (("send", send), ("poll", poll)) if bound}
    reasons = {bound.why: None for bound in bounds.values()}
    words = "; ".join(reasons) if len(reasons) < 2 else "; ".join(f"{kind}: {bound.why}" for kind, bound in bounds.items())
    return {kind: bound.seconds for kind, bound in bounds.items()} | ({"why": words} if bounds else {})


# ---- brokers ------------------------------------------------------------------------------------------------------


def kill_broker(given: Given, *, active_controller: bool = False, leads_again: bool = False) -> Bound:
    """The controller fences a silent broker one session after its last heartbeat and elects others in its place.

    It holds for every partition with the victim in its ISR: where the victim only followed, acks=all waits for the
    same fence. If the victim was the active controller, the next one must be elected first, and grants every broker
    a fresh session.
    """
    fenced = _fenced(given, active_controller)
    return _with_return(given, leads_again, *fenced, *_clients(given))


def stop_broker(given: Given, *, leads_again: bool = False) -> Bound:
    """A controlled shutdown: the broker asks in a heartbeat, and keeps serving until its partitions are led elsewhere.

    No session runs out. The request goes out at once, or with the next heartbeat if one is under way.
    """
    asked = (given.of_broker("broker.heartbeat.interval.ms"), "broker heartbeat")
    return _with_return(given, leads_again, asked, *_clients(given))


def log_dir_failure(given: Given, *, leads_again: bool = False) -> Bound:
    """The broker gives a directory up at the first write that fails there, and tells the controller with a heartbeat.

    It is sent at once, or when the one under way is answered. Followers that only lose a replica there wait no longer.
    """
    told = (given.of_broker("broker.heartbeat.interval.ms"), "broker heartbeat")
    return _with_return(given, leads_again, told, *_clients(given))


def pause_broker(given: Given, kind: str, *, held_s: float | None = None, active_controller: bool = False) -> Bound:
    """Fenced like a killed broker, but its connections stay open, and what was asked of it hangs until the client gives up.

    librdkafka learns of the new leader only then: produce requests after socket.timeout.ms (or message.timeout.ms, if
    that is less), fetches after fetch.wait.max.ms more. A broker that is resumed earlier answers at once.
    """
    fence = _sum(*_fenced(given, active_controller))
    hang = _sum(*_hanging(given, kind))
    darkest = max(fence, hang, key=lambda bound: bound.seconds)
    dark = (darkest.seconds, darkest.why)
    if held_s is not None and held_s < darkest.seconds:
        dark = (held_s, f"{held_s:.1f} s paused")
    return _join(dark, _sum(*_clients(given), _allowance(given)))


def isolate_leader(given: Given, *, held_s: float, clients_connected: bool) -> Bound:
    """The leader sees neither its followers nor the controller.

    Clients that lost it too find the new leader as after a kill. Clients that still reach it are told nothing: it does
    not know that it was deposed, and nothing is wrong with their connection. They may only learn with the heal.
    """
    if not clients_connected:
        return kill_broker(given)
    follow = (given.of_broker("replica.fetch.backoff.ms"), "followers fetch again")
    return _sum((held_s, "isolated"), follow, *_clients(given), _allowance(given))


def cut_clients(given: Given, *, held_s: float) -> Bound:
    """Clients cannot reach the leader while nothing else is wrong, so nobody else is elected: dark until the heal.

    After it, a client comes back when its backoff has run out, which by then may have reached its maximum.
    """
    return _sum((held_s, "cut"), _reconnect(given), *_clients(given), _allowance(given))


def follower_cut(given: Given) -> Bound:
    """A follower that cannot fetch, its heartbeats alive, holds up acks=all until its leader drops it from the ISR.

    Leaders look every half replica.lag.time.max.ms, so it may be found one half late.
    """
    lag = given.of_broker("replica.lag.time.max.ms")
    shrink = ((lag, "replica lag"), (lag / 2, "until the leader looks"))
    return _sum(*shrink, *_clients(given), _allowance(given))


def slow_disk(given: Given, *, stall_s: float) -> Bound:
    """A replica whose disk stalls holds acks=all up for that long, and may be met by the next stall on its way out.

    Shorter than what a follower may lag, so nobody is dropped, and nobody has to learn of a new leader.
    """
    lag = given.of_broker("replica.lag.time.max.ms")
    if stall_s >= lag:
        raise UsageError(f"a stall of {stall_s:g} s is no shorter than the replica lag of {lag:g} s: that is another trial.")
    return _sum((2 * stall_s, "two stalls"), _allowance(given))


def controller_kill(given: Given) -> Bound:
    """How long metadata stands still: no election, no topic created. Partitions with a living leader do not notice.

    A voter waits for its fetch to time out, then stands for election; timeouts are drawn from one to two times the
    setting, and a split vote costs one backoff.
    """
    return _sum(*_quorum(given), _allowance(given))


def unclean_election(given: Given, *, enabled: Literal["never", "before", "after"]) -> Bound | None:
    """No replica of the ISR or ELR is left, and one that fell behind comes back. `enabled`: never, before or after.

    Never: None, the partition is offline until its leader returns. Before: elected as soon as it is unfenced. After the
    leader went: only when the controller next looks for such partitions.
    """
    if enabled == "never":
        return None
    key = "unclean.leader.election.interval.ms"
    interval = (_seconds(key, given.broker.get(key, UNCLEAN_INTERVAL_MS)), "until the controller looks for the leaderless")
    unfenced = (given.of_broker("broker.heartbeat.interval.ms"), "broker heartbeat")
    return _sum(*([interval] if enabled == "after" else []), unfenced, *_clients(given), _allowance(given))


# ---- what operators do --------------------------------------------------------------------------------------------


def leadership_moved(given: Given) -> Bound:
    """Leadership goes from one broker to another while both are there: clients are refused once, ask, and go on."""
    return _sum(*_clients(given), _allowance(given))


def throttled_copy(given: Given, *, at_first: int, at_last: int, rate: int, sources: int) -> Signature:
    """Between which figures a copy of so many bytes must lie: what the replicas had at first, and at last.

    A broker looks at the rate before it fetches, and each of its fetchers (one for each broker it copies from) may then be
    handed a whole response too much; what is remembered of that goes with the quota's windows. At the end the copy may
    wait for a fetcher that has nothing it may ask for, and for the last window of the rate.
    """
    spare = sources * given.number_of_broker("replica.fetch.response.max.bytes")
    remembered = given.number_of_broker("replication.quota.window.num")
    remembered *= given.number_of_broker("replication.quota.window.size.seconds")
    too_much = spare * (1 + at_first / rate // remembered)
    late = (
        given.of_broker("replica.fetch.backoff.ms")
        + given.of_broker("replica.fetch.wait.max.ms")
        + given.number_of_broker("replication.quota.window.size.seconds")
        + given.allowance_s
    )
    return Signature(round(max(0.0, at_first - too_much) / rate, 3), round(at_last / rate + late, 3))


def space_freed(given: Given) -> Bound:
    """A replica that is given up is renamed at once and deleted later: by the broker's delay, whatever the topic's own says.

    Whoever deletes looks once in that time, too, and for the first time a while after the broker's start.
    """
    key = "log.initial.task.delay.ms"
    first = (_seconds(key, given.broker.get(key, INITIAL_DELAY_MS)), "until the broker first looks")
    delay = 2 * given.of_broker("log.segment.delete.delay.ms")
    return _sum(first, (delay, "delay of deletion, and until the broker looks again"), _allowance(given))


# ---- consumers ----------------------------------------------------------------------------------------------------


def consumer_killed(given: Given, *, busy_s: float = 0.0) -> Bound:
    """The coordinator drops a silent member one session after its last heartbeat; then the others get its partitions.

    `busy_s` is the longest any of the others stays away from poll: only there does it give up and take partitions.
    """
    if _next_generation(given):
        session = (given.of_broker("group.consumer.session.timeout.ms"), "group session")
    else:
        session = (given.of_client("session.timeout.ms"), "consumer session")
    return _sum(session, *_rebalance(given, busy_s), *_clients(given), _allowance(given))


def consumer_closed(given: Given, *, busy_s: float = 0.0) -> Bound:
    """A member that says goodbye costs no session: the others hear of it at their next heartbeat."""
    return _sum(*_rebalance(given, busy_s), *_clients(given), _allowance(given))


def static_member_back(given: Given, *, away_s: float, session_s: float | None = None) -> Bound:
    """A static member that is back within its session gets its partitions back, and nobody rebalances.

    `session_s` is the group's own, where it is not the one that brokers or clients have by their settings.
    """
    key = "group.consumer.session.timeout.ms" if _next_generation(given) else "session.timeout.ms"
    session = session_s or (given.of_broker(key) if _next_generation(given) else given.of_client(key))
    if away_s >= session:
        raise UsageError(f"a static member away for {away_s:g} s has lost its session of {session:g} s ({key}): shorten it.")
    return _sum((away_s, "away"), *_clients(given), _allowance(given))


# ---- transactions -------------------------------------------------------------------------------------------------
# How long the last stable offset may stand still: until it does, readers of committed records wait.


def transaction_timed_out(given: Given, *, timeout_s: float) -> Bound:
    """Nobody will end the transaction of a producer that is gone. Its coordinator does, when its time is up and it looks.

    `timeout_s` is the producer's transaction.timeout.ms, and begins with the transaction: earlier than its producer went."""
    key = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    return _sum((timeout_s, "transaction timeout"), (given.of_broker(key), "until the coordinator looks"), _allowance(given))


def transaction_fenced(given: Given) -> Bound:
    """A successor's init_transactions returns when what its predecessor left open is aborted: the markers are written, and
    are replicated as any other record is."""
    return _sum((given.of_broker("replica.fetch.wait.max.ms"), "markers replicated"), _allowance(given))


def transaction_broker_killed(given: Given, *, active_controller: bool = False) -> Bound:
    """The leader of a partition that a transaction wrote, or its coordinator: another broker is elected, what was under
    way is sent again, its end is asked of whoever coordinates now, and that one writes the markers."""
    coordinator = (COORDINATOR_QUERY_S, "clients ask for the coordinator")
    end = (given.of_client("retry.backoff.max.ms"), "the end is asked for again")
    markers = (given.of_broker("replica.fetch.wait.max.ms"), "markers replicated")
    return _sum(*_fenced(given, active_controller), *_clients(given), coordinator, end, markers, _allowance(given))


def retry_due(given: Given, *, delay_s: float) -> Bound:
    """A record in a retry topic waits for its delay on purpose, and then for the fetch that its paused partition lacked."""
    return _sum((delay_s, "delay before it is tried again"), *_clients(given), _allowance(given))


# ---- quotas -------------------------------------------------------------------------------------------------------


def quota_window(given: Given) -> Bound:
    """Over so long a broker averages a client's rate: as much later than a quota is reached, it is in full force."""
    samples, size = int(given.broker["quota.window.num"]), _quota_sample_s(given)
    return Bound(samples * size, f"{samples} samples of {size:.1f} s")


def quota_bytes(given: Given, rate: float, *, seconds: float) -> tuple[float, float]:
    """Between which two figures lies what a client that asks for more gets in so many seconds. Rates are kept in samples,
    so a stretch that begins and ends anywhere may have one sample more or less than it should."""
    sample = _quota_sample_s(given)
    return max(0.0, rate * (seconds - sample)), rate * (seconds + sample)


def beside_a_throttled_client(given: Given, quiet_s: float) -> Bound:
    """Somebody without a quota is never made to wait; who is throttled waits for samples to pass."""
    return _sum((quiet_s, "as in quiet"), (_quota_sample_s(given), "less than one sample"))


def _quota_sample_s(given: Given) -> float:
    return float(given.broker["quota.window.size.seconds"])


def fail_over(given: Given) -> Bound:
    """A group whose offsets are already on the other cluster starts there from nothing: it joins, and fetches.

    `given` is of that cluster. A first member waits for others as long as group.initial.rebalance.delay.ms says.
    """
    first = (given.of_broker("group.initial.rebalance.delay.ms"), "the first member waits for others")
    return _sum(first, *_rebalance(given, 0.0), *_clients(given), _allowance(given))


# ---- signatures: how long the election itself takes ---------------------------------------------------------------


def killed_signature(given: Given, *, active_controller: bool = False) -> Signature:
    """A killed broker cannot be replaced sooner than a session after a heartbeat that was at most one interval old.

    After the active controller's death the session starts anew with the next controller.
    """
    session = given.of_broker("broker.session.timeout.ms")
    earliest = session if active_controller else session - given.of_broker("broker.heartbeat.interval.ms")
    return Signature(max(0.0, earliest), _sum(*_fenced(given, active_controller), _allowance(given)).seconds)


def stopped_signature(given: Given) -> Signature:
    """A controlled shutdown that takes a session was none: the controller found out by itself."""
    return Signature(0.0, given.of_broker("broker.session.timeout.ms"))


# ---- terms --------------------------------------------------------------------------------------------------------

Term = tuple[float, str]


def _fenced(given: Given, active_controller: bool) -> list[Term]:
    """The controller looks for stale brokers eight times a session (Kafka 4; before, at the very moment)."""
    session = given.of_broker("broker.session.timeout.ms")
    fence = [(session, "broker session"), (session / 8, "until the controller looks")]
    return [*_quorum(given), *fence] if active_controller else fence


def _quorum(given: Given) -> list[Term]:
    return [
        (given.of_broker("controller.quorum.fetch.timeout.ms"), "quorum fetch"),
        (2 * given.of_broker("controller.quorum.election.timeout.ms"), "quorum election"),
        (given.of_broker("controller.quorum.election.backoff.max.ms"), "election backoff"),
    ]


def _clients(given: Given) -> list[Term]:
    """Once there is a leader: ask who it is (backed off to the maximum by then), then send or fetch again."""
    learn = max(given.of_client("topic.metadata.refresh.fast.interval.ms"), given.of_client("retry.backoff.max.ms"))
    again = max(given.of_client("retry.backoff.max.ms"), given.of_client("fetch.error.backoff.ms"))
    return [(learn, "clients learn the leader"), (again, "clients try again")]


def _hanging(given: Given, kind: str) -> list[Term]:
    socket = given.of_client("socket.timeout.ms")
    if kind == "poll":
        hang = [(socket, "socket timeout"), (given.of_client("fetch.wait.max.ms"), "fetch wait")]
    else:
        hang = [min((socket, "socket timeout"), (given.of_client("message.timeout.ms"), "message timeout"))]
    return [*hang, (REQUEST_SCAN_S, "until the client looks")]


def _rebalance(given: Given, busy_s: float) -> list[Term]:
    """One heartbeat to hear of it, one to be given partitions.

    KIP-848 brokers since 4.3 assign at most once in group.consumer.assignment.interval.ms.
    """
    busy = (min(busy_s, given.of_client("max.poll.interval.ms")), "others away from poll")
    if not _next_generation(given):
        return [(2 * given.of_client("heartbeat.interval.ms"), "two heartbeats of the others"), busy]
    beats = (2 * given.of_broker("group.consumer.heartbeat.interval.ms"), "two heartbeats of the others")
    assign = _seconds("group.consumer.assignment.interval.ms", given.broker.get("group.consumer.assignment.interval.ms", 0))
    return [beats, (assign, "assignment interval"), busy]


def _reconnect(given: Given) -> Term:
    return (given.of_client("reconnect.backoff.max.ms"), "reconnect backoff")


def _allowance(given: Given) -> Term:
    return (given.allowance_s, "allowance")


def _with_return(given: Given, leads_again: bool, *terms: Term) -> Bound:
    """A broker that leads again is met by clients whose backoff towards it has grown: a second gap, not a longer one."""
    away = _sum(*terms, _allowance(given))
    back = _sum(_reconnect(given), *_clients(given), _allowance(given))
    return max(away, back, key=lambda bound: bound.seconds) if leads_again else away


def _sum(*terms: Term) -> Bound:
    counted = [(seconds, words) for seconds, words in terms if seconds]
    total = round(sum(seconds for seconds, _ in counted), 3)
    return Bound(total, " + ".join(f"{seconds:.1f} s {words}" for seconds, words in counted))


def _join(first: Term, rest: Bound) -> Bound:
    return Bound(round(first[0] + rest.seconds, 3), f"{first[1]} + {rest.why}")


def _next_generation(given: Given) -> bool:
    return str(given.client.get("group.protocol", "classic")).lower() == "consumer"


def _seconds(key: str, milliseconds: Any) -> float:
    try:
        return int(milliseconds) / 1000
    except (TypeError, ValueError):
        raise UsageError(f"{key} is {milliseconds!r}, not a number of milliseconds.", key=key)
