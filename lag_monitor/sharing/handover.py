"""What is open, kept in a compacted topic: one record an incident, in the partition of its shard. Who takes a shard over
reads its partition and carries on. Pure but for the producer that is handed in.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

Plain = dict[str, Any]


class Writes(Protocol):
    def __call__(self, shard: int, key: str, value: bytes | None) -> None: ...


def by_incident(export: Mapping[str, Any]) -> dict[str, Plain]:
    """What an instance exports, incident by incident. Notices that still wait may belong to incidents that are over."""
    parts: dict[str, Plain] = {}

    def part(name: str) -> Plain:
        return parts.setdefault(name, {"incidents": [], "queue": [], "done": []})

    for incident in export.get("incidents", ()):
        part(incident["id"])["incidents"].append(incident)
    for row in export.get("queue", ()):
        part(row["notice"]["incident"])["queue"].append(row)
    for done in export.get("done", ()):
        if done[0] in parts:  # of what is over and told, nobody needs to know
            part(done[0])["done"].append(done)
    return parts


def together(parts: Mapping[str, Plain]) -> Plain:
    """The other way round."""
    whole: Plain = {"incidents": [], "queue": [], "done": []}
    for part in parts.values():
        for name, entries in whole.items():
            entries += part.get(name, ())
    return whole


def whose(part: Plain) -> tuple[str, str]:
    """The cluster and the group it belongs to, which say to which shard."""
    for entry in (*part["incidents"], *(row["notice"] for row in part["queue"])):
        return str(entry["cluster"]), str(entry["group"])
    return "", ""


class Ledger:
    """What the topic holds of our shards, so that only what changed is written."""

    def __init__(self, write: Writes, shard: Callable[[str, str], int]) -> None:
        self._write, self._shard = write, shard
        self._held: dict[int, dict[str, bytes]] = {}  # shard → incident → what is there

    def gained(self, shard: int, found: Mapping[str, bytes]) -> Plain:
        self._held[shard] = dict(found)
        return together({key: json.loads(value) for key, value in found.items()})

    def lost(self, shard: int) -> None:
        self._held.pop(shard, None)

    def publish(self, export: Mapping[str, Any]) -> int:
        """How many records it took. What is not of a shard of ours is not ours to write."""
        wanted: dict[int, dict[str, bytes]] = {shard: {} for shard in self._held}
        for key, part in by_incident(export).items():
            shard = self._shard(*whose(part))
            if shard in wanted:
                wanted[shard][key] = json.dumps(part, sort_keys=True).encode()
        written = 0
        for shard, parts in wanted.items():
            held = self._held[shard]
            for key in held.keys() - parts.keys():
                self._write(shard, key, None)
                written += 1
            for key, value in parts.items():
                if held.get(key) != value:
                    self._write(shard, key, value)
                    written += 1
            self._held[shard] = parts
        return written
