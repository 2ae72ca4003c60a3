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


@dataclass(frozen=True, slots=True)
class Piece:
    """One family of one node."""

    header: bytes
    lines: bytes


@dataclass(frozen=True, slots=True)
class Rendered:
    """One node's families, as text, in every format; keyed by family so that nodes can be joined."""

    pieces: Mapping[Format, Mapping[str, Piece]] = field(default_factory=dict)


Series = tuple[str, str, Labels]  # family, what its kind adds to the name, labels
Written = tuple[str, ...]  # a series as each format writes it, up to its value


class Renderer:
    """One for each node. The same series come with every collection, so how each is written is remembered, and only their
    values are written anew."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)  # say which node it was, and stand on every line
        self._headers: dict[str, tuple[bytes, ...]] = {}
        self._written: dict[Series, Written] = {}

    def render(self, families: Iterable[Family]) -> Rendered:
        from prometheus_client.utils import floatToGoString

        pieces: tuple[dict[str, Piece], ...] = tuple({} for _ in Format)
        used: dict[Series, Written] = {}
        for family in families:
            name = family.metric.name
            found = self._known(family, used)
            values = [floatToGoString(value) for _, _, value in family.samples]  # type: ignore[no-untyped-call]
            for number, of_form in enumerate(pieces):
                lines = "".join([f"{one[number]} {value}\n" for one, value in zip(found, values, strict=True)])
                of_form[name] = Piece(self._headers[name][number], lines.encode())
        self._written = used  # what was not there this time is forgotten
        return Rendered(dict(zip(Format, pieces, strict=True)))

    def _known(self, family: Family, used: dict[Series, Written]) -> list[Written]:
        name = family.metric.name
        keys = [(name, suffix, labels) for suffix, labels, _ in family.samples]
        new = [
            sample for key, sample in zip(keys, family.samples, strict=True) if key not in self._written and key not in used
        ]
        if new or name not in self._headers:
            lines = [_encoded(Family(family.metric, new), self._labels, form).splitlines(keepends=True) for form in Format]
            self._headers[name] = tuple("".join(line for line in told if line.startswith("#")).encode() for told in lines)
            prefixes = [[line.rpartition(" ")[0] for line in told if not line.startswith("#")] for told in lines]
            for (suffix, labels, _), *written in zip(new, *prefixes, strict=True):
                used[name, suffix, labels] = tuple(written)
        found = []
        for key in keys:
            used[key] = used.get(key) or self._written[key]
            found.append(used[key])
        return found


def render(families: Iterable[Family], labels: Mapping[str, str]) -> Rendered:
    return Renderer(labels).render(families)


def join(nodes: Sequence[Rendered], form: Format) -> bytes:
    merged: dict[str, list[bytes]] = {}
    for node in nodes:
        for name, piece in node.pieces.get(form, {}).items():
            merged.setdefault(name, [piece.header]).append(piece.lines)
    return b"".join(part for parts in merged.values() for part in parts)


def end(form: Format) -> bytes:
    return b"# EOF\n" if form is Format.OPENMETRICS else b""


def _encoded(family: Family, labels: Mapping[str, str], form: Format) -> str:
    """As Prometheus' own library writes it, which knows what has to be escaped."""
    from prometheus_client import exposition
    from prometheus_client.metrics_core import Metric as Prometheus
    from prometheus_client.openmetrics import exposition as openmetrics

    metric = family.metric
    name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
    made = Prometheus(name, metric.help, _TYPES.get(metric.kind, metric.kind.value))
    for suffix, own, value in family.samples:
        made.add_sample(name + suffix, {**labels, **dict(own)}, value)
    encode = openmetrics.generate_latest if form is Format.OPENMETRICS else exposition.generate_latest
    return encode(_Registry(made)).decode().removesuffix("# EOF\n")


class _Registry:
    """What prometheus_client asks of a registry, for one family."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric

    def collect(self) -> list[Any]:
        return [self._metric]
