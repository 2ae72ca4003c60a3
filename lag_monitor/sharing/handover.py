"""What is open, kept in a compacted topic: one record an incident, in the partition of its shard. Who takes a shard over
reads its partition and carries on. Pure but for the producer that is handed in.

A record is written anew when something changed that whoever takes over must know: not for each look that found the same, or
a thousand open incidents would be written at every look.
"""

import json
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from lag_monitor.alerts import records
from lag_monitor.alerts.incidents import GAP

log = logging.getLogger(__name__)
Plain = dict[str, Any]
PARTS = ("incidents", "queue", "done")
FLOWING = ("looked", "good_for", "bad_for", "reading")  # new at every look, and known anew after the first look of another
NOT_KNOWN = ""  # a gist that nothing has


class Writes(Protocol):
    def __call__(self, shard: int, key: str, value: bytes | None) -> None: ...


def by_incident(export: Mapping[str, Any]) -> dict[str, Plain]:
    """What an instance exports, incident by incident. Notices that still wait may belong to incidents that are over."""
    parts: dict[str, Plain] = {}

    def part(name: str) -> Plain:
        return parts.setdefault(name, {name: [] for name in PARTS})

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
    return {name: [entry for part in parts.values() for entry in part.get(name, ())] for name in PARTS}


def whose(part: Plain) -> tuple[str, str]:
    """The cluster and the group it belongs to, which say to which shard."""
    for entry in (*part["incidents"], *(row["notice"] for row in part["queue"])):
        return str(entry["cluster"]), str(entry["group"])
    return "", ""


def as_tried(part: Plain) -> Plain:
    """Whoever reads this because we died cannot know whether a notice left just before: it may have."""
    return {**part, "queue": [{**row, "tries": max(1, row["tries"])} for row in part["queue"]]}


def gist(part: Plain) -> str:
    """The same as long as whoever takes over would do the same. Time without sight counts up to GAP, so every half of it a
    new record tells when it was last looked at."""
    incidents = [
        {name: value for name, value in one.items() if name not in FLOWING}
        | {"status": one["reading"]["status"], "minutes": one["looked"] // (GAP / 2)}
        for one in part["incidents"]
    ]
    queue = [
        [row["channel"], row["tries"] > 0, *(row["notice"][name] for name in ("incident", "seq", "kind"))]
        for row in part["queue"]
    ]
    return json.dumps([incidents, queue, [done[:3] for done in part["done"]]], sort_keys=True)


def readable(value: bytes) -> Plain | None:
    """None for what nobody of us can have written: it must not keep the rest from being taken over."""
    try:
        told = json.loads(value)
        part = {name: list(told[name]) for name in PARTS}
        for one in part["incidents"]:
            records.incident(one)
        for row in part["queue"]:
            records.notice(row["notice"])
            str(row["channel"]), float(row["queued_at"]), int(row["tries"])
        for incident, channel, seq, at in part["done"]:
            str(incident), str(channel), int(seq), float(at)
        gist(part)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return part if part["incidents"] or part["queue"] else None


class Ledger:
    """What the topic holds of our shards, so that only what changed is written. To be used with one lock held."""

    def __init__(self, write: Writes, shard: Callable[[str, str], int]) -> None:
        self._write, self._shard = write, shard
        self._there: dict[int, dict[str, str]] = {}  # shard → incident → the gist of what is there

    @property
    def shards(self) -> frozenset[int]:
        return frozenset(self._there)

    def __contains__(self, shard: object) -> bool:
        return shard in self._there

    def gained(self, shard: int, found: Mapping[str, bytes]) -> dict[str, Plain]:
        """What was found in it, by incident."""
        parts = {key: readable(value) for key, value in found.items()}
        bad = sorted(key for key, part in parts.items() if part is None)
        if bad:
            log.warning("%d records of shard %d cannot be read and are taken away: %s", len(bad), shard, ", ".join(bad[:5]))
        self._there[shard] = {key: NOT_KNOWN if part is None else gist(part) for key, part in parts.items()}
        return {key: part for key, part in parts.items() if part is not None}

    def lost(self, shards: Collection[int]) -> None:
        for shard in shards:
            self._there.pop(shard, None)

    def doubt(self, shard: int, key: str) -> None:
        """Something else may be there: a record was not taken, or one came from an instance that had slept."""
        if shard in self._there:
            self._there[shard][key] = NOT_KNOWN

    def ours(self, export: Mapping[str, Any]) -> dict[int, dict[str, Plain]]:
        """By shard and incident. What is not of a shard of ours is left out. What once was written stays where it is:
        whoever cannot see a cluster cannot say which shard its groups are of."""
        found: dict[int, dict[str, Plain]] = {shard: {} for shard in self._there}
        known = {key: shard for shard, there in self._there.items() for key in there}
        for key, part in by_incident(export).items():
            shard = known[key] if key in known else self._shard(*whose(part))
            if shard in found:
                found[shard][key] = part
        return found

    def publish(self, export: Mapping[str, Any], *, at_rest: bool = False) -> int:
        """How many records it took. `at_rest`: nothing is under way, nor will be."""
        written = 0
        for shard, parts in self.ours(export).items():
            there = self._there[shard]
            for key in there.keys() - parts.keys():
                self._write(shard, key, None)
                del there[key]
                written += 1
            for key, part in parts.items():
                told = part if at_rest else as_tried(part)
                now = gist(told)
                if there.get(key) != now:
                    self._write(shard, key, json.dumps(told, sort_keys=True).encode())
                    there[key] = now
                    written += 1
        return written
