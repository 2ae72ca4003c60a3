"""What we need of a Grafana, and no more: so that another client library can take the place of today's.

What is not there is None; every trouble is a sentence that never holds the token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernel.errors import SuiteError

ROOT = ""  # the uid of the place that is no folder, which Grafana calls General or Dashboards


class Refused(SuiteError):
    """Nothing is broken, and yet it must not be done: what is there has a better right to be."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Folder:
    uid: str
    title: str


@dataclass(frozen=True, slots=True)
class Version:
    """The newest entry of a dashboard's history."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A dashboard as Grafana has it."""

    dashboard: Mapping[str, Any]
    version: int
    folder: Folder
    address: str
    provisioned: bool = False  # from files, which Grafana would read again over whatever is saved
    newest: Version | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    version: int
    address: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """A point in time, or a region of it, that Grafana draws over every panel."""

    start_ms: int
    end_ms: int | None
    tags: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """An annotation that is there, by its number."""

    number: int
    annotation: Annotation


class Grafana(Protocol):
    address: str

    def version(self) -> str:
        """Of the Grafana that answers, "" if it will not say. Raises if nobody or something else does."""

    def folders(self) -> list[Folder]: ...
    def folder(self, uid: str) -> Folder | None: ...
    def create_folder(self, title: str) -> Folder: ...

    def delete_folder(self, uid: str) -> bool:
        """Only one that is empty: whether it is gone."""

    def dashboard(self, uid: str) -> Stored | None:
        """With the newest entry of its history."""

    def save(self, dashboard: Mapping[str, Any], *, version: int | None, folder: str, message: str) -> Saved:
        """In the place of `version`, None for one that is new. Refused if another version is there by now."""

    def delete(self, uid: str) -> None: ...
    def annotations(self, tags: Sequence[str], *, start_ms: int, end_ms: int, limit: int) -> list[Written]: ...
    def annotate(self, annotation: Annotation) -> int: ...
    def change_annotation(self, number: int, annotation: Annotation) -> None: ...
