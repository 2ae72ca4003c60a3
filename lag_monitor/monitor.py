"""The daemon's inside: a thread a cluster that looks, judges, tells and saves; alerts; and, if there are several instances,
a share of the work. Everything it does on its own is counted.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel.errors import NoSpace, UsageError
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.channel import Channel
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.looking import Looker
from lag_monitor.sharing.instance import Instance
from lag_monitor.sharing.lease import Instances, Lease
from lag_monitor.store.cluster_store import ClusterStore, Names
from lag_monitor.store.snapshot import Damaged, Resumed, captured, load, write
from lag_monitor.verdict import Status
from lag_monitor.view import ClusterView
from lag_monitor.watch import ADMIN, Watch

log = logging.getLogger(__name__)
LAST_WORDS = 3.0  # seconds that threads have to end


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the monitor is told."""

    watches: tuple[Watch, ...]
    folder: Path | None = None  # where state is kept; None: nowhere
    save_every: float = 30.0
    routes: tuple[Route, ...] = ()
    channels: tuple[Channel, ...] = ()
    silences: tuple[Silence, ...] = ()
    instances: Instances | None = None
    meeting_place: str = ""  # the cluster whose consumer group the instances are in; the first if it is not told


@dataclass(slots=True)
class Saved:
    """Counts, since the start."""

    times: int = 0
    failures: int = 0
    last: float = 0.0
    trouble: str = field(default="")


class ClusterLoop:
    """Looks at one cluster until it is stopped."""

    def __init__(self, watch: Watch, file: Path | None, save_every: float, told: Callable[[ClusterView], None]) -> None:
        self.watch, self._file, self._save_every, self._told = watch, file, save_every, told
        self.saved = Saved()
        self.has_been_whole = False  # all that was ours to look at was once read and judged
        store, resumed = _store(watch, file)
        # Without the admin calls, who is in a group is told by the topic of commits alone: then it is read from its
        # beginning, and what was taken in before is known by its place.
        self.looker = Looker(watch, store, since=resumed.positions if ADMIN in watch.sources else {})
        self.view = ClusterView(self.looker)
        self.view.resume({name: (Status(status), when) for name, (status, when) in resumed.since.items()})
        self.after: Callable[[ClusterView], None] = lambda view: None  # once more, when all is told: the metrics
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {watch.name}", daemon=True)

    def start(self) -> None:
        self.looker.start()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self.looker.stop()

    def join(self, timeout: float) -> None:
        """Then saves, if its thread has ended: what still looks would write at the same time."""
        self._thread.join(timeout)
        self.looker.reader.join(timeout)
        if not self._thread.is_alive():
            self.looker.close()
            self.save()

    def save(self) -> None:
        if self._file is None or self.looker.looked is None:
            return
        with self.looker.lock:
            resumed = Resumed(
                dict(self.looker.reader.positions),
                {name: (int(status), when) for name, (status, when) in self.view.since.items()},
                time.time(),
            )
            table = captured(self.looker.store, resumed)
        try:
            write(table, self._file)
        except NoSpace as trouble:
            self.saved.failures += 1
            if trouble.message != self.saved.trouble:
                log.error("%s The monitor goes on without; a restart would see everything anew.", trouble.message)
            self.saved.trouble = trouble.message
            return
        if self.saved.trouble:
            log.info("%s is written again", self._file)
        self.saved.times, self.saved.last, self.saved.trouble = self.saved.times + 1, time.time(), ""

    def _run(self) -> None:
        due = time.monotonic() + self._save_every
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self.looker.look()
                self.view.publish()
                self._told(self.view)
                self.after(self.view)
                if time.monotonic() >= due:
                    self.save()
                    due = time.monotonic() + self._save_every
            except Exception:  # a bug of ours must not end the watch: it is told, and the next look begins anew
                log.exception("a look at %s failed", self.watch.name)
            self._stop.wait(max(0.05, self.watch.patience.interval - (time.monotonic() - began)))


class Monitor:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.RLock()
        folder = plan.folder
        if folder is not None:
            _make(folder)
        self.alerts = Alerts(
            folder / "alerts.sqlite" if folder else None,
            plan.routes,
            plan.channels,
            plan.silences,
            active=plan.instances is None,
        )
        self.loops: dict[str, ClusterLoop] = {watch.name: self._loop(watch) for watch in _watches(plan)}
        self._after: Callable[[ClusterView], None] = lambda view: None
        self.instance: Instance | None = None

    def __enter__(self) -> "Monitor":
        self.alerts.__enter__()
        if self._plan.instances is not None:
            meeting = next(watch for watch in self._plan.watches if watch.name == _meeting(self._plan))
            self.instance = Instance(self._plan.instances, meeting, self.alerts, self._offsets_partitions, self._give_shards)
            self._give_shards()
            self.instance.start()
        for loop in self.loops.values():
            loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            loops = list(self.loops.values())
        for loop in loops:
            loop.stop()
        if self.instance is not None:
            self.instance.stop()
        for loop in loops:
            loop.join(LAST_WORDS)
        self.alerts.stop()

    @property
    def views(self) -> Mapping[str, ClusterView]:
        with self._lock:
            return {name: loop.view for name, loop in self.loops.items()}

    @property
    def ready(self) -> bool:
        """Every cluster was caught up with and judged. One that cannot be reached keeps it from being ready at the start;
        later it does not, for then there is something to tell. Of several instances, also one that stands by is: it has met
        the others, and knows all that it needs to take over."""
        with self._lock:
            loops = list(self.loops.values())
        alone = self.instance is None
        return bool(loops) and all(loop.view.has_been_ready and (alone or loop.has_been_whole) for loop in loops)

    @property
    def lease(self) -> Lease | None:
        return self.instance.lease if self.instance else None

    def after_each_look(self, call: Callable[[ClusterView], None]) -> None:
        self._after = call
        with self._lock:
            for loop in self.loops.values():
                loop.after = call

    def reload(self, plan: Plan) -> None:
        """What changed is begun anew, what did not goes on. Where state is kept and how instances share need a restart."""
        kept = self._plan
        plan = replace(plan, folder=kept.folder, instances=kept.instances, meeting_place=_meeting(kept))
        wanted = {watch.name: watch for watch in _watches(plan)}
        with self._lock:
            self.alerts.reload(plan.routes, plan.channels, plan.silences)
            ended = [loop for name, loop in self.loops.items() if wanted.get(name) != loop.watch]
        for loop in ended:
            loop.stop()
        for loop in ended:
            loop.join(LAST_WORDS)
        with self._sharing, self._lock:
            self._plan = plan
            stay = {name: loop for name, loop in self.loops.items() if loop not in ended}
            new = {name: self._loop(watch) for name, watch in wanted.items() if name not in stay}
            self.loops = {name: new.get(name) or stay[name] for name in wanted}
            for loop in new.values():
                loop.after = self._after
                self._give(loop)
                loop.start()

    def _loop(self, watch: Watch) -> ClusterLoop:
        folder = self._plan.folder
        file = folder / f"{_file_name(watch.name)}.parquet" if folder else None
        return ClusterLoop(watch, file, self._plan.save_every, self._tell)

    def _tell(self, view: ClusterView) -> None:
        """To the alerts. A cluster that was not seen whole says nothing of groups that are missing."""
        looker, judged, instance = view.looker, view.judged, self.instance
        if judged is None:
            return
        name = looker.watch.name
        with self._sharing:  # what is ours stays so until it is told
            whole, loop = looker.whole, self.loops.get(name)
            told = {(name, one.group): one for one in view.groups if instance is None or instance.tells(name, one.group)}
            if instance is None or instance.lease.awake:
                self.alerts.take(told, {name} if whole else set(), judged.looked.now, set(self.loops))
            if loop is not None and whole and (instance is None or instance.met):
                loop.has_been_whole = True

    # ---- several instances -------------------------------------------------------------------------------------------

    @property
    def _sharing(self) -> AbstractContextManager[object]:
        """Taken before the other lock."""
        return self.instance.lock if self.instance else nullcontext()

    def _offsets_partitions(self, cluster: str) -> int:
        loop = self.loops.get(cluster)
        return loop.looker.offsets_partitions if loop else 0

    def _give_shards(self) -> None:
        for loop in self.loops.values():
            self._give(loop)

    def _give(self, loop: ClusterLoop) -> None:
        """Always a value of its own, by which a look knows that it began with another."""
        if self.instance is not None:
            loop.looker.shards = self.instance.shards


def _meeting(plan: Plan) -> str:
    return plan.meeting_place or plan.watches[0].name


def _watches(plan: Plan) -> list[Watch]:
    """Without our own group where instances meet: it commits nothing, and would look as if it failed."""
    if plan.instances is None:
        return list(plan.watches)
    own = rf"\A{re.escape(plan.instances.group)}\Z"

    def without(watch: Watch) -> Watch:
        deny = watch.names.deny
        return replace(watch, names=Names(watch.names.allow, f"(?:{deny})|{own}" if deny else own))

    return [without(watch) if watch.name == _meeting(plan) else watch for watch in plan.watches]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as trouble:
        raise UsageError(f"state_folder {folder} cannot be made: {trouble.strerror}.") from None


def _store(watch: Watch, file: Path | None) -> tuple[ClusterStore, Resumed]:
    store = ClusterStore(watch.burrow, watch.names, time.time())
    if file is None:
        return store, Resumed()
    try:
        return store, load(store, file)
    except Damaged:
        return ClusterStore(watch.burrow, watch.names, time.time()), Resumed()


def _file_name(cluster: str) -> str:
    """Any name makes a file of its own, and no name one elsewhere."""
    safe = re.sub(r"[^A-Za-z0-9_-]", lambda found: f"%{ord(found[0]):02x}", cluster)
    return f"cluster-{safe}"
