"""Closes a ledger: what a killed client left open is written down as unknown, and its many small files become one.

A producer announces how far it is about to send before it sends. If it is killed, every announced value without a row
becomes a send of outcome *info*: it may be in the log. Without that, such a record would look like one nobody sent.
"""

import fcntl
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interceptors.ledger.announcement import announced, announcement
from interceptors.ledger.joining import SCENARIO
from kernel.errors import NotReady, UsageError
from kernel.waiting import wait_until

PART = re.compile(r"(?P<client>.+)\.(?P<part>\d{5})\.parquet")
ROWS = 500_000  # of a row group, and in memory
GRACE = 5.0  # seconds for an application's clients that are about to end
FIRST_GUESS = 1 << 62  # operations nobody can place come after all others of their client


def seal(run: Path) -> None:
    """Join the parts of each client. Safe to repeat; a crash in the middle leaves a folder that `seal` can finish."""
    finish_swap(run)
    ledger, new = run / "ledger", run / "ledger.new"
    parts = _parts(ledger)
    if not parts and not any(ledger.glob(".*.announced")):
        return
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in ledger.iterdir():
        if not file.name.startswith(".") and not PART.fullmatch(file.name):
            shutil.copy2(file, new / file.name)
    for client in sorted({*parts, *(file.name[1 : -len(".announced")] for file in ledger.glob(".*.announced"))}):
        _join(parts.get(client, []), announcement(ledger, client), new, client)
    (new / ".complete").touch()
    finish_swap(run)


def close_abandoned(run: Path, manifest: dict[str, Any]) -> None:
    """Close the ledger of a run whose process is gone. One that is still under way is left alone, and named."""
    process = manifest.get("process")
    if "finished" not in manifest and manifest.get("scenario") == SCENARIO:
        close_application(run)
    if "finished" in manifest or not isinstance(process, dict):
        return
    if _alive(process):
        raise UsageError(f"the run in {run} is still under way (process {process['pid']}): judge it when it has ended.")
    _wait_for_clients(run / "ledger")
    seal(run)


def close_application(run: Path) -> None:
    """The clients of an application, which end when it says so, or with it."""
    try:
        _wait_for_clients(run / "ledger", timeout=GRACE)
    except NotReady:
        raise UsageError(
            f"clients of the run in {run} are still at work, and what they go on to do would be missing: "
            "close them, or end them."
        ) from None
    seal(run)


def _wait_for_clients(ledger: Path, timeout: float = 60) -> None:
    """Clients outlive a trial that was killed for some seconds, in which they write down the rest of what they know."""
    from interceptors.ledger.ledger_writer import WRITING

    def ended() -> bool:
        if not (ledger / WRITING).exists():
            return True
        with (ledger / WRITING).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    wait_until(ended, bool, what=f"the clients of the run in {ledger.parent} ended", timeout=timeout)


def _alive(process: dict[str, Any]) -> bool:
    import psutil

    try:
        began = psutil.Process(process["pid"]).create_time()
        return bool(abs(began - process["began"]) < 1)  # a pid may be somebody else's now
    except (psutil.Error, KeyError, TypeError):
        return False


def finish_swap(run: Path) -> None:
    """`ledger.new` takes the place of `ledger` in steps that can each be repeated."""
    ledger, new, old = run / "ledger", run / "ledger.new", run / "ledger.old"
    if (new / ".complete").exists():
        if ledger.exists():
            shutil.rmtree(old, ignore_errors=True)
            ledger.rename(old)
        new.rename(ledger)
    (ledger / ".complete").unlink(missing_ok=True)
    if ledger.exists():
        shutil.rmtree(old, ignore_errors=True)


def _parts(ledger: Path) -> dict[str, list[Path]]:
    parts: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(ledger.glob("*.parquet")):
        if match := PART.fullmatch(file.name):
            parts[match["client"]].append(file)
    return parts


def _join(parts: list[Path], promise: Path, new: Path, client: str) -> None:
    import numpy as np
    import pyarrow.parquet as pq

    from interceptors.ledger.ledger_writer import PLAIN

    facts, values = announced(promise) if promise.exists() else ({}, range(0))
    in_order = np.arange(values.start, values.stop) if isinstance(values, range) else np.unique(values)
    promised = in_order.astype(np.int64, copy=False)
    open_ends = np.ones(promised.size, bool)
    with pq.ParquetWriter(new / f"{client}.parquet", PLAIN, compression="zstd") as writer:
        for table in _groups(parts):
            writer.write_table(table.cast(PLAIN))
            if promised.size:
                open_ends[_places(promised, table["value"].drop_null().to_numpy())] = False
        if promised.size:
            writer.write_table(_unknown(facts, promised[open_ends].tolist()))


def _places(promised: Any, values: Any) -> Any:
    """Where those of the values stand that were promised. Whoever reads as well has rows of others' values, too."""
    import numpy as np

    at = np.minimum(np.searchsorted(promised, values), promised.size - 1)
    return at[promised[at] == values]


def _groups(parts: list[Path]) -> Iterator[Any]:
    """A second's rows each are too little for a row group: gather some, but never the whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    held: list[Any] = []
    for part in parts:
        held.append(pq.read_table(part))
        if sum(table.num_rows for table in held) >= ROWS:
            yield pa.concat_tables(held).unify_dictionaries().combine_chunks()
            held = []
    if held:
        yield pa.concat_tables(held).unify_dictionaries().combine_chunks()


def _unknown(promise: dict[str, Any], missing: list[int]) -> Any:
    import pyarrow as pa

    from interceptors.ledger.ledger_writer import PLAIN

    facts = {"run_id": promise["run_id"], "client": promise["client"], "ix": 0, "kind": "send", "outcome": "info"}
    facts |= {"error": "_CLIENT_KILLED", "topic": promise["topic"], "final": False}
    return pa.Table.from_pylist([facts | {"op": FIRST_GUESS + i, "value": value} for i, value in enumerate(missing)], PLAIN)
