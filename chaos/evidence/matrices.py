"""The table of a delivery matrix in its run folder, written once and read by the page that sums them."""

import json
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from kernel.errors import UsageError

NAME = "matrix.json"
FIELDS = ("run_id", "started", "kafka", "settings", "librdkafka", "elr", "fault", "claim", "rows")
ROW = ("combination", "permitted", "observed", "acknowledged", "exposed", "lost", "twice", "decided")


def write_matrix(folder: RunFolder, facts: dict[str, Any]) -> None:
    (folder.path / NAME).write_text(json.dumps(facts, indent=1) + "\n")


def read_matrices(runs: Path) -> list[dict[str, Any]]:
    """Every matrix below a folder of runs, oldest first, each with its verdict. One without a verdict is no run yet.

    One that is damaged is refused: a page that is silent about a run would look as if that run had agreed.
    """
    judged = [file for file in sorted(runs.rglob(NAME)) if (file.parent / "verdict.json").exists()]
    return sorted(map(_matrix, judged), key=lambda matrix: str(matrix["started"]))


def _matrix(file: Path) -> dict[str, Any]:
    try:
        matrix = json.loads(file.read_text())
        missing = [name for name in FIELDS if name not in matrix]
        missing = missing or sorted({f"{name} of a row" for row in matrix["rows"] for name in ROW if name not in row})
        verdict = RunFolder(file.parent).verdict()["verdict"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(file, str(error))
    if missing:
        raise _damaged(file, f"it lacks {', '.join(missing)}")
    return {**matrix, "verdict": verdict}


def _damaged(file: Path, why: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read as a matrix: {why}. Move its run away, and run delivery-matrix again.", file=file
    )
