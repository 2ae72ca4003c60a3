"""Every run that the cluster tests left (`--trial-runs`, as `make test` gives it): both engines find the same in it.

A session's worth of runs is judged at once: each gets names, transactions and values of its own, so that what is found in
all of them is the sum of what is found in each. The run that comes with the tests is judged alone.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from chaos.checkers.local import examine as examine_locally
from chaos.checkers.rings import rings
from chaos.evidence.clients import clients_of
from chaos.evidence.folder import RunFolder
from kernel.errors import SuiteError
from kernel.ledger import COLUMNS
from kernel.verdict import Examined
from tests.pure.run_folders import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parent.parent / "data" / "clean_run"
NAMES = ("client", "topic", "txn")
REQUIRE = "KAFKA_TRIAL_REQUIRE_RUNS"
FEWEST = 20  # runs that a whole session of the cluster tests leaves, and many more


def examined(spark: "SparkSession", ledger: Path, clients: dict[str, Any]) -> Examined:
    from spark_reports.examine import examine

    return examine(spark, ledger, clients, rings)


def ledgers(runs: Path) -> dict[Path, Examined]:
    """What the local engine says of each; tests also leave runs that cannot be judged."""
    found = {}
    for manifest in sorted(runs.rglob("manifest.json")):
        folder = RunFolder(manifest.parent)
        try:
            found[folder.path] = examine_locally(folder.ledger, clients_of(folder.manifest(), manifest).listed)
        except SuiteError:
            continue
    return found


def as_table(file: Path) -> pa.Table:
    rows = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    return pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in rows], schema=SCHEMA)


def merged(runs: list[Path], into: Path) -> dict[str, Any]:
    """All ledgers in one folder, and what their manifests say of the clients."""
    into.mkdir()
    clients, first = {}, 0
    for number, run in enumerate(runs):
        folder = RunFolder(run)
        clients |= {f"{number}-{name}": facts for name, facts in (folder.manifest().get("clients") or {}).items()}
        tables = [pq.read_table(file) for file in sorted(folder.ledger.glob("*.parquet"))]
        tables += [as_table(file) for file in sorted(folder.ledger.glob("*.jsonl"))]  # a mirror's copy restates its sends
        rows = pa.concat_tables(tables, promote_options="permissive").select(list(COLUMNS))
        for name in NAMES:
            text = rows[name].cast(pa.string())
            apart = pc.binary_join_element_wise(pa.scalar(f"{number}"), text, "-", null_handling="emit_null")
            rows = rows.set_column(rows.column_names.index(name), name, apart)
        # Numbered anew, in their order: a damaged record's value may lie so far away that an offset would not fit any more.
        rank = pc.rank(rows["value"], tiebreaker="dense")
        apart = pc.if_else(pc.is_valid(rows["value"]), pc.add(rank.cast(pa.int64()), first), None)
        rows = rows.set_column(rows.column_names.index("value"), "value", apart)
        first += rows.num_rows
        pq.write_table(rows, into / f"{number:04}.parquet")
    return clients


@pytest.mark.timeout(1200)
def test_every_run_of_the_cluster_tests_is_judged_alike(
    spark: "SparkSession", request: pytest.FixtureRequest, tmp_path: Path
):
    kept = request.config.getoption("--trial-runs")
    theirs = ledgers(Path(kept)) if kept and Path(kept).is_dir() else {}
    if len(theirs) < FEWEST and not os.environ.get(REQUIRE):
        pytest.skip(f"needs the runs of the cluster tests: give --trial-runs DIR (set {REQUIRE} to fail instead)")
    assert len(theirs) >= FEWEST, f"the cluster tests leave more than {FEWEST} runs in --trial-runs {kept}"

    clients = merged(list(theirs), tmp_path / "ledger")
    ours = examined(spark, tmp_path / "ledger", clients)

    counts: Counter[str] = Counter()
    for one in theirs.values():
        counts.update(one.counts)
    assert ours.counts == dict(counts)
    assert counts["lost-write"] > 0, "some of them lose records on purpose"
    assert ours.rows == sum(one.rows for one in theirs.values())
    assert ours.acknowledged == sum(one.acknowledged for one in theirs.values())
    assert ours.read == sum(one.read for one in theirs.values())
    assert len(ours.undrained) == sum(len(one.undrained) for one in theirs.values())


def test_a_real_run_is_judged_alike_to_the_last_word(spark: "SparkSession"):
    folder = RunFolder(RECORDED)
    clients = folder.manifest()["clients"]

    assert examined(spark, folder.ledger, clients) == examine_locally(folder.ledger, clients)
