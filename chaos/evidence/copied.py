"""What a mirror made of the records of a run, as sets of values; and the copy's own evidence, to be judged by itself.

A copied record is the same value in another topic of another cluster. In the source's ledger it would be a duplicate. So
the copy has a run folder of its own inside the run's, in which whatever the source acknowledged counts as sent to the
copy: what never arrived is an unseen write there, and what arrived twice a duplicate. See docs/decisions/018-mirror.md.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from chaos.evidence.account import Read, Sent
from chaos.evidence.folder import RunFolder

Offsets = Mapping[int, int]  # by partition


def twice(copies: Iterable[Read]) -> frozenset[int]:
    """Values that stand in the copy more than once."""
    return frozenset(value for value, times in Counter(copy.value for copy in copies).items() if times > 1)


def copied_again(copies: Iterable[Read], sends: Iterable[Sent], ends: Offsets, flushed: Offsets) -> frozenset[int]:
    """What a mirror that is killed must copy again: already in the copy, which then ended at `ends`, and beyond the last
    offset of the source that the mirror had written down as done."""
    origin = {sent.value: sent.offset for sent in sends if sent.offset is not None}
    return frozenset(
        copy.value
        for copy in copies
        if copy.offset < ends.get(copy.partition, 0) and origin.get(copy.value, -1) > flushed.get(copy.partition, -1)
    )


def from_there_on(copies: Iterable[Read], starts: Offsets) -> frozenset[int]:
    """What somebody reads who starts at these offsets of the copy; at the beginning, where none is known."""
    return frozenset(copy.value for copy in copies if copy.offset >= starts.get(copy.partition, 0))


def restated(sends: Iterable[Sent], names: Mapping[str, str], run_id: str) -> list[dict[str, Any]]:
    """The source's sends as rows of the copy's ledger: same partition, another topic, and no offset that is known."""
    return [
        {
            "run_id": run_id, "client": sent.client, "op": op, "ix": 0, "kind": "send", "outcome": sent.outcome,
            "invoked_ns": sent.invoked_ns, "completed_ns": sent.completed_ns, "error": sent.error,
            "topic": names.get(sent.topic or ""), "partition": sent.partition, "offset": None, "value": sent.value,
            "final": False,
        }
        for op, sent in enumerate(sends)
    ]  # fmt: skip


def folder_beside(run: RunFolder, name: str) -> RunFolder:
    """A run folder inside a run's folder: whoever lists runs does not see it, and `check` judges it when asked to."""
    folder = RunFolder(run.path / name)
    for part in (folder.ledger, folder.logs):
        part.mkdir(parents=True)
    return folder


def write_beside(
    folder: RunFolder, manifest: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], events: Iterable[Mapping[str, Any]]
) -> None:
    _lines(folder.ledger / "restated.jsonl", rows)
    _lines(folder.events_file, events)
    folder.write_manifest(dict(manifest))


def _lines(file: Any, lines: Iterable[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
