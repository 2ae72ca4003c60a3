"""Files that are made: all of them or, if the disk has no room or the folder is not ours to write, none of them changed."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel.errors import UsageError

MADE = "# Made by kafka-trial. Change the source and make it again, or your changes are lost.\n"


def as_yaml(value: Any) -> str:
    import yaml

    return MADE + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def write_all(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Each is written beside its place first, and put there when all are: a full disk leaves what was there."""
    places = {folder / name: text for name, text in texts.items()}
    waiting: dict[Path, Path] = {}
    try:
        for place, text in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_dir():  # found now, and not when half of the files are in their places
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
            waiting[place] = place.with_name(f".{place.name}.new")
            waiting[place].write_text(text, encoding="utf-8")
        for place, new in waiting.items():
            new.replace(place)
    except OSError as trouble:
        for new in waiting.values():
            new.unlink(missing_ok=True)
        raise UsageError(f"{trouble.filename or folder} cannot be written: {trouble.strerror}.") from None
    return list(places)
