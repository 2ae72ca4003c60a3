"""How does Spark's time grow with the rows, how does it compare with the local engine, and how long does a report take?

The same ledgers as benchmarks/check.py, of 1, 10 and 100 million rows, judged by both engines in the same run, each in a
process of its own: the local engine on one core, as it is, and Spark on all. Then the nightly report: over a dozen run
folders, and over 2,000, the first time and the second.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil

from benchmarks.check import MILLION, generate, judge_all, peak_bytes

SIZES = (MILLION, 10 * MILLION, 100 * MILLION)
FOLDERS = 2_000
Answer = dict[str, float]


def measured(task: str, *paths: Path) -> Answer:
    command = [sys.executable, "-m", "benchmarks.spark", "--task", task, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    answer: Answer = json.loads(done.stdout.splitlines()[-1])
    return answer


def by_local(run: Path) -> Answer:
    began = time.monotonic()
    rows = judge_all(run)
    return {"rows": rows, "seconds": time.monotonic() - began, "peak_bytes": peak_bytes()}


def by_spark(run: Path) -> Answer:
    """The session apart: it is the same for every size."""
    from chaos.checkers.rings import rings
    from chaos.judge import judge
    from kafka_trial.spark import session
    from spark_reports.examine import examine

    began = time.monotonic()
    with session(lambda _: None, None, {}) as spark, memory() as peak:
        up = time.monotonic()
        engines = {"spark": lambda ledger, clients: examine(spark, ledger, clients, rings)}
        verdict = judge(run, "spark", engines=engines)
        done = time.monotonic()
    assert verdict["verdict"] == "PASS", verdict["reasons"]
    return {"rows": verdict["rows"], "session_s": up - began, "seconds": done - up, "peak_bytes": peak[0]}


def by_report(runs: Path, out: Path) -> Answer:
    """As somebody calls it."""
    from kafka_trial.cli.report import make

    began = time.monotonic()
    with memory() as peak:
        report = make(runs, out)
    return {"rows": len(report.runs), "seconds": time.monotonic() - began, "peak_bytes": peak[0]}


@contextmanager
def memory() -> Any:
    """The most that the JVM and this process had at once."""
    peak, over = [0], Event()

    def look() -> None:
        while not over.wait(0.25):
            me = psutil.Process()
            held = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    held += process.memory_info().rss
                except psutil.Error:  # ended meanwhile
                    continue
            peak[0] = max(peak[0], held)

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def judged(place: Path, sizes: tuple[int, ...]) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = {"local": [], "spark": []}
    for size in sizes:
        run = place / str(size)
        generate(run, size)
        for name in found:
            found[name].append(measured(name, run))
        subprocess.run(["rm", "-rf", str(run)], check=True)
    return found


def reported(place: Path, folders: int) -> dict[str, Answer]:
    from tests.spark.night import make_runs

    make_runs(place / "few", runs=12, nights=3)
    make_runs(place / "many", runs=folders, nights=20)
    return {
        "few": measured("report", place / "few", place / "few-out"),
        "many": measured("report", place / "many", place / "many-out"),
        "again": measured("report", place / "many", place / "many-out"),
    }


def slopes(answers: list[Answer]) -> list[float]:
    """Seconds for every million rows more, from each size to the next: the same, if time is linear in rows."""
    return [
        (after["seconds"] - before["seconds"]) / (after["rows"] - before["rows"]) * MILLION
        for before, after in pairwise(answers)
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="200 thousand and 2 million rows, 100 folders")
    options.add_argument("--json", action="store_true", help="answer in JSON")
    options.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.task:
        task, *paths = chosen.task
        tasks: dict[str, Callable[..., Answer]] = {"local": by_local, "spark": by_spark, "report": by_report}
        print(json.dumps(tasks[task](*map(Path, paths))))
        return
    with tempfile.TemporaryDirectory(prefix="kafka-trial-bench-") as folder:
        engines = judged(Path(folder), (MILLION // 5, 2 * MILLION) if chosen.quick else SIZES)
        reports = reported(Path(folder), 100 if chosen.quick else FOLDERS)
    ratio = engines["spark"][-1]["seconds"] / engines["local"][-1]["seconds"]
    growth = slopes(engines["spark"])
    if chosen.json:
        print(json.dumps({**engines, "reports": reports, "ratio": ratio, "s_per_million": growth}))
        return
    print("judged                     local engine          Spark, all cores")
    for local, spark in zip(engines["local"], engines["spark"], strict=True):
        cells = [f"{one['seconds']:7.1f} s {one['peak_bytes'] / 1e9:5.1f} GB" for one in (local, spark)]
        print(f"  {local['rows'] / MILLION:6.1f} million rows  {cells[0]}      {cells[1]}")
    each = ", then ".join(f"{step:.2f}" for step in growth)
    print(f"  Spark takes {each} s for every million rows more; at the last size {ratio:.1f} × the local engine's time")
    print(f"  and {engines['spark'][0]['session_s']:.1f} s for the session")
    for name, words in (("few", "first"), ("many", "first"), ("again", "nothing new")):
        print(f"report of {reports[name]['rows']:5.0f} runs  {reports[name]['seconds']:6.1f} s  ({words}, session included)")


if __name__ == "__main__":
    main()
