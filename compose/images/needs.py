"""What an image has to install: the packages that pyproject.toml names for the extras it is to have, one a line.

So that they are a layer of their own, which is made anew only when they change: `python3 needs.py pyproject.toml lag,audit`.
"""

import sys
import tomllib
from pathlib import Path


def needs(project: str, extras: list[str]) -> list[str]:
    """`project`: the text of a pyproject.toml."""
    table = tomllib.loads(project)["project"]
    known = table["optional-dependencies"]
    if unknown := sorted(set(extras) - set(known)):
        raise SystemExit(f"there is no extra {unknown[0]!r}: pyproject.toml has {', '.join(sorted(known))}.")
    wanted = [*table["dependencies"], *(need for extra in extras for need in known[extra])]
    return sorted(set(wanted))


if __name__ == "__main__":
    print("\n".join(needs(Path(sys.argv[1]).read_text(), [extra for extra in sys.argv[2].split(",") if extra])))
