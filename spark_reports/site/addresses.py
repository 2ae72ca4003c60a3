"""Where each page lies: file names from names of foreign files, none outside the site and no two alike."""

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import quote

from spark_reports.contents import Report

ODD = re.compile(r"[^A-Za-z0-9._=+-]")
LONGEST = 150  # some file systems end at 255 bytes


class Addresses:
    """Of pages, from the site's root. None for what has no page, so that a link is never dead."""

    def __init__(self, report: Report) -> None:
        self._scenarios = _filed("scenarios", (scenario.name for scenario in report.scenarios))
        self._runs = _filed("runs", (run.key for run in report.runs))

    def scenario(self, name: str) -> str | None:
        return self._scenarios.get(name)

    def run(self, key: str) -> str | None:
        return self._runs.get(key)


class Links:
    """The same, from a page in the root or in a folder of it."""

    def __init__(self, addresses: Addresses, root: str) -> None:
        self.root = root
        self._addresses = addresses

    def scenario(self, name: str) -> str | None:
        return self._from_here(self._addresses.scenario(name))

    def run(self, key: str) -> str | None:
        return self._from_here(self._addresses.run(key))

    def own_report(self, address: str) -> str:
        """Told by a foreign file: behind ./ it can only be a path, whatever scheme it begins with."""
        return f"{self.root or './'}{quote(address)}"

    def _from_here(self, address: str | None) -> str | None:
        return None if address is None else self.root + address


def _filed(folder: str, names: Iterable[str]) -> dict[str, str]:
    filed: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in filed:
            continue
        stem = _stem(name)
        stem = _unlike_others(stem, name) if stem.lower() in taken else stem  # some file systems do not tell cases apart
        taken.add(stem.lower())
        filed[name] = f"{folder}/{stem}.html"
    return filed


def _stem(name: str) -> str:
    plain = name.replace("/", "_")
    safe = ODD.sub("-", plain).lstrip(".")
    return safe if safe == plain and 0 < len(safe) <= LONGEST else _unlike_others(safe or "unnamed", name)


def _unlike_others(stem: str, name: str) -> str:
    return f"{stem[: LONGEST - 50]}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:12]}"
