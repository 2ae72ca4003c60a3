"""Mutates copies of a clean run folder and lets the judge look at each: how many of the anomalies does it find, exactly?"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chaos.evidence.folder import RunFolder
from chaos.evidence.json_rows import SCHEMA, json_batches
from chaos.judge import judge
from chaos.mutators import MUTATORS
from chaos.mutators.recording import NoSite, Recording, Row
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES

Judge = Callable[[Path], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    done: str  # what was changed, or why nothing could be
    expected: dict[str, int]
    found: dict[str, int] | None  # None: there was no place for this mutation

    @property
    def caught(self) -> bool:
        return self.expected == self.found

    @property
    def missed(self) -> bool:
        return self.found is not None and not self.caught


def mutants(run: Path, judged_by: Judge = judge) -> Iterator[Mutant]:
    """One for each anomaly. The folder itself is only read."""
    folder = RunFolder(run)
    manifest, before = folder.manifest(), judged_by(run)["counts"]
    if any(before.values()):
        there = ", ".join(f"{name} {count}" for name, count in before.items() if count)
        raise UsageError(f"{run} is not clean ({there}): mutations need a history without an anomaly.")
    recording = Recording(manifest, read_rows(folder.ledger))
    with tempfile.TemporaryDirectory(prefix="kafka-trial-mutants-") as place:
        for name in ANOMALIES:
            yield _mutant(name, recording, run, Path(place) / name, judged_by)


def _mutant(name: str, recording: Recording, run: Path, copy: Path, judged_by: Judge) -> Mutant:
    nothing = dict.fromkeys(ANOMALIES, 0)
    try:
        mutated = MUTATORS[name](recording)
    except NoSite as trouble:
        return Mutant(name, trouble.message, nothing | {name: 1}, None)
    (copy / "ledger").mkdir(parents=True)
    shutil.copy2(run / "manifest.json", copy / "manifest.json")
    (copy / "events.jsonl").write_text("")
    pq.write_table(pa.Table.from_pylist(mutated.rows, schema=SCHEMA), copy / "ledger" / "mutated.parquet")
    found = judged_by(copy)["counts"]
    shutil.rmtree(copy)
    return Mutant(name, mutated.sentence, nothing | {name: mutated.count}, found)


def read_rows(ledger: Path) -> list[Row]:
    """All rows as they are; the judge has read them before, so they keep the contract."""
    rows: list[Row] = []
    for file in sorted(ledger.iterdir()):
        if file.name[0] in "._":
            continue
        if file.suffix == ".parquet":
            rows += pq.read_table(file).to_pylist()
        elif file.suffix == ".jsonl":
            rows += [row for _, _, batch in json_batches(file, 1 << 18) for row in batch.to_pylist()]
    return [{name: row.get(name) for name in SCHEMA.names} for row in rows]


def told(run: Path, found: list[Mutant], *, as_json: bool = False) -> str:
    caught = sum(mutant.caught for mutant in found)
    if as_json:
        return json.dumps(
            {"run": str(run), "caught": caught, "of": len(found), "mutants": [_facts(mutant) for mutant in found]}
        )
    return "\n".join([*map(_line, found), f"mutation score: {caught} of {len(found)}"])


def _line(mutant: Mutant) -> str:
    word = "caught" if mutant.caught else "MISSED" if mutant.missed else "no site"
    instead = {name: count for name, count in (mutant.found or {}).items() if count}
    return f"{word:<9}{mutant.name:<22}{mutant.done}" + (f" Found: {instead or 'nothing'}." if mutant.missed else "")


def _facts(mutant: Mutant) -> dict[str, Any]:
    return {"name": mutant.name, "done": mutant.done, "caught": mutant.caught, "found": mutant.found}
