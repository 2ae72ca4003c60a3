"""Which dashboards are drawn: files, folders of files, or without either our own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dashboards.reading import Dashboard, dashboard_of, read
from kernel.errors import UsageError


def ours() -> list[Dashboard]:
    from dashboards.build import dashboards

    return [dashboard_of(document, name) for name, document in dashboards().items()]


def load(places: Sequence[Path]) -> list[Dashboard]:
    return [one for place in places for one in (_folder(place) if place.is_dir() else [read(place)])]


def _folder(place: Path) -> Iterator[Dashboard]:
    files = sorted(place.glob("*.json"))
    if not files:
        raise UsageError(f"{place} holds no dashboard: there is no .json file in it.")
    for file in files:
        yield read(file)
