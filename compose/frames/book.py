"""What the proxy's connections share: the rules that are armed, and a record of what was seen."""

from collections import Counter, deque
from collections.abc import Callable

from compose.frames.line import Line
from compose.frames.rules import Armed, Sighting

NEWEST = 50_000  # sightings that are kept; the versions are counted for ever


class Book:
    def __init__(self, connect: Callable[[Line], None]) -> None:
        self.connect = connect
        self.armed: list[Armed] = []
        self.sightings: deque[Sighting] = deque(maxlen=NEWEST)
        self.versions: Counter[tuple[str | None, int, int]] = Counter()  # of requests: client, api key, api version
        self.lines: set[Line] = set()
        self._numbers = 0

    def opened(self, broker: int) -> Line:
        self._numbers += 1
        line = Line(self, self._numbers, broker)
        self.lines.add(line)
        return line

    def closed(self, line: Line) -> None:
        self.lines.discard(line)

    def chosen(self, direction: str, api: int, client: str | None) -> Armed | None:
        for armed in self.armed:
            if armed.rule.direction == direction and armed.takes(api, client):
                return armed
        return None

    def note(self, sighting: Sighting) -> None:
        self.sightings.append(sighting)
        if sighting.direction == "request" and sighting.done != "released":
            self.versions[sighting.client, sighting.api, sighting.version] += 1
