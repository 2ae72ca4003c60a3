"""Push dashboards: plan all, refuse all if one must not be written, then write; what was begun is ended or taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboards.push.place import Place, place_of
from dashboards.push.plan import Step, step_for
from dashboards.push.port import Folder, Grafana, Refused, Saved
from kernel.errors import SuiteError


@dataclass(frozen=True, slots=True)
class Plan:
    place: Place
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Done:
    step: Step
    outcome: str  # created, updated, unchanged
    address: str


def planned(
    grafana: Grafana, wanted: Mapping[str, Mapping[str, Any]], folder: str | None = None, *, create_folder: bool = False
) -> Plan:
    """Asks and writes nothing."""
    grafana.version()
    place = place_of(grafana, folder, create=create_folder)
    steps = tuple(
        step_for(name, board, grafana.dashboard(str(board["uid"])), place.folder) for name, board in wanted.items()
    )
    return Plan(place, steps)


def push(grafana: Grafana, plan: Plan, *, overwrite: bool = False) -> list[Done]:
    refuse(plan.steps, overwrite)
    writing = any(step.writes(overwrite) for step in plan.steps)
    made = grafana.create_folder(plan.place.folder.title) if writing and plan.place.new and plan.place.folder else None
    done: list[Done] = []
    written: list[tuple[Step, Saved]] = []
    for planned_step in plan.steps:
        step = replace(planned_step, folder=made) if made else planned_step
        if not step.writes(overwrite):
            done.append(Done(step, "unchanged", step.stored.address if step.stored else ""))
            continue
        try:
            saved = _save(grafana, step)
        except BaseException as trouble:
            _take_back(grafana, written, step, made, trouble)
            raise
        written.append((step, saved))
        done.append(Done(step, "updated" if step.stored else "created", saved.address))
    return done


def refuse(steps: Sequence[Step], overwrite: bool) -> None:
    """All the reasons at once, so that nobody has to find them one by one."""
    refusals = [refusal for step in steps if (refusal := step.refusal(overwrite))]
    if refusals:
        raise Refused("nothing was pushed. " + " ".join(_sentence(refusal) for refusal in refusals), refusals=refusals)


def _save(grafana: Grafana, step: Step) -> Saved:
    version = step.stored.version if step.stored else None
    return grafana.save(step.wanted, version=version, folder=step.folder.uid, message=step.message)


def _take_back(
    grafana: Grafana, written: list[tuple[Step, Saved]], failed: Step, made: Folder | None, trouble: BaseException
) -> None:
    """The last first. Raises the trouble with a word on what became of the others."""
    landed, unknown = _landed(grafana, failed, trouble)
    undo = [*written, *landed]
    left = [step.title for step, saved in reversed(undo) if not _undone(grafana, step, saved)]
    if made is not None and not left and not unknown and not _folder_gone(grafana, made):
        left = [f"the folder {made.title}"]
    if isinstance(trouble, SuiteError):
        end = _end(len(undo), left, failed.title if unknown else "")
        raise type(trouble)(f"{_sentence(trouble.message)} {end}", **trouble.facts, left=left) from None


def _landed(grafana: Grafana, step: Step, trouble: BaseException) -> tuple[list[tuple[Step, Saved]], bool]:
    """A save whose answer never came may have been made all the same. What was, and whether that cannot be told."""
    if isinstance(trouble, SuiteError) and 400 <= trouble.facts.get("status", 0) < 500:
        return [], False
    try:
        there = grafana.dashboard(step.uid)
    except SuiteError:
        return [], True
    before = step.stored.version if step.stored else 0
    if there is None or there.version == before or there.newest is None or there.newest.message != step.message:
        return [], False
    return [(step, Saved(there.version, there.address))], False


def _end(undone: int, left: list[str], unknown: str) -> str:
    words = []
    if left:
        words.append(f"What was pushed could not all be taken back: {', '.join(left)} stayed as pushed.")
    if unknown:
        words.append(f"Whether {unknown} was saved cannot be told.")
    if words:
        return " ".join([*words, "Push again."])
    return f"Nothing is half pushed: {_count(undone)} taken back." if undone else "Nothing was pushed."


def _undone(grafana: Grafana, step: Step, saved: Saved) -> bool:
    try:
        if step.stored is None:
            grafana.delete(step.uid)
        else:
            message = step.stored.newest.message if step.stored.newest else ""
            grafana.save(step.stored.dashboard, version=saved.version, folder=step.stored.folder.uid, message=message)
    except SuiteError:
        return False
    return True


def _folder_gone(grafana: Grafana, made: Folder) -> bool:
    try:
        return grafana.delete_folder(made.uid)
    except SuiteError:
        return False


def _count(number: int) -> str:
    return "one dashboard was" if number == 1 else f"{number} dashboards were"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
