"""What stands in our documents for people to copy, so that tests can run it."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), flags=re.M | re.S)


def alerts(page: str) -> list[str]:
    """The last cell of each row of a table that ends in a query."""
    rows = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| ") and line.endswith("` |")]
    return [row.rsplit("| `", 1)[1].removesuffix("` |") for row in rows]
