"""Did a link really change? Called through its proxy and, to compare, past it.

A fault on a link counts only if the same call that suffers through the proxy is answered without it: a broker that is
down or slow for its own reasons is no proof. The proxies between containers listen inside them, out of our reach; there
we have only Toxiproxy's word, and the sentence says so.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any

from chaos.faults import dial
from chaos.faults.dial import Address, Reply
from chaos.faults.fault import CanBeBroken
from compose.links import CLIENT, Link
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, LimitData, Reset, Slicer, Toxic
from kernel.errors import NotReady
from kernel.waiting import wait_until

# The toxics that can be seen, by the name of the fault.
TOXICS: dict[str, type[Cut | Toxic]] = {
    "cut": Cut,
    "blackhole": Blackhole,
    "latency": Latency,
    "bandwidth": Bandwidth,
    "reset": Reset,
    "slicer": Slicer,
    "limit-data": LimitData,
}
KINDS = {toxic: kind for kind, toxic in TOXICS.items()}

MOST_CALLS = 2_000  # in one bulk measurement; their answers come to about a megabyte
MOST_BYTES = 8_000_000
SHORTEST_S = 0.05  # a delay below this cannot be told from a busy machine
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ways to a listener: through the link's proxy and past it."""

    through: Address
    past: Address
    secure: bool
    docker: bool

    def call(self, *, longer: float = 0.0, times: int = 1, padding: int = 0) -> Reply:
        patience = dial.SILENCE_S + longer
        return dial.call(self.through, secure=self.secure, patience=patience, times=times, padding=padding)

    def control(self, *, times: int = 1, padding: int = 0) -> Reply:
        return dial.call(self.past, secure=self.secure, patience=dial.SILENCE_S, times=times, padding=padding)


class _Unseen(Exception):
    """Too small an effect, or on a listener of a kind, that it cannot be seen from outside."""


def bitten(cluster: CanBeBroken, links: Sequence[Link], fault: Cut | Toxic) -> str:
    """What was seen on every one of the links; `NotReady` if on one of them nothing was."""
    with ThreadPoolExecutor(min(AT_ONCE, len(links)), thread_name_prefix="kafka-trial-probe") as together:
        seen = list(together.map(lambda link: _bite(cluster, link, fault), links))
    alike: dict[str, list[str]] = {}
    for link, words in zip(links, seen, strict=True):
        alike.setdefault(words, []).append(str(link))
    return _shortened([f"{_shortened(which, ', ')}: {words}" for words, which in alike.items()], "; ")


def _shortened(words: list[str], joint: str) -> str:
    return joint.join(words[:3]) + (f"{joint}and {len(words) - 3} more" if len(words) > 3 else "")


def _bite(cluster: CanBeBroken, link: Link, fault: Cut | Toxic) -> str:
    if link.source != CLIENT and cluster.provider != "processes":
        return _listed(cluster, link, fault, "its proxy listens inside a container, so it was not called")
    ends = _ends(cluster, link)
    try:
        seen = wait_until(
            lambda: _PROBES[type(fault)](ends, fault),
            lambda seen: isinstance(seen, str),
            what=f"{KINDS[type(fault)]} seen on link {link}",
            timeout=dial.PATIENCE_S,
        )
        return str(seen)
    except _Unseen as reason:
        return _listed(cluster, link, fault, str(reason))


def _ends(cluster: CanBeBroken, link: Link) -> Ends:
    through, past = cluster.links.addresses_of(link)
    docker = cluster.provider != "processes"
    if docker:
        past = ("127.0.0.1", cluster.ports_of(link.target).direct)
    return Ends(through, past, secure=cluster.spec.security != "plaintext", docker=docker)


def _listed(cluster: CanBeBroken, link: Link, fault: Cut | Toxic, why: str) -> str:
    wanted = "cut" if isinstance(fault, Cut) else f"{fault.kind} {fault.direction}"
    wait_until(
        lambda: cluster.links.faults_on(link),
        lambda faults: wanted in faults,
        what=f"{wanted} listed for link {link}",
        timeout=dial.PATIENCE_S,
    )
    return f"Toxiproxy lists {wanted} ({why})"


# Each probe looks once and returns what it saw in words, or the reply as it came if that was nothing out of the ordinary.


def _cut(ends: Ends, fault: Cut) -> str | Reply:
    reply = ends.call()
    if reply.how == "refused":
        return "a call is refused"
    if ends.docker and reply.ended and not reply.received:  # Docker's own proxy takes the call first
        _answers(ends)
        return "a call is hung up, while past the proxy it is answered"
    return reply


def _blackhole(ends: Ends, fault: Blackhole) -> str | Reply:
    reply = ends.call()
    if reply.how != "silent" or reply.received:
        return reply
    _answers(ends)
    return f"no answer in {reply.seconds:.1f} s, while past the proxy there is one"


def _latency(ends: Ends, fault: Latency) -> str | Reply:
    longer = (fault.ms + fault.jitter) / 1000
    replies = [ends.call(longer=longer) for _ in range(1 if fault.ms > 200 and not fault.jitter else 5)]
    times = [reply.seconds * 1000 for reply in replies]
    surely = fault.ms - fault.jitter
    late = min(times) >= 0.9 * surely if surely >= fault.ms / 2 else median(times) >= fault.ms / 2
    if not late or any(reply.how != "answered" for reply in replies):
        return min(replies, key=lambda reply: reply.seconds)
    return f"an answer takes {median(times):.0f} ms, past the proxy {_answers(ends).seconds * 1000:.0f} ms"


def _bandwidth(ends: Ends, fault: Bandwidth) -> str | Reply:
    if ends.secure:
        raise _Unseen("a TLS listener takes no bulk from a stranger, so no rate was measured")
    wanted, upstream = fault.kbytes * 500, fault.direction == "upstream"  # bytes for half a second
    padding = dial.LONGEST_NAME if upstream else 0
    each = padding if upstream else _answers(ends).received
    times = max(1, min(wanted // each, (MOST_BYTES // each) if upstream else MOST_CALLS))
    expected = times * each / (fault.kbytes * 1000)
    control = ends.control(times=times, padding=padding)
    if control.how != "answered" or control.seconds > expected / 2 or expected < SHORTEST_S:
        raise _Unseen(f"{fault.kbytes} kB/s is too fast to be told from no limit here")
    reply = ends.call(longer=expected, times=times, padding=padding)
    if reply.how != "answered" or reply.seconds < 0.8 * expected:
        return reply
    rate, free = (times * each / 1000 / seconds for seconds in (reply.seconds, control.seconds))
    return f"{rate:.0f} kB/s measured, past the proxy {free:.0f} kB/s"


def _reset(ends: Ends, fault: Reset) -> str | Reply:
    reply = ends.call(longer=fault.after_ms / 1000)
    if not reply.ended or reply.received:
        return reply
    _answers(ends)
    return f"a call is {reply.how} after {reply.seconds * 1000:.0f} ms, while past the proxy it is answered"


def _slicer(ends: Ends, fault: Slicer) -> str | Reply:
    pieces, upstream = fault.size + fault.variation, fault.direction == "upstream"
    if ends.secure or not fault.delay_us or (upstream and fault.delay_us * dial.LONGEST_NAME / pieces < 4e5):
        raise _Unseen("pieces without a pause between them, or inside TLS, cannot be told apart from outside")
    reply = ends.call(padding=_padding(fault) if upstream else 0)
    if reply.how != "answered":
        return reply
    if upstream:  # the broker alone sees the pieces; what we see is the time that the pauses take
        expected = _padding(fault) / pieces * fault.delay_us / 1e6
        return f"a long request takes {reply.seconds:.2f} s in its pieces" if reply.seconds >= 0.8 * expected else reply
    usual = median(reply.pieces)  # on a busy machine some pieces wait together in our own kernel
    cut_small = usual <= 2 * pieces < reply.received
    return f"an answer comes in {len(reply.pieces)} pieces, mostly of {usual:.0f} bytes" if cut_small else reply


def _padding(fault: Slicer) -> int:
    """A request long enough for half a second of pauses."""
    return min(dial.LONGEST_NAME, int(5e5 / fault.delay_us * (fault.size + fault.variation)))


def _limit_data(ends: Ends, fault: LimitData) -> str | Reply:
    if ends.secure and fault.bytes:
        raise _Unseen("a TLS listener is greeted only once, too little to reach the limit")
    upstream = fault.direction == "upstream"
    padding = dial.LONGEST_NAME if upstream and fault.bytes > 1000 else 0
    each = len(dial.api_versions(padding)) if upstream else _answers(ends).received
    times = fault.bytes // each + 2
    if times > MOST_CALLS or times * each > MOST_BYTES:
        raise _Unseen(f"{fault.bytes} bytes are too many to send for a look")
    reply = ends.call(times=times, padding=padding)
    if not reply.ended or (not upstream and reply.received > fault.bytes):
        return reply
    _answers(ends)
    return f"the connection ends after {reply.received} bytes of answer, while past the proxy it goes on"


def _answers(ends: Ends) -> Reply:
    """The answer past the proxy. Without one, nothing that is seen through the proxy proves anything."""
    reply = ends.control()
    if reply.how != "answered":
        raise NotReady(f"past the proxy the call is {reply.how} too, so the link is not what is wrong")
    return reply


_PROBES: dict[type[Cut | Toxic], Callable[[Ends, Any], str | Reply]] = {
    Cut: _cut,
    Blackhole: _blackhole,
    Latency: _latency,
    Bandwidth: _bandwidth,
    Reset: _reset,
    Slicer: _slicer,
    LimitData: _limit_data,
}
