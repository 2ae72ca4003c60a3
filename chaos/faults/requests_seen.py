"""What became of a request on the wire: did it come, was it answered, how late was it sent on, is its connection closed?"""

from compose.frames.apis import api_name
from compose.frames.proxy import FrameProxy
from compose.frames.rules import Armed, Sighting
from kernel.errors import NotReady
from kernel.waiting import wait_until

AtWork = list[tuple[FrameProxy, Armed]]  # one, or none while the fault is not applied


def never_answered(work: AtWork, what: str, patience: float) -> str:
    """Held or dropped: it came, and no answer to it was seen on its way back."""
    frames, caught = _caught(work, patience)
    answers = [each for each in frames.seen(direction="response") if _same(each, caught)]
    if answers:
        raise NotReady(f"{_called(caught)} was to be {what}, and was answered all the same.")
    return f"{_called(caught)} is {what}, and no answer to it goes back"


def delayed(work: AtWork, patience: float) -> str:
    frames, caught = _caught(work, patience)
    gone_on = wait_until(
        lambda: [each for each in frames.seen(direction="request") if each.done == "released" and _same(each, caught)],
        bool, what=f"{_called(caught)} sent on", timeout=patience,
    )  # fmt: skip
    late = (gone_on[0].t_ns - caught.t_ns) / 1e6
    if late < work[0][1].rule.ms:
        raise NotReady(f"{_called(caught)} was sent on after {late:.0f} ms, not after {work[0][1].rule.ms} ms.")
    return f"{_called(caught)} was sent on {late:.0f} ms late"


def cut_off(work: AtWork, patience: float) -> str:
    frames, caught = _caught(work, patience)
    wait_until(
        frames.lines, lambda lines: caught.line not in lines, what=f"the connection of {_called(caught)} is closed",
        timeout=patience,
    )  # fmt: skip
    return f"{_called(caught)} came, and its connection is closed"


def _caught(work: AtWork, patience: float) -> tuple[FrameProxy, Sighting]:
    if not work:
        raise NotReady("no request was chosen: the fault is not applied.")
    frames, armed = work[0]
    return frames, armed.wait_caught(timeout=patience)


def _same(other: Sighting, caught: Sighting) -> bool:
    return (other.line, other.correlation) == (caught.line, caught.correlation)


def _called(caught: Sighting) -> str:
    return f"{api_name(caught.api)} v{caught.version} of {caught.client} to broker {caught.broker}"
