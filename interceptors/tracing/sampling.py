"""Is this trace recorded? Decided here wherever the SDK's own sampler is one whose rule is known.

Asking the SDK costs 4 µs for a record that nobody will see; the rule itself is a comparison. Tests hold these rules against
the SDK's samplers over many ids.
"""

from collections.abc import Callable
from typing import Any

# (trace id, what the parent decided or None if there is no parent, whether the parent is of another process)
Rule = Callable[[str, bool | None, bool], bool]

ALL = 1 << 64


def always(_trace_id: str, _parent: bool | None, _remote: bool) -> bool:
    return True


def never(_trace_id: str, _parent: bool | None, _remote: bool) -> bool:
    return False


def ratio(bound: int) -> Rule:
    """The SDK's: by the lower half of the trace id, so that 64-bit ids are decided alike."""
    if bound >= ALL:
        return always
    if bound <= 0:
        return never
    limit = f"{bound:016x}"  # digits of one length compare as their numbers do

    def rule(trace_id: str, _parent: bool | None, _remote: bool) -> bool:
        return trace_id[16:32] < limit

    return rule


def following(root: Rule, remote: tuple[Rule, Rule] = (never, always), local: tuple[Rule, Rule] = (never, always)) -> Rule:
    """A parent's decision holds; without one `root` decides. The pairs are for a parent that is not sampled, and that is."""

    def rule(trace_id: str, parent: bool | None, is_remote: bool) -> bool:
        if parent is None:
            return root(trace_id, None, False)
        return (remote if is_remote else local)[parent](trace_id, parent, is_remote)

    rule.root = root  # type: ignore[attr-defined]
    return rule


def of_ratio(rate: float) -> Rule:
    """What `interceptor.tracing.sample` means, where there is no provider with a sampler."""
    return following(ratio(round(rate * ALL)))


def known_rule(sampler: Any) -> Rule | None:
    """The rule of an SDK's sampler, or None if it is of another kind (a subclass may do anything) and must be asked."""
    from opentelemetry.sdk.trace import sampling

    kind = type(sampler)
    if kind is sampling.TraceIdRatioBased:
        return ratio(sampler.bound)
    if isinstance(sampler, sampling.StaticSampler) and kind.should_sample is sampling.StaticSampler.should_sample:
        return {"AlwaysOnSampler": always, "AlwaysOffSampler": never}.get(sampler.get_description())
    if isinstance(sampler, sampling.ParentBased) and kind.should_sample is sampling.ParentBased.should_sample:
        return _parent_based(sampler)
    return None


def _parent_based(sampler: Any) -> Rule | None:
    """Its parts are private: without them, or with one that is unknown, it is asked."""
    names = (
        "root",
        "remote_parent_not_sampled",
        "remote_parent_sampled",
        "local_parent_not_sampled",
        "local_parent_sampled",
    )
    parts = [getattr(sampler, f"_{name}", None) for name in names]
    rules = [known_rule(part) for part in parts if part is not None]
    if len(rules) != len(names) or None in rules:
        return None
    root, *rest = rules
    return following(root, (rest[0], rest[1]), (rest[2], rest[3]))  # type: ignore[arg-type]
