"""The folder that somebody named, by its title or uid: there, to be made, or told with those that there are."""

from dataclasses import dataclass

from dashboards.push.port import ROOT, Folder, Grafana
from kernel.errors import UsageError

SHOWN = 20  # folders in a sentence
TOP = ("general", "dashboards")  # what Grafana calls the place that is no folder, the older name first


@dataclass(frozen=True, slots=True)
class Place:
    """None stands for wherever a dashboard is; one that is to be made has no uid yet."""

    folder: Folder | None
    new: bool = False


def place_of(grafana: Grafana, name: str | None, *, create: bool) -> Place:
    if name is None:
        return Place(None)
    there = grafana.folders()
    alike = [folder for folder in there if folder.title == name]
    if len(alike) > 1:
        uids = ", ".join(folder.uid for folder in alike)
        raise UsageError(f"{grafana.address} has {len(alike)} folders named {name}: give the uid of one of them, {uids}.")
    found = alike[0] if alike else next((folder for folder in there if folder.uid == name), None)
    if found is None and name.lower() in TOP:
        found = Folder(ROOT, "General")
    if found is not None:
        return Place(found)
    if create:
        return Place(Folder("", name), new=True)
    raise UsageError(f"{grafana.address} has no folder {name}: {_known(there)}; or have it made with --create-folder.")


def _known(there: list[Folder]) -> str:
    if not there:
        return "it has none at all, push without --folder"
    titles = sorted(folder.title for folder in there)
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    return f"there is {', '.join(titles[:SHOWN])}{more}"
