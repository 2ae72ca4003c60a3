"""Reports as tiers send them in bad and in good times, drawn by chance: each history has a topic and tiers of its own.

What is drawn: records lost or counted twice, reports lost or sent twice, reports in parts, clients that are killed, records
of unknown fate, readers that are behind or began late.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from interceptors.audit.report import Report, Stretch, Unsure
from tests.pure.audit_books import BUCKET, EVERY, T0, sketch

Arrived = tuple[Report, int]
IN_A_BUCKET = 6


@dataclass
class Life:
    topic: str
    tier: str
    role: str
    name: str
    seq: int = 0
    told_to: int | None = None  # a producer's stretches touch each other, whoever else writes between them

    def report(self, now: int, offsets: Sequence[int] = (), **more: object) -> Report:
        seq, self.seq = self.seq, self.seq + 1
        starts = sorted({offset // IN_A_BUCKET for offset in offsets})
        rows = {
            (self.topic, 0, T0 + start * BUCKET): sketch([o for o in offsets if o // IN_A_BUCKET == start])
            for start in starts
        }
        usual = {"begins": seq, "bucket_ms": BUCKET, "every_ms": EVERY, "at_ms": now, "rows": rows} | more
        return Report(tier=self.tier, role=self.role, life=self.name, seq=seq, **usual)  # type: ignore[arg-type]


def history(number: int, chance: random.Random) -> Iterator[Arrived]:
    """One topic with its producers and its reader. Times are the topic's, and rise."""
    topic, total = f"orders-{number}", chance.randint(1, 30)
    lives = [Life(topic, f"shop-{number}-{n}", "producer", f"p{number}-{n}") for n in range(chance.choice([1, 1, 2]))]
    reader = Life(topic, f"billing-{number}", "consumer", f"c{number}")
    wild = chance.random() < 0.6  # otherwise nothing goes wrong
    now = T0
    told: list[tuple[Life, Report]] = [(life, life.report(now)) for life in [*lives, reader]]
    begin = 0
    while begin < total:
        end = min(total, begin + chance.randint(1, 12))
        owner = chance.choice(lives)
        sent = list(range(begin, end))
        got = [offset for offset in sent if not (wild and chance.random() < 0.08)]
        got += [offset for offset in sent if wild and chance.random() < 0.05]
        unsure = (Unsure(topic, 0, T0, T0 + 10 * BUCKET, 1),) if wild and chance.random() < 0.1 else ()
        forgotten = sent[1:] if wild and chance.random() < 0.1 else sent  # a record that no source tells of
        own = Stretch(topic, 0, begin if owner.told_to is None else owner.told_to, end)
        owner.told_to = end
        told.append((owner, owner.report(now, forgotten, stretches=(own,), unsure=unsure)))
        if not (wild and chance.random() < 0.1):  # else the reader is never heard of these offsets
            told += [
                (reader, one)
                for one in in_parts(reader, reader.report(now, got, stretches=(Stretch(topic, 0, begin, end),)), chance)
            ]
        begin = end
    for life in [*lives, reader]:
        if not wild or chance.random() < 0.7:
            told.append((life, life.report(now, closed=True)))
    for _, report in told:
        now += chance.choice([1, EVERY // 4])
        if wild and chance.random() < 0.05:
            continue  # never arrived
        yield report, now
        if chance.random() < 0.1:
            yield report, now + 1  # sent again


def in_parts(life: Life, whole: Report, chance: random.Random) -> list[Report]:
    """As a report that is too large for one message is cut: what it accounts for stands in the last part."""
    if len(whole.rows) < 2 or chance.random() < 0.5:
        return [whole]
    items = list(whole.rows.items())
    last = replace(whole, seq=life.seq, begins=whole.seq, rows=dict(items[1:]))
    life.seq += 1
    return [replace(whole, rows=dict(items[:1]), stretches=()), last]
