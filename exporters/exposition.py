"""Families as text, in pieces that can be put together again while somebody waits.

Rendering is done when values arrive; a scrape only joins what is fresh. Each piece is one family of one node, because
all lines of a family must stand together, whatever nodes they came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from exporters.translate import Family, Labels
from kernel.metrics import Kind


class Format(StrEnum):
    TEXT = "text"
    OPENMETRICS = "openmetrics"


CONTENT_TYPES = {
    Format.TEXT: "text/plain; version=0.0.4; charset=utf-8",
    Format.OPENMETRICS: "application/openmetrics-text; version=1.0.0; charset=utf-8",
}
_TYPES = {Kind.STATE: "gauge"}


def wanted_format(accept: str) -> Format:
    return Format.OPENMETRICS if "application/openmetrics-text" in accept else Format.TEXT


@dataclass(slots=True)
class Piece:
    header: str
    lines: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """One node's families, as text, in every format; keyed by family so that nodes can be joined."""

    pieces: Mapping[Format, Mapping[str, Piece]] = field(default_factory=dict)


def render(families: Iterable[Family], labels: Mapping[str, str]) -> Rendered:
    """`labels` say which node it was, and stand on every line."""
    found = list(families)
    return Rendered({form: _pieces(found, labels, form) for form in Format})


def join(nodes: Sequence[Rendered], form: Format) -> bytes:
    merged: dict[str, list[str]] = {}
    for node in nodes:
        for name, piece in node.pieces.get(form, {}).items():
            merged.setdefault(name, [piece.header]).append(piece.lines)
    return "".join(part for parts in merged.values() for part in parts).encode()


def end(form: Format) -> bytes:
    return b"# EOF\n" if form is Format.OPENMETRICS else b""


def _pieces(families: list[Family], labels: Mapping[str, str], form: Format) -> dict[str, Piece]:
    from prometheus_client import exposition
    from prometheus_client.openmetrics import exposition as openmetrics

    encode = openmetrics.generate_latest if form is Format.OPENMETRICS else exposition.generate_latest
    pieces = {}
    for family in families:
        text = encode(_Registry(_as_prometheus(family, labels))).decode()
        lines = text.removesuffix("# EOF\n").splitlines(keepends=True)
        head = [line for line in lines if line.startswith("#")]
        body = [line for line in lines if not line.startswith("#")]
        pieces[family.metric.name] = Piece("".join(head), "".join(body))
    return pieces


def _as_prometheus(family: Family, labels: Mapping[str, str]) -> Any:
    from prometheus_client.metrics_core import Metric as Prometheus

    metric = family.metric
    name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
    made = Prometheus(name, metric.help, _TYPES.get(metric.kind, metric.kind.value))
    for suffix, own, value in family.samples:
        made.add_sample(name + suffix, _joined(labels, own), value)
    return made


def _joined(labels: Mapping[str, str], own: Labels) -> dict[str, str]:
    return {**labels, **dict(own)}


class _Registry:
    """What prometheus_client asks of a registry, for one family."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric

    def collect(self) -> list[Any]:
        return [self._metric]
