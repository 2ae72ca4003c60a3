"""A nightly report as a platform team would get it, made up but consistent in itself: what pages are drawn from in tests."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from statistics import median

from spark_reports import contents as c

LAST = date(2026, 11, 17)
PROMISES = {
    "leader-election": "the leader is killed, paused or isolated: nothing acknowledged is lost, and it is replaced in time",
    "acks-exposure": "N records reach the leader alone, which is then killed: acks=all promised none of them and loses none",
    "rolling-restart": "brokers restart one by one, the controller last: nothing is lost, and no application sees an error",
    "controller-election": "the active controller is killed: another takes over in time, and no partition notices",
    "idempotence": "acknowledgements are lost on their way back: an idempotent producer's records are there once",
    "storm": "random faults from a seed, several at a time: nothing acknowledged is lost, and everything comes back",
}
USUAL_S = {
    "leader-election": 9.1,
    "acks-exposure": 4.0,
    "rolling-restart": 1.4,
    "controller-election": 0.35,
    "idempotence": 2.6,
}
CONFIG = "acks=all how=kill · quick · 3 brokers"
TWIN = "acks=1 how=kill · quick · 3 brokers"
FOLDER = "/srv/trials/runs"


def example_report(
    *,
    names: Sequence[str] = tuple(PROMISES),
    versions: Sequence[str] = ("4.3.1", "3.9.1"),
    nights: int = 20,
    repeats: int = 4,
    regressed: bool = True,
    flaky: bool = True,
    failing: bool = True,
    never: bool = True,
    watched: bool = True,
    unreadable: int = 2,
    clashes: int = 1,
    baseline: bool = True,
    sentence: str = "",
    seed: int = 8,
) -> c.Report:
    """The last night is judged against those before it. `never`: storms from which a partition does not come back."""
    chance = random.Random(seed)
    days = [LAST - timedelta(days=back) for back in reversed(range(nights))]
    runs = [
        _run(chance, day, name, version, config, number, regressed=regressed, flaky=flaky, failing=failing, never=never)
        for day in days[0 if baseline else -1 :]
        for name in names
        for version in versions
        for config in ((CONFIG, TWIN) if name == "acks-exposure" else (CONFIG,))
        for number in range(repeats)
    ]
    if sentence:
        runs = [
            one.model_copy(update={"reasons": [sentence], "findings": [sentence] * 10, "trouble": sentence}) for one in runs
        ]
    current = [one for one in runs if one.current]
    worse = _regressions(current, names, versions) if regressed and baseline else []
    odd = [one for one in current if one.seed == 7 and one.scenario == "idempotence"] if flaky else []
    return c.Report(
        made=datetime(2026, 11, 17, 5, 30, tzinfo=UTC),
        made_by="kafka-trial 0.1.0",
        headline=_headline(worse, current),
        regressed=bool(worse),
        current=c.Span(first=LAST, last=LAST, runs=len(current)),
        baseline=c.Span(first=days[0], last=days[-2], runs=len(runs) - len(current)) if baseline and nights > 1 else None,
        baseline_words="the nights of the 30 days before 2026-11-17 that are known"
        if baseline
        else "none: no run of the 30 days before 2026-11-17 is known",
        totals=c.Totals(
            runs=len(current),
            passed=sum(one.verdict == "PASS" for one in current),
            failed=sum(one.verdict == "FAIL" for one in current),
            inconclusive=sum(one.verdict == "INCONCLUSIVE" for one in current),
            unreadable=unreadable,
            acknowledged=sum(one.acknowledged for one in current),
        ),
        scenarios=[_scenario(name, [one for one in runs if one.scenario == name], watched) for name in names],
        regressions=worse,
        changes=[
            "rolling-restart recovers in 1.4 s on 4.3.1, before 2.2 s.",
            "acks-exposure (acks=1) is new on 4.3.1: nothing to compare it with.",
        ]
        if worse
        else [],
        flaky=[_flaky(odd)] if len({one.verdict for one in odd}) > 1 else [],
        anomalies=[_anomaly(one, name, sentence) for one in current for name, count in one.counts.items() if count],
        slowest=_slowest(current),
        costs=_costs(current, sentence),
        delays=_delays(names) if watched else [],
        audits=_audits(current) if watched else [],
        unreadable=[
            c.Unreadable(
                folder=f"{FOLDER}/2026-11-17/storm/04{number:02}11-dead",
                sentence=sentence or "verdict.json ends in the middle, at byte 4096: judge it again with kafka-trial check.",
            )
            for number in range(unreadable)
        ],
        clashes=[
            c.Clash(key=one.key, folders=[one.folder, one.folder.replace("/srv/trials/", "/srv/copied/")])
            for one in current[:clashes]
        ],
        runs=runs,
    )  # fmt: skip


def _run(
    chance: random.Random, day: date, name: str, version: str, config: str, number: int, *,
    regressed: bool, flaky: bool, failing: bool, never: bool,
) -> c.Run:  # fmt: skip
    current = day == LAST
    usual = USUAL_S.get(name, 6.0)
    slow = 1.6 if regressed and current and (name, version) == ("leader-election", "4.3.1") else 1.0
    gap = usual * slow * chance.lognormvariate(0, 0.35 if name == "storm" else 0.09)
    stuck = never and name == "storm" and chance.random() < 0.15
    lost = failing and ((config == TWIN) or (current and name == "storm" and version == "3.9.1" and number == 0))
    unsure = flaky and name == "idempotence" and current and number == 1
    late = lost or stuck
    began = datetime(day.year, day.month, day.day, 1, 0, tzinfo=UTC) + timedelta(
        minutes=number * 7, seconds=chance.random() * 50
    )
    run_id = f"{began:%H%M%S}-{chance.randrange(16**4):04x}"
    key = f"{day}/{name}/{run_id}"
    acknowledged = chance.randrange(9_000, 13_000)
    findings = [f"orders-0 @ {930 + one}: acknowledged to producer-1, never read." for one in range(10)] if lost else []
    reasons = ["100 acknowledged records are lost."] if lost else []
    reasons += ["orders-0 never recovered: bound 15.1 s."] if stuck else []
    reasons += ["The closing reader did not reach the end of orders-1."] if unsure else []
    fault = c.FaultSpan(id="f1", sentence="broker 2 is killed (SIGKILL)", begin_s=5.1, end_s=25.1, bite_s=5.2)
    return c.Run(
        key=key, run_id=run_id, date=day, started=began, scenario=name, kafka=version, config=config,
        seed=7 if number < 2 else chance.randrange(10**9), duration_s=33.0 + chance.random(),
        verdict="FAIL" if late else "INCONCLUSIVE" if unsure else "PASS", reasons=reasons,
        acknowledged=acknowledged, read=acknowledged - (100 if lost else 0), rows=acknowledged * 4,
        counts={"lost-write": 100 if lost else 0, "duplicate": 3 if config == TWIN and failing else 0},
        permitted=["duplicate"], findings=findings,
        recovery_s=round(24.0 if stuck else gap, 3), recovery_open=stuck, availability=round(1 - gap / 330, 5),
        recovery=[
            _row("orders", 0, 24.0 if stuck else gap, stuck),
            _row("orders", 1, gap * 0.8, False), _row("other", 0, 0.2, False),
        ],
        faults=[fault], folder=f"{FOLDER}/{key}", current=current,
        report=None if number % 2 else f"../runs/{key}/report.html",
    )  # fmt: skip


def _row(topic: str, partition: int, gap: float, stuck: bool) -> c.RecoveryRow:
    touched = topic == "orders"
    return c.RecoveryRow(
        fault="f1", operation="send", topic=topic, partition=partition, affected=touched, gap_s=round(gap, 3), open=stuck,
        detect_s=0.4 if touched else None, elect_s=round(gap * 0.97, 3) if touched and not stuck else None,
        first_success_s=None if stuck else round(gap, 3), full_isr_s=22.0 if touched and not stuck else None,
        drained_s=None if stuck else round(gap + 0.2, 3), bound_s=15.1 if touched else 3.0, within=not stuck and gap < 15.1,
    )  # fmt: skip


def spread(values: Sequence[float], never: int = 0) -> c.Spread:
    """The last `never` of the sorted values are open; a percentile among them is None."""
    known, closed = sorted(values), len(values) - never

    def at(part: float) -> float | None:
        place = min(int(part * len(known)), len(known) - 1)
        return round(known[place], 3) if known and place < closed else None

    return c.Spread(
        n=len(known), open=never, median_s=at(0.5), median_low_s=at(0.3), median_high_s=at(0.7), p95_s=at(0.95),
        p95_low_s=at(0.9), p95_high_s=at(0.99), worst_s=known[-1] if known else None, worst_open=never > 0,
    )  # fmt: skip


def _of(runs: Sequence[c.Run]) -> c.Spread:
    ordered = sorted(runs, key=lambda one: (one.recovery_open, one.recovery_s or 0.0))
    return spread([one.recovery_s or 0.0 for one in ordered], sum(one.recovery_open for one in runs))


def _scenario(name: str, runs: list[c.Run], watched: bool) -> c.Scenario:
    groups = sorted({(one.kafka, one.config) for one in runs}, reverse=True)
    by = {of: [one for one in runs if (one.kafka, one.config) == of] for of in groups}
    current = [one for one in runs if one.current]
    worst = max(current, key=lambda one: (one.recovery_open, one.recovery_s or 0.0), default=None)
    return c.Scenario(
        name=name,
        promise=PROMISES.get(name, "a promise"),
        cells=[_cell(name, *of, some) for of, some in by.items() if any(one.current for one in some)],
        trends=[_trend(*of, operation, some) for operation in ("send", "poll") for of, some in by.items()],
        worst=_timeline(worst, watched) if worst else None,
    )


def _cell(name: str, kafka: str, config: str, runs: list[c.Run]) -> c.Cell:
    now, before = [one for one in runs if one.current], {one.verdict for one in runs if not one.current}
    return c.Cell(
        scenario=name, kafka=kafka, config=config, runs=len(now), passed=sum(one.verdict == "PASS" for one in now),
        failed=sum(one.verdict == "FAIL" for one in now), inconclusive=sum(one.verdict == "INCONCLUSIVE" for one in now),
        latest=now[-1].key, latest_verdict=now[-1].verdict, expected=before.pop() if len(before) == 1 else None,
        availability=min((one.availability or 1.0 for one in now), default=None), recovery=_of(now),
    )  # fmt: skip


def _trend(kafka: str, config: str, operation: c.Operation, runs: list[c.Run]) -> c.Trend:
    by_day: dict[date, list[c.Run]] = {}
    for one in runs:
        by_day.setdefault(one.date, []).append(one)
    before = sorted(one.recovery_s or 0.0 for one in runs if not one.current and not one.recovery_open)
    middle = 0.05
    return c.Trend(
        kafka=kafka,
        config=config,
        operation=operation,
        points=[
            c.Point(
                date=day,
                n=len(some),
                median_s=_of(some).median_s,
                values=[one.recovery_s or 0.0 for one in some if not one.recovery_open],
                open_values=[one.recovery_s or 0.0 for one in some if one.recovery_open],
            )
            for day, some in sorted(by_day.items())
        ],
        baseline=c.Band(
            median_s=median(before), low_s=before[int(middle * len(before))], high_s=before[int((1 - middle) * len(before))],
            n=len(before),
        ) if before else None,
        spread=_of([one for one in runs if one.current]),
    )  # fmt: skip


def _timeline(run: c.Run, watched: bool) -> c.Timeline:
    gap, length = run.recovery_s or 0.0, 33.0
    dark = [c.Dark(begin_s=5.1, end_s=min(5.1 + gap, length), open=run.recovery_open)]
    lanes = [
        c.Lane(topic="orders", partition=number, operation="send", dark=dark if number < 2 else []) for number in range(3)
    ]
    lanes += [c.Lane(topic="orders", partition=0, operation="poll", dark=[c.Dark(begin_s=5.3, end_s=5.1 + gap, open=False)])]
    chance = random.Random(run.key)
    acked = [round(chance.gauss(110, 22)) if not 5.1 < 0.25 * number < 5.1 + gap else 30 for number in range(132)]
    marks = [c.Mark(at_s=min(5.1 + gap, length), kind="election", sentence="broker 3 leads orders-0, epoch 7")]
    if watched:
        marks.append(c.Mark(at_s=8.4, kind="lag", sentence="billing is STALLED on orders-0"))
        marks.append(c.Mark(at_s=11.0, kind="alert", sentence="UnderReplicatedPartitions fires"))
    read = [acked[max(0, number - 2)] + (400 if number == 80 else 0) for number in range(132)]
    return c.Timeline(
        run=run.key, length_s=length, faults=run.faults, lanes=lanes, marks=marks, bucket_s=0.25, acked=acked, read=read
    )


def _regressions(current: list[c.Run], names: Sequence[str], versions: Sequence[str]) -> list[c.Regression]:
    found = []
    if "leader-election" in names and "4.3.1" in versions:
        slow = [one for one in current if (one.scenario, one.kafka) == ("leader-election", "4.3.1")]
        found.append(
            c.Regression(
                kind="recovery", scenario="leader-election", kafka="4.3.1", baseline_kafka="4.3.1", config=CONFIG,
                operation="send", sentence="leader-election takes 14.6 s to recover on 4.3.1, before 9.1 s.",
                now="14.6 s (13.8 to 15.2, n = 4)", before="9.1 s (8.9 to 9.3, n = 76)",
                p_value=0.0004, effect=0.98, ratio=1.6, runs=[one.key for one in slow],
            )
        )  # fmt: skip
    broken = [one for one in current if one.scenario == "storm" and one.kafka == "3.9.1" and one.verdict == "FAIL"]
    if broken:
        found.append(
            c.Regression(
                kind="verdict", scenario="storm", kafka="3.9.1", baseline_kafka="3.9.0", config=CONFIG, operation=None,
                sentence="storm fails on 3.9.1: 100 acknowledged records are lost.", now=f"{len(broken)} of 4 failed",
                before="0 of 76 failed", p_value=None, effect=None, ratio=None, runs=[one.key for one in broken],
            )
        )  # fmt: skip
    return found


def _headline(worse: list[c.Regression], current: list[c.Run]) -> str:
    if worse:
        more = f" And {len(worse) - 1} more got worse." if len(worse) > 1 else ""
        return worse[0].sentence + more
    return f"Nothing got worse: {len(current)} runs, {sum(one.verdict == 'PASS' for one in current)} passed."


def _flaky(runs: list[c.Run]) -> c.Flaky:
    verdicts = [one.verdict for one in runs]
    return c.Flaky(
        scenario=runs[0].scenario, kafka=runs[0].kafka, config=runs[0].config, seed=7,
        verdicts={name: verdicts.count(name) for name in sorted(set(verdicts))}, runs=[one.key for one in runs],
    )  # fmt: skip


def _anomaly(run: c.Run, name: str, sentence: str) -> c.Anomaly:
    return c.Anomaly(
        run=run.key, scenario=run.scenario, kafka=run.kafka, name=name, count=run.counts[name],
        permitted=name in run.permitted,
        sentence=sentence or "orders-0 @ 930: acknowledged to producer-1, never read.", folder=run.folder,
    )  # fmt: skip


def _slowest(current: list[c.Run]) -> list[c.SlowPartition]:
    order = sorted(current, key=lambda one: (one.recovery_open, one.recovery_s or 0.0), reverse=True)
    return [
        c.SlowPartition(
            run=one.key, scenario=one.scenario, topic="orders", partition=0, operation="send",
            longest_s=one.recovery_s or 0.0, open=one.recovery_open, dark_s=(one.recovery_s or 0.0) + 0.3, watched_s=33.0,
        )
        for one in order[:10]
    ]  # fmt: skip


def _costs(current: list[c.Run], sentence: str) -> list[c.Cost]:
    names = sorted({one.scenario for one in current})
    return [
        c.Cost(
            kind=sentence or ("stop-broker" if name == "rolling-restart" else "kill-broker"), scenario=name, kafka="4.3.1",
            config=CONFIG, runs=4, spread=spread([USUAL_S.get(name, 6.0) + one / 10 for one in range(12)]),
        )
        for name in names
    ]  # fmt: skip


def _delays(names: Sequence[str]) -> list[c.Delay]:
    told = [
        ("lag", "STALLED", 3.2, 0),
        ("alert", "UnderReplicatedPartitions", 6.0, 1),
        ("alert", "OfflinePartitions", 5.1, 0),
    ]
    return [
        c.Delay(kind=kind, name=name, scenario=names[0], spread=spread([usual + one / 5 for one in range(8)]), missed=missed)  # type: ignore[arg-type]
        for kind, name, usual, missed in told
        if names
    ]


def _audits(current: list[c.Run]) -> list[c.Audit]:
    audits = [
        c.Audit(
            run=one.key, scenario=one.scenario, link="orders: producer → billing", sent=one.acknowledged, received=one.read,
            missing=one.acknowledged - one.read, duplicated=0, completeness=one.read / one.acknowledged,
        )
        for one in current[:4]
    ]  # fmt: skip
    whole = c.Audit(
        run=None, scenario=None, link="orders: producer → warehouse", sent=1_204_511, received=1_204_498, missing=13,
        duplicated=2, completeness=1_204_498 / 1_204_511,
    )  # fmt: skip
    return [*audits, whole]
