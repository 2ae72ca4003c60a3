"""The table of a delivery matrix in its run folder, written once and read by the page that sums them."""

import json
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from kernel.errors import UsageError

NAME = "matrix.json"


def write_matrix(folder: RunFolder, facts: dict[str, Any]) -> None:
    (folder.path / NAME).write_text(json.dumps(facts, indent=1) + "\n")


def read_matrices(runs: Path) -> list[dict[str, Any]]:
    """Every matrix below a folder of runs, oldest first, each with its verdict. One without a verdict is no run yet."""
    found = []
    for file in sorted(runs.rglob(NAME)):
        if not (file.parent / "verdict.json").exists():
            continue
        try:
            matrix = json.loads(file.read_text())
            found.append({**matrix, "verdict": RunFolder(file.parent).verdict()["verdict"]})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file} cannot be read as a matrix: {error}.")
    return sorted(found, key=lambda matrix: str(matrix["started"]))
