"""What every channel can do, and how it says no."""

from typing import Protocol

from kernel.errors import SuiteError
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.readings import Worst
from lag_monitor.verdict import Gravity


class Refused(SuiteError):
    """The notice did not arrive, as far as we know. The message names no secret: neither address nor password."""

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent  # the same would be said again: it is not worth a second try
        self.retry_after = retry_after  # seconds, as the receiver asked for


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def refresh(self) -> float:
        """Seconds after which the receiver wants to hear of what is still open; 0 if it remembers by itself."""
        ...

    def check(self) -> None:
        """UsageError if it could never send anything."""
        ...

    def send(self, notice: Notice) -> None:
        """Refused if it does not arrive."""
        ...


# To try a template with. The name of the group is as nasty as a real one may be.
SAMPLE = Notice(
    incident="00000000-0000-4000-8000-000000000000",
    seq=1,
    kind=Kind.OPEN,
    route="sample",
    channels=("sample",),
    cluster="sample",
    group='sample "group" \\ with\na line',
    status="STALLED",
    gravity=Gravity.ERROR,
    reason="a sample, to see whether this can be sent",
    lag=1,
    seconds=None,
    since=0.0,
    partitions=(Worst("sample", 0, "STALLED", 1, "a sample"),),
    began=0.0,
    opened_at=0.0,
    at=0.0,
    previous="",
    severity="critical",
)
