"""The catalogue held against a live node: what is there, what is lost, what nobody knew of, what is of another kind. Pure.

A metric that vanished with an upgrade leaves an empty panel and an alert that can never fire. Here it fails.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from exporters.readings import Reading
from exporters.selection import comes_later, missing, not_told, roles_of
from exporters.shaping import version_of
from exporters.translate import Translator
from kernel.metric_tables.left_out import LEFT_OUT
from kernel.metrics import Kind, Metric


@dataclass(frozen=True, slots=True)
class Verified:
    version: tuple[int, ...]
    roles: frozenset[str]
    present: list[Metric] = field(default_factory=list)
    missing: list[Metric] = field(default_factory=list)  # that this node should have: a loss
    dormant: list[Metric] = field(default_factory=list)  # that come with an event which has not been yet, or with an office
    unexpected: list[str] = field(default_factory=list)  # beans that neither the catalogue nor its omissions name
    wrong: list[str] = field(default_factory=list)  # sentences

    @property
    def holds(self) -> bool:
        return not (self.missing or self.wrong)


def verify(metrics: Sequence[Metric], readings: Sequence[Reading]) -> Verified:
    """`readings`: everything a node has, not only what the catalogue asks for."""
    translator = Translator(metrics)
    told = translator.translate(readings)
    version, roles = version_of(told), roles_of(metrics, told.seen)
    return Verified(
        version,
        roles,
        [metric for metric in metrics if metric.key in told.seen],
        missing(metrics, told, version),
        [metric for metric in not_told(metrics, told, version) if comes_later(metric, told)],
        _unexpected(translator, readings),
        _wrong(translator, readings),
    )


def left_out(bean: str) -> str:
    """Why a bean is not exported; empty if nobody knows it."""
    return next((why for pattern, why in LEFT_OUT.items() if fnmatchcase(bean.removeprefix("kafka."), pattern)), "")


def _unexpected(translator: Translator, readings: Iterable[Reading]) -> list[str]:
    beans = dict.fromkeys(reading.bean for reading in readings if reading.bean.startswith("kafka."))
    return sorted(bean for bean in beans if not translator.wanted(bean) and not left_out(bean))


def _wrong(translator: Translator, readings: Iterable[Reading]) -> list[str]:
    found = []
    for reading in readings:
        for metric, _ in translator.wanted(reading.bean):
            if reading.attribute not in (metric.attribute, metric.total) or reading.value is None:
                continue
            is_word = isinstance(reading.value, str) and not _number(reading.value)
            if is_word is not (metric.kind is Kind.STATE):
                should = "a word" if metric.kind is Kind.STATE else "a number"
                found.append(f"{reading.bean} {reading.attribute} should be {should} and is {reading.value!r}")
    return found


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
