"""The daemon's inside: a thread a cluster that looks, judges, tells and saves; alerts; and, if there are several instances,
a share of the work. Everything it does on its own is counted.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernel.errors import NoSpace, UsageError
from lag_monitor.alerts.alerts import Alerts
from lag_monitor.alerts.channels.channel import Channel
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.looking import Looker
from lag_monitor.sharing.handover import Ledger, Plain, by_incident, together, whose
from lag_monitor.sharing.lease import Instances, Lease
from lag_monitor.sharing.shards import shard_of
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.snapshot import Damaged, Resumed, captured, load, write
from lag_monitor.verdict import Status
from lag_monitor.view import ClusterView
from lag_monitor.watch import Watch

log = logging.getLogger(__name__)
LAST_WORDS = 3.0  # seconds that threads have to end
HAND_OVER_EVERY = 1.0


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
        store, resumed = _store(watch, file)
        self.looker = Looker(watch, store, since=resumed.positions)
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
        self.loops: dict[str, ClusterLoop] = {watch.name: self._loop(watch) for watch in plan.watches}
        self._after: Callable[[ClusterView], None] = lambda view: None
        self.lease: Lease | None = None
        self._ledger: Ledger | None = None
        self._handing: threading.Thread | None = None
        self._stop = threading.Event()

    def __enter__(self) -> "Monitor":
        self.alerts.__enter__()
        if self._plan.instances is not None:
            self._share(self._plan.instances)
        for loop in self.loops.values():
            loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with self._lock:
            loops = list(self.loops.values())
        for loop in loops:
            loop.stop()
        if self.lease is not None:
            self.lease.stop()
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
        later it does not, for then there is something to tell."""
        views = self.views
        return bool(views) and all(view.has_been_ready for view in views.values())

    def after_each_look(self, call: Callable[[ClusterView], None]) -> None:
        self._after = call
        with self._lock:
            for loop in self.loops.values():
                loop.after = call

    def reload(self, plan: Plan) -> None:
        """What changed is begun anew, what did not goes on. Where state is kept and how instances share need a restart."""
        with self._lock:
            self.alerts.reload(plan.routes, plan.channels, plan.silences)
            wanted = {watch.name: watch for watch in plan.watches}
            ended = [loop for name, loop in self.loops.items() if wanted.get(name) != loop.watch]
        for loop in ended:
            loop.stop()
        for loop in ended:
            loop.join(LAST_WORDS)
        with self._lock:
            for loop in ended:
                self.loops.pop(loop.watch.name, None)
            for name, watch in wanted.items():
                if name not in self.loops:
                    self.loops[name] = self._loop(watch)
                    self.loops[name].after = self._after
                    self._give_shards(self.loops[name])
                    self.loops[name].start()
            self.loops = {name: self.loops[name] for name in wanted}
            self._plan = plan

    def _loop(self, watch: Watch) -> ClusterLoop:
        folder = self._plan.folder
        file = folder / f"{_file_name(watch.name)}.parquet" if folder else None
        return ClusterLoop(watch, file, self._plan.save_every, self._tell)

    def _tell(self, view: ClusterView) -> None:
        """To the alerts. A cluster that was not seen whole says nothing of groups that are missing."""
        looker, judged = view.looker, view.judged
        if judged is None:
            return
        name = looker.watch.name
        told = {(name, one.group): one for one in view.groups if self._tells(name, one.group)}
        self.alerts.take(told, {name} if looker.whole else set(), judged.looked.now, set(self.loops))

    # ---- several instances -------------------------------------------------------------------------------------------

    def _share(self, instances: Instances) -> None:
        meeting = self._plan.meeting_place or self._plan.watches[0].name
        watch = next(watch for watch in self._plan.watches if watch.name == meeting)
        self.lease = Lease(watch.address, watch.settings, instances, self._gained, self._lost)
        self._ledger = Ledger(self.lease.write, self._shard)
        for loop in self.loops.values():
            self._give_shards(loop)
        self.lease.start()
        self._handing = threading.Thread(target=self._hand_over, name="write down what is open", daemon=True)
        self._handing.start()

    def _shard(self, cluster: str, group: str) -> int:
        count = self._plan.instances.shards if self._plan.instances else 1
        loop = self.loops.get(cluster)
        return shard_of(group, count, loop.looker.offsets_partitions if loop else 0)

    def _tells(self, cluster: str, group: str) -> bool:
        return self.lease is None or self._shard(cluster, group) in self.lease.held

    def _give_shards(self, loop: ClusterLoop) -> None:
        instances = self._plan.instances
        if instances is not None and instances.shards > 1 and self.lease is not None:
            loop.looker.shards = (frozenset(self.lease.held), instances.shards)
            loop.looker.whole = False

    def _gained(self, shard: int, found: Mapping[str, bytes]) -> None:
        with self._lock:
            assert self._ledger is not None  # noqa: S101
            theirs = self._ledger.gained(shard, found)
            self._exchange(together({"ours": self.alerts.export(), "theirs": theirs}))
            for loop in self.loops.values():
                self._give_shards(loop)

    def _lost(self, shards: frozenset[int]) -> None:
        with self._lock:
            assert self._ledger is not None and self.lease is not None  # noqa: S101
            self.alerts.active = False  # and wait for what is under way, so that what we hand over is true
            export = self.alerts.export()
            self._ledger.publish(export)
            self.lease.flush()
            for shard in shards:
                self._ledger.lost(shard)
            kept = {key: part for key, part in by_incident(export).items() if self._shard(*whose(part)) not in shards}
            self._exchange(together(kept))
            for loop in self.loops.values():
                self._give_shards(loop)

    def _exchange(self, told: Plain) -> None:
        """Only who stands by may be given something else to know."""
        self.alerts.active = False
        self.alerts.adopt(told)
        self.alerts.active = bool(self.lease and self.lease.held)

    def _hand_over(self) -> None:
        while not self._stop.wait(HAND_OVER_EVERY):
            with self._lock:
                # Which shard a group is of is known once the topic of commits is.
                known = all(loop.looker.offsets_partitions for loop in self.loops.values())
                if self._ledger is not None and self.alerts.active and known:
                    self._ledger.publish(self.alerts.export())


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
