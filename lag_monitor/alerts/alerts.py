"""The front of the room: the daemon hands in what was judged, and all else follows.

Of several instances one is active. The others decide nothing and send nothing; the one that takes over is first handed what
the other exported, and carries on as if it had opened the incidents itself.
"""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.errors import UsageError
from lag_monitor.alerts.channels.channel import Channel
from lag_monitor.alerts.incidents import Incident, Judged, Setting, step
from lag_monitor.alerts.outbox import Outbox
from lag_monitor.alerts.queue import RESULTS, Patience
from lag_monitor.alerts.routes import Route, Silence
from lag_monitor.alerts.sender import Sender


@dataclass(frozen=True, slots=True)
class Figures:
    """For the metrics. Counts are since the start."""

    notices: Mapping[tuple[str, str], int]  # by channel and result: sent, failed, given_up, dropped, withdrawn
    queued: Mapping[str, int]  # by channel
    oldest: Mapping[str, float]  # by channel: since when its oldest notice waits; nothing if none does
    open: Mapping[str, int]  # incidents by route, held ones not counted
    store_failures: int
    storing: bool  # the disk knows all that memory knows


class Alerts:
    def __init__(
        self,
        path: Path | None,
        routes: Sequence[Route],
        channels: Sequence[Channel],
        silences: Sequence[Silence] = (),
        *,
        active: bool = True,
        most: int = 10_000,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        """UsageError if it could never work: a channel that is not there, a template that does not render, a file in use."""
        self._setting, self._channels = checked(routes, channels, silences), {one.name: one for one in channels}
        self._new_id = new_id
        self._lock = threading.RLock()
        self._active = active
        self._outbox = Outbox(path, most=most, patience=patience)
        self._outbox.keep_only(self._channels)
        self._sender = Sender(self._outbox, clock)

    def __enter__(self) -> "Alerts":
        self._sender.use(self._channels)
        if self._active:
            self._sender.resume()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Within three seconds. What is not sent by then waits in the file for the next start."""
        self._sender.stop()
        self._outbox.close()

    def take(
        self, judged: Judged, seen_clusters: Collection[str], now: float, clusters: Collection[str] | None = None
    ) -> None:
        """`seen_clusters`: those whose groups are all in `judged`. `clusters`: all that are configured, if that is known;
        incidents of others are closed."""
        with self._lock:
            if not self._active:
                return
            setting = Setting(self._setting.routes, self._setting.channels, self._setting.silences, clusters)
            before = self._outbox.incidents
            after, notices = step(before, judged, now=now, setting=setting, seen=seen_clusters, new_id=self._new_id)
            if notices or after != before:
                self._outbox.save(after, notices, now)
        if notices:
            self._sender.look()

    def reload(self, routes: Sequence[Route], channels: Sequence[Channel], silences: Sequence[Silence]) -> None:
        """UsageError, and nothing changed, if it could never work. What a route that is gone had open ends with `take`."""
        setting = checked(routes, channels, silences)
        with self._lock:
            self._setting, self._channels = setting, {one.name: one for one in channels}
            self._sender.use(self._channels)
            self._outbox.keep_only(self._channels)

    @property
    def active(self) -> bool:
        return self._active

    @active.setter
    def active(self, active: bool) -> None:
        """Turned off, it waits up to three seconds for what is under way, so that an export afterwards is whole."""
        with self._lock:
            self._active = active
        if active:
            self._sender.resume()
        else:
            self._sender.pause()

    def written_down_first(self, changed: Callable[[], None]) -> None:
        """From now on `changed` is called after each change, and what is queued is sent only when it is released."""
        self._outbox.release(self._outbox.mark)
        self._outbox.changed = changed

    @property
    def mark(self) -> int:
        """Taken before an export, it says of what is queued what the export holds for certain."""
        return self._outbox.mark

    def release(self, mark: int) -> None:
        """What was queued up to then is written down, and may be sent."""
        if self._outbox.release(mark):  # else there is nothing to look for, and looking is a change to be written down
            self._sender.look()

    def export(self) -> dict[str, Any]:
        """All that another instance needs to carry on, fit for JSON."""
        return self._outbox.export()

    def adopt(self, told: dict[str, Any]) -> None:
        """In place of all we know of. Only a standby may: what is active knows best itself."""
        with self._lock:
            if self._active:
                raise UsageError("an active instance adopts no incidents: it would forget its own.")
            self._outbox.replace(told)
            self._outbox.keep_only(self._channels)

    def incidents(self) -> tuple[Incident, ...]:
        """Also those that are held, whose `opened_at` is None."""
        return self._outbox.incidents

    def figures(self) -> Figures:
        names, outbox = list(self._channels), self._outbox
        oldest = {name: outbox.oldest(name) for name in names}
        opened = Counter(one.route for one in outbox.incidents if one.opened_at is not None)
        return Figures(
            notices={(name, result): outbox.count(name, result) for name in names for result in RESULTS},
            queued={name: outbox.queued(name) for name in names},
            oldest={name: since for name, since in oldest.items() if since is not None},
            open={route.name: opened[route.name] for route in self._setting.routes},
            store_failures=outbox.store_failures,
            storing=outbox.storing,
        )


def checked(routes: Sequence[Route], channels: Sequence[Channel], silences: Sequence[Silence]) -> Setting:
    names = [one.name for one in channels]
    for what, given in (("routes", [one.name for one in routes]), ("channels", names)):
        twice = [name for name, count in Counter(given).items() if count > 1]
        if twice:
            raise UsageError(f"there are two {what} named {twice[0]}.")
    for route in routes:
        for name in route.channels:
            if name not in names:
                there = ", ".join(names) or "none"
                raise UsageError(f"the route {route.name} names the channel {name}, and there is none: there are {there}.")
    for channel in channels:
        channel.check()
    return Setting(tuple(routes), {one.name: one.refresh for one in channels}, tuple(silences))
