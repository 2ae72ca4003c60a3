"""Burrow once more, written from the description of its rules and from nothing of ours: a ring of slots for each partition,
one event at a time, no columns. Slow, and plain enough to be checked by reading.

Every rule is a method, so that a test can change one and see whether anybody notices.
"""

import struct
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

Json = Mapping[str, Any]
NOTFOUND, OK, WARN, ERR, STOP, STALL, REWIND = range(7)


def float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def printed(value: float) -> float:
    """The shortest number that has the same 32 bits, which is what Burrow prints."""
    exact = float32(value)
    shorter = (float(f"{exact:.{digits}g}") for digits in range(1, 10))
    return next(short for short in shorter if float32(short) == exact)


class Slot:
    """A place in a ring that is linked to the ones beside it; `commit` is None while it is free."""

    def __init__(self) -> None:
        self.commit: dict[str, Any] | None = None
        self.before = self.after = self


class Ring:
    """`here` is the oldest commit, or the free slot that comes next."""

    def __init__(self, size: int) -> None:
        slots = [Slot() for _ in range(size)]
        for at, slot in enumerate(slots):
            slot.before, slot.after = slots[at - 1], slots[(at + 1) % size]
        self.here = slots[0]

    def commits(self) -> list[dict[str, Any]]:
        """Oldest first."""
        found, slot = [], self.here
        while True:
            if slot.commit is not None:
                found.append(slot.commit)
            slot = slot.after
            if slot is self.here:
                return found

    def rewrite(self, commits: list[dict[str, Any]]) -> None:
        """So that they end just before `here`."""
        slot = self.here
        for commit in reversed(commits):
            slot = slot.before
            slot.commit = commit


class NaiveBurrow:
    def __init__(self, case: Json, now: int) -> None:
        self.size, self.distance = case["window_size"], case["min_distance_s"] * 1000
        self.expire, self.allowed, self.least = case["expire_s"], case["allowed_lag"], float32(case["min_complete"])
        self.now = now
        self.heads: dict[int, list[list[int]]] = {}
        self.groups: dict[int, dict[int, list[Ring | None]]] = {}
        self.last_commit: dict[int, int] = {}

    def play(self, event: Json) -> None:
        (self.head, self.commit, self.owner, self.topic_deleted)[event["kind"]](event)

    # ---- what comes in ---------------------------------------------------------------------------------------------------

    def head(self, event: Json) -> None:
        partitions = self.heads.setdefault(event["topic"], [])
        while len(partitions) < event["partition_total"]:
            partitions.append([])
        ends = partitions[event["partition"]]
        ends.append(event["offset"])
        del ends[: -self.size]

    def latest_head(self, topic: int, partition: int) -> int | None:
        partitions = self.heads.get(topic, [])
        if not 0 <= partition < len(partitions) or not partitions[partition]:
            return None
        return partitions[partition][-1]

    def owner(self, event: Json) -> None:
        group = self.groups.setdefault(event["group"], {})
        if self.latest_head(event["topic"], event["partition"]) is not None:
            self.ring(group, event["topic"], event["partition"])

    def topic_deleted(self, event: Json) -> None:
        self.heads.pop(event["topic"], None)
        for topics in self.groups.values():
            topics.pop(event["topic"], None)

    def commit(self, event: Json) -> None:
        when = self.now * 1000 + event["rel_ms"]
        head = self.latest_head(event["topic"], event["partition"])
        if self.too_old(when) or head is None:
            return
        ring = self.ring(self.groups.setdefault(event["group"], {}), event["topic"], event["partition"])
        new = {"offset": event["offset"], "order": event["order"], "when": when, "lag": None}
        stored = ring.commits()
        if not stored or new["order"] > stored[-1]["order"]:
            new["lag"] = max(head - event["offset"], 0)
            self.last_commit[event["group"]] = when
            self.append(ring, stored, new)
        else:
            self.late(ring, stored, new)

    def too_old(self, when: int) -> bool:
        return when < (self.now - self.expire) * 1000

    def ring(self, group: dict[int, list[Ring | None]], topic: int, partition: int) -> Ring:
        """A topic that is new to a group comes with all partitions that are known, empty; they grow only by need."""
        partitions = group.setdefault(topic, [])
        if partition >= len(partitions):
            partitions.extend([None] * (len(self.heads[topic]) - len(partitions)))
        found = partitions[partition]
        if found is None:
            found = partitions[partition] = Ring(self.size)
        return found

    def append(self, ring: Ring, stored: list[dict[str, Any]], new: dict[str, Any]) -> None:
        if stored and self.too_soon(stored[-1], new):
            self.merge(stored[-1], new)
            return
        ring.here.commit = new
        ring.here = ring.here.after

    def late(self, ring: Ring, stored: list[dict[str, Any]], new: dict[str, Any]) -> None:
        full = len(stored) == self.size
        if full and new["order"] <= stored[0]["order"]:
            return
        if new["order"] in [one["order"] for one in stored]:
            return
        older = [one for one in stored if one["order"] < new["order"]]
        younger = stored[len(older) :]
        if not older or (full and len(older) == 1):
            ring.rewrite([new, *younger])  # in front, or in place of the oldest: no look at the distance
        elif self.too_soon(older[-1], new):
            self.merge(older[-1], new)
        elif full:
            ring.rewrite([*older[1:], new, *younger])
        else:
            ring.here = ring.here.after
            ring.rewrite([*older, new, *younger])

    def too_soon(self, neighbour: Json, new: Json) -> bool:
        return bool(new["when"] - neighbour["when"] < self.distance)

    def merge(self, neighbour: dict[str, Any], new: Json) -> None:
        neighbour.update(offset=new["offset"], order=new["order"], lag=new["lag"])  # the time stays

    # ---- what is answered ------------------------------------------------------------------------------------------------

    def answer(self, group: int) -> dict[str, Any]:
        expired = (self.now - self.expire) * 1000 > self.last_commit.get(group, 0)
        if group not in self.groups or expired:
            return self.told(NOTFOUND, 1.0, [])
        partitions = [
            self.partition(topic, number, ring)
            for topic, rings in sorted(self.groups[group].items())
            for number, ring in enumerate(rings)
        ]
        if not partitions:
            return self.told(OK, 0.0, [])
        worst = max(one["status"] for one in partitions)
        full = sum(one["complete"] == 1.0 for one in partitions)
        return self.told(min(worst, ERR), printed(full / len(partitions)), partitions)

    @staticmethod
    def told(status: int, complete: float, partitions: list[dict[str, Any]]) -> dict[str, Any]:
        lags = [one["current_lag"] for one in partitions]
        return {
            "status": status,
            "complete": complete,
            "partition_count": len(partitions),
            "not_ok_partitions": sum(one["status"] > OK for one in partitions),
            "total_lag": sum(lags),
            "max_lag": max(lags) if lags else None,
            "partitions": partitions,
        }

    def partition(self, topic: int, number: int, ring: Ring | None) -> dict[str, Any]:
        commits = ring.commits() if ring else []
        head = self.latest_head(topic, number)
        lag = max(head - commits[-1]["offset"], 0) if commits and head is not None else 0
        complete = 0.0 if ring is None else float32(max(len(commits), 1) / self.size)
        judged = commits and complete >= self.least
        return {
            "topic": topic,
            "partition": number,
            "status": self.status(commits, lag, self.heads[topic][number]) if judged else OK,
            "current_lag": lag,
            "complete": printed(complete) if complete else 0.0,
            "start": self.shown(commits[0]) if commits else None,
            "end": self.shown(commits[-1]) if commits else None,
        }

    def shown(self, commit: Json) -> dict[str, Any]:
        return {"offset": commit["offset"], "rel_ms": commit["when"] - self.now * 1000, "lag": commit["lag"]}

    def status(self, commits: list[dict[str, Any]], lag: int, ends: list[int]) -> int:
        if lag <= self.allowed:
            return OK
        if self.silent(commits) and not self.was_at_the_end(commits, ends):
            return STOP
        if self.rewound(commits):
            return REWIND
        if not self.always_behind(commits):
            return OK
        if self.still(commits):
            return STALL
        return WARN if self.never_falls(commits) else OK

    def silent(self, commits: list[dict[str, Any]]) -> bool:
        first, last = commits[0]["when"], commits[-1]["when"]
        return bool(self.now * 1000 - last > last - first)

    def was_at_the_end(self, commits: list[dict[str, Any]], ends: list[int]) -> bool:
        return any(end <= commits[-1]["offset"] for end in ends)

    def rewound(self, commits: list[dict[str, Any]]) -> bool:
        for at in range(1, len(commits)):
            before = commits[at - 1]["offset"]
            if commits[at]["offset"] < before:
                return all(later["offset"] < before for later in commits[at:])  # of the first step back, and no other
        return False

    def always_behind(self, commits: list[dict[str, Any]]) -> bool:
        return all(one["lag"] > self.allowed for one in commits if one["lag"] is not None)

    def still(self, commits: list[dict[str, Any]]) -> bool:
        return len({one["offset"] for one in commits}) == 1

    def never_falls(self, commits: list[dict[str, Any]]) -> bool:
        known = [one["lag"] for one in commits if one["lag"] is not None]
        return all(later >= earlier for earlier, later in pairwise(known))


def naive_answer(case: Json, now: int, model: type[NaiveBurrow] = NaiveBurrow) -> dict[str, Any]:
    burrow = model(case, now)
    for event in case["events"]:
        burrow.play(event)
    return burrow.answer(case["ask_group"])
