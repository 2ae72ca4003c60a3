"""The closed ledger topic by topic: what the checkers find when they are shown one topic's rows alone."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chaos.evidence.folder import RunFolder
from kernel.verdict import Examined


def examined_by_topic(folder: RunFolder, topics: Iterable[str], clients: dict[str, dict[str, Any]]) -> dict[str, Examined]:
    """By the very checkers that judge the run. Rows that name no topic, a crash for example, are everybody's."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from chaos.checkers.local import examine

    ledger = pa.concat_tables([pq.read_table(file) for file in sorted(folder.ledger.glob("[!.]*.parquet"))])
    found = {}
    for topic in topics:
        rows = ledger.filter(pc.fill_null(pc.equal(ledger["topic"], topic), True))
        with TemporaryDirectory(prefix="kafka-trial-") as alone:
            pq.write_table(rows, Path(alone) / "rows.parquet")
            found[topic] = examine(Path(alone), clients)
    return found
