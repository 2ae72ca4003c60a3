"""How things stood, over time: a band for each series, in the colours and words of its values. Pure."""

from itertools import groupby

from markupsafe import Markup, escape

from dashboards.preview.colours import of_line
from dashboards.preview.drawing import NOTHING, Drawing, Series, bounded, series
from dashboards.preview.fields import Shown, shown, threshold_colour
from dashboards.preview.frame import times
from dashboards.preview.svg import el, joined, percent, title
from dashboards.preview.units import moment
from dashboards.preview.values import Scene
from dashboards.preview.window import Window

LETTER = 0.0135  # of a band's length, about, that one letter of its word takes,
NARROW = 0.034  # and on a telephone
MOST_KEYS = 12


def states(scene: Scene) -> Drawing:
    found, notes = bounded(series(scene))
    if not found:
        return NOTHING
    words = {value: _shown(one, value, scene.now) for one in found for value in one.known}
    tints = _tints(words)
    rows = [
        el("div", el("span", escape(one.name), title=one.name) + _band(one, tints, scene), class_="band-row")
        for one in found
    ]
    keys = {words[value].text: tint for value, tint in sorted(tints.items())}
    legend = joined(el("span", _key(tint) + escape(text)) for text, tint in list(keys.items())[:MOST_KEYS])
    if len(keys) > MOST_KEYS:
        notes += (f"{len(keys) - MOST_KEYS} more values are not explained.",)
    body = el("div", joined([*rows, el("div", el("span") + times(scene.window), class_="band-row")]), class_="bands")
    return Drawing(body + el("div", legend, class_="keys"), notes=notes)


def _shown(one: Series, value: float, now: float) -> Shown:
    words = shown(one.field, value, now=now)
    return words if words.colour or words.mapped else Shown(words.text, threshold_colour(one.field, value))


def _tints(words: dict[float, Shown]) -> dict[float, str]:
    """What has no colour gets one that no neighbour has."""
    plain = [value for value in sorted(words) if not words[value].colour]
    return {value: words[value].colour or of_line(plain.index(value)).split()[0] for value in words}


def _band(one: Series, tints: dict[float, str], scene: Scene) -> Markup:
    parts, place = [el("rect", class_="trough", width="100%", height="100%")], 0
    for value, run in groupby(one.values):
        count = len(list(run))
        if value is not None:
            parts.append(_stretch(place, count, _shown(one, value, scene.now).text, tints[value], scene.window))
        place += count
    parts += [_region(one_region.start_ms, one_region.end_ms, one_region.text, scene.window) for one_region in scene.regions]
    return el("svg", joined(parts), class_="band", role="img", aria_label=_story(one, scene))


def _stretch(place: int, count: int, text: str, tint: str, window: Window) -> Markup:
    """Until the next point, for a state holds until another is seen; words only where they have room."""
    steps = max(1, window.points - 1)
    begin, end = place / steps, min(1.0, (place + count) / steps)
    from_, to = (moment(window.start + at * window.step)[11:] for at in (place, min(place + count, steps)))
    tight = "tight" if end - begin <= NARROW * (len(text) + 2) else None
    roomy = end - begin > LETTER * (len(text) + 2)
    said = el("text", escape(text), class_=tight, x=5, y="50%", dy="0.35em") if roomy else Markup("")
    inside = title(f"{text}, {from_} to {to}") + el("rect", class_=f"state {tint}", width="100%", height="100%") + said
    return el("svg", inside, x=percent(begin), width=percent(max(end - begin, 0.002)), height="100%")


def _region(start_ms: int, end_ms: int | None, text: str, window: Window) -> Markup:
    begin = window.share(start_ms / 1000)
    end = begin if end_ms is None else window.share(end_ms / 1000)
    if end < 0 or begin > 1:
        return Markup("")
    edges = [
        el("line", title(text), class_="fault-edge", x1=percent(at), x2=percent(at), y1=0, y2="100%")
        for at in {begin, end}
        if 0 <= at <= 1
    ]
    return joined(edges)


def _key(tint: str) -> Markup:
    return el("svg", el("rect", class_=f"state {tint}", width=12, height=12, rx=3), width=12, height=12, aria_hidden="true")


def _story(one: Series, scene: Scene) -> str:
    said = [_shown(one, value, scene.now).text for value, _ in groupby(one.known)]
    return f"{one.name}: " + ", then ".join(said[:6]) + (", and more" if len(said) > 6 else "")
