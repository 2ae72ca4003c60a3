"""Tiers in a few words: who has which offsets of a partition, told in reports, as an auditor receives them."""

from collections.abc import Iterable
from typing import Any

from interceptors.audit import cells
from interceptors.audit.auditor import Auditor, Wanted
from interceptors.audit.reconcile import Judgement, Patience
from interceptors.audit.report import Report, Stretch, Unsure
from interceptors.audit.sketch import Sketch

BUCKET, EVERY, LATE = 10_000, 1_000, 60_000
T0 = 1_700_000_000_000  # a bucket begins here
SIZE = 36


def identity(offset: int, content: int = 0) -> int:
    return cells.mix(offset * 1_000_003 + content)


def sketch(offsets: Iterable[int], *, content: int = 0, size: int = SIZE) -> Sketch:
    """One that has these offsets, one after the other; the same offset twice is a record twice."""
    table, total, xor, count = cells.no_cells(size), 0, 0, 0
    offsets = list(offsets)
    for offset in offsets:
        found = identity(offset, content)
        if size:
            cells.add(table, (offset, found), 1)
        total, xor, count = (total + found) & cells.MASK, xor ^ found, count + 1
    return (
        Sketch(count, total, xor, min(offsets), max(offsets), table if size else None, {10: count}) if offsets else Sketch()
    )


class World:
    """An auditor, and a clock that moves when told."""

    def __init__(self, *wanted: Wanted, lateness_ms: int = LATE) -> None:
        self.auditor = Auditor(Patience(lateness_ms), wanted)
        self.now = T0
        self._seqs: dict[str, int] = {}

    def wait(self, ms: int) -> None:
        self.now += ms

    def produced(self, *offsets: int, tier: str = "producer", life: str = "p", **more: Any) -> Report:
        ends = {"stretch": (min(offsets), max(offsets) + 1)} if offsets else {}
        return self.told(tier, "producer", life, offsets, **(ends | more))

    def consumed(self, *offsets: int, upto: int | None = None, begin: int | None = None, tier: str = "billing",
                 life: str = "c", **more: Any) -> Report:  # fmt: skip
        low = begin if begin is not None else min(offsets, default=0)
        high = upto if upto is not None else max(offsets, default=-1) + 1
        return self.told(tier, "consumer", life, offsets, stretch=(low, high), **more)

    def told(self, tier: str, role: str, life: str, offsets: Iterable[int] = (), *, start: int = T0, seq: int | None = None,
             stretch: tuple[int, int] | None = None, unsure: tuple[Unsure, ...] = (), content: int = 0, size: int = SIZE,
             rows: dict[Any, Sketch] | None = None, lost: bool = False, **more: Any) -> Report:  # fmt: skip
        number = self._seqs.get(life, 0) if seq is None else seq
        self._seqs[life] = max(number + 1, self._seqs.get(life, 0))
        whole = sketch(offsets, content=content, size=size)
        report = Report(
            tier=tier, role=role, life=life, seq=number, at_ms=self.now, every_ms=EVERY,
            **({"begins": number, "bucket_ms": BUCKET} | more),
            rows=rows if rows is not None else {("orders", 0, start): whole} if whole else {},
            stretches=(Stretch("orders", 0, *stretch),) if stretch and stretch[0] < stretch[1] else (),
            unsure=unsure,
        )  # fmt: skip
        if not lost:
            self.auditor.add(report, self.now)
        return report

    def alive(self, *lives: tuple[str, str, str]) -> None:
        """They report, and have nothing to tell."""
        for tier, role, life in lives or (("producer", "producer", "p"),):
            self.told(tier, role, life)

    def judged(self) -> list[Judgement]:
        return self.auditor.judge(self.now)

    def verdict(self) -> Judgement:
        [one] = self.judged()
        return one
