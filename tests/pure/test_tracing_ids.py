"""Ids are of the right form and never twice, in threads or after a fork; and a rule decides as the SDK's sampler does."""

import os
import random
import re
import threading
from typing import Any

import pytest
from opentelemetry.sdk.trace import sampling
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from interceptors.tracing import ids
from interceptors.tracing.ids import AT_ONCE, IDS, Ids
from interceptors.tracing.sampling import known_rule, of_ratio


def test_ids_are_hexadecimal_and_none_comes_twice():
    made = [IDS.pair() for _ in range(3 * AT_ONCE)]
    spans = [IDS.span() for _ in range(3 * AT_ONCE)]

    assert all(re.fullmatch("[0-9a-f]{48}", pair) for pair in made)
    assert all(re.fullmatch("[0-9a-f]{16}", span) for span in spans)
    assert (len(set(made)), len(set(spans))) == (len(made), len(spans))


def test_an_id_of_zeros_is_never_given(monkeypatch: pytest.MonkeyPatch):
    answers = [bytes(24 * AT_ONCE), b"\x01" * 24 * AT_ONCE]
    monkeypatch.setattr(ids.os, "urandom", lambda size: answers.pop(0))

    assert Ids().pair() == "01" * 24


def test_threads_never_share_an_id():
    made: list[list[str]] = [[] for _ in range(8)]
    start = threading.Barrier(len(made))

    def take(mine: list[str]) -> None:
        start.wait()
        mine.extend(IDS.pair() for _ in range(5 * AT_ONCE))

    threads = [threading.Thread(target=take, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    together = [pair for mine in made for pair in mine]
    assert len(set(together)) == len(together) == 8 * 5 * AT_ONCE


def test_a_child_does_not_go_on_with_the_ids_of_its_parent():
    IDS.pair(), IDS.span()  # the pool is filled
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, " ".join([*(IDS.pair() for _ in range(8)), *(IDS.span() for _ in range(8))]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 4096).decode().split()
    os.close(reading), os.close(writing)
    ours = [*(IDS.pair() for _ in range(8)), *(IDS.span() for _ in range(8))]

    assert len(theirs) == 16
    assert not set(theirs) & set(ours)


SAMPLERS = [
    sampling.ALWAYS_ON,
    sampling.ALWAYS_OFF,
    sampling.DEFAULT_ON,
    sampling.DEFAULT_OFF,
    *(sampling.TraceIdRatioBased(rate) for rate in (0.0, 0.3, 0.999, 1.0)),
    sampling.ParentBasedTraceIdRatio(0.5),
    sampling.ParentBased(
        sampling.TraceIdRatioBased(0.5),
        remote_parent_sampled=sampling.TraceIdRatioBased(0.4),
        remote_parent_not_sampled=sampling.TraceIdRatioBased(0.3),
        local_parent_sampled=sampling.TraceIdRatioBased(0.2),
        local_parent_not_sampled=sampling.ALWAYS_ON,
    ),
]


def asked(sampler: sampling.Sampler, trace_id: str, parent: bool | None, remote: bool) -> bool:
    """What the SDK decides."""
    number = int(trace_id, 16)
    around = None
    if parent is not None:
        around = set_span_in_context(NonRecordingSpan(SpanContext(number, 1, remote, TraceFlags(int(parent)))))
    return sampler.should_sample(around, number, "send orders").decision.is_sampled()


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.get_description()[:60])
@pytest.mark.parametrize("parent", [None, False, True])
@pytest.mark.parametrize("remote", [False, True])
def test_a_known_rule_decides_as_the_sdk(sampler: sampling.Sampler, parent: bool | None, remote: bool):
    rule = known_rule(sampler)
    chance = random.Random(7)
    traces = [f"{chance.getrandbits(128):032x}" for _ in range(500)] + ["0" * 31 + "1", "f" * 32, "8" + "0" * 31]

    assert rule is not None
    assert [rule(trace, parent, remote) for trace in traces] == [asked(sampler, trace, parent, remote) for trace in traces]


def test_at_the_very_bound_too():
    sampler = sampling.TraceIdRatioBased(0.3)
    rule = known_rule(sampler)
    traces = [f"{'a' * 16}{sampler.bound + step:016x}" for step in (-1, 0, 1)]

    assert rule is not None
    assert [rule(trace, None, False) for trace in traces] == [asked(sampler, trace, None, False) for trace in traces]
    assert [rule(trace, None, False) for trace in traces] == [True, False, False]


class Mine(sampling.TraceIdRatioBased):
    def should_sample(self, *args: Any, **more: Any) -> sampling.SamplingResult:
        return sampling.SamplingResult(sampling.Decision.DROP)


class MineToo(sampling.ParentBased):
    def should_sample(self, *args: Any, **more: Any) -> sampling.SamplingResult:
        return sampling.SamplingResult(sampling.Decision.DROP)


@pytest.mark.parametrize(
    "sampler",
    [Mine(1.0), MineToo(sampling.ALWAYS_ON), sampling.ParentBased(Mine(1.0)), sampling.AlwaysRecordSampler(SAMPLERS[0])],
)
def test_a_sampler_that_may_do_anything_has_no_known_rule(sampler: sampling.Sampler):
    assert known_rule(sampler) is None


def test_without_a_provider_a_parent_is_followed_and_else_the_ratio_decides():
    rule = of_ratio(0.25)
    chance = random.Random(7)
    traces = [f"{chance.getrandbits(128):032x}" for _ in range(4000)]

    assert rule(traces[0], True, True)
    assert not rule(traces[0], False, True)
    assert 0.2 < sum(rule(trace, None, False) for trace in traces) / len(traces) < 0.3
