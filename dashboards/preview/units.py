"""Numbers as Grafana writes them, by the name of their unit: 1.23 K, 4.56 MiB, 2.3 min. Pure; the time comes in.

A unit is a ladder: from this size on, divide by that and say so. The page's script climbs the same ladders, so that what is
pointed at reads like what is printed. A unit that is not known here is written after the number, as it was given.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

MINUTE, HOUR, DAY, WEEK, YEAR = 60, 3600, 86400, 604800, 31536000
SIGNIFICANT = 3
LONGEST_UNIT = 24  # letters of a unit that nobody knows


@dataclass(frozen=True, slots=True)
class Rung:
    """From `least` on a value is divided and given this suffix."""

    least: float
    divisor: float
    suffix: str


Ladder = tuple[Rung, ...]


def _powers(base: float, suffixes: tuple[str, ...], *, first: int = 0) -> Ladder:
    """`first`: which of the suffixes the value is measured in; below it, nothing is made smaller."""
    places = range(first, len(suffixes))
    return tuple(
        Rung(0.0 if place == first else base ** (place - first), base ** (place - first), suffixes[place])
        for place in places
    )


def _iec(of: str) -> tuple[str, ...]:
    return tuple(f" {prefix}{of}" for prefix in ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))


def _si(of: str) -> tuple[str, ...]:
    return tuple(f" {prefix}{of}" for prefix in ("", "k", "M", "G", "T", "P", "E"))


def _counts(of: str) -> Ladder:
    return _powers(1000, tuple(f"{prefix} {of}" for prefix in ("", " K", " M", " B", " T")))


def _time(unit: float, *, smallest: float) -> Ladder:
    """Of a value that is measured in `unit` seconds; what is below a `smallest` is written in it all the same."""
    steps = (
        (1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1.0, " s"),
        (MINUTE, " min"), (HOUR, " hours"), (DAY, " days"), (WEEK, " weeks"), (YEAR, " years"),
    )  # fmt: skip
    used = [(seconds / unit, suffix) for seconds, suffix in steps if seconds >= smallest * 0.999]
    return tuple(Rung(size if place else 0.0, size, suffix) for place, (size, suffix) in enumerate(used))


def _one(suffix: str, divisor: float = 1.0) -> Ladder:
    return (Rung(0.0, divisor, suffix),)


LADDERS: dict[str, Ladder] = {
    "": _powers(1000, ("", " K", " Mil", " Bil", " Tri", " Quadr", " Quint")),
    "short": _powers(1000, ("", " K", " Mil", " Bil", " Tri", " Quadr", " Quint")),
    "none": _one(""),
    "string": _one(""),
    "sishort": _powers(1000, ("", " k", " M", " G", " T", " P", " E")),
    "bytes": _powers(1024, _iec("B")),
    "kbytes": _powers(1024, _iec("B"), first=1),
    "mbytes": _powers(1024, _iec("B"), first=2),
    "gbytes": _powers(1024, _iec("B"), first=3),
    "decbytes": _powers(1000, _si("B")),
    "deckbytes": _powers(1000, _si("B"), first=1),
    "decmbytes": _powers(1000, _si("B"), first=2),
    "decgbytes": _powers(1000, _si("B"), first=3),
    "bits": _powers(1024, _iec("b")),
    "decbits": _powers(1000, _si("b")),
    "Bps": _powers(1000, _si("B/s")),
    "KBs": _powers(1000, _si("B/s"), first=1),
    "MBs": _powers(1000, _si("B/s"), first=2),
    "binBps": _powers(1024, _iec("B/s")),
    "bps": _powers(1000, _si("b/s")),
    "binbps": _powers(1024, _iec("b/s")),
    "pps": _powers(1000, _si("p/s")),
    "hertz": _powers(1000, _si("Hz")),
    "cps": _counts("c/s"),
    "ops": _counts("ops/s"),
    "reqps": _counts("req/s"),
    "rps": _counts("rd/s"),
    "wps": _counts("wr/s"),
    "iops": _counts("io/s"),
    "eps": _counts("evt/s"),
    "mps": _counts("msg/s"),
    "recps": _counts("rec/s"),
    "rowsps": _counts("rows/s"),
    "cpm": _counts("c/m"),
    "opm": _counts("ops/m"),
    "ns": _time(1e-9, smallest=1e-9),
    "µs": _time(1e-6, smallest=1e-6),
    "ms": _time(1e-3, smallest=1e-3),
    "s": _time(1.0, smallest=1e-9),
    "m": _time(MINUTE, smallest=1.0),
    "h": _time(HOUR, smallest=MINUTE),
    "d": _time(DAY, smallest=HOUR),
    "percent": _one("%"),
    "percentunit": _one("%", 0.01),
    "celsius": _one(" °C"),
}
PLURALS = (" hours", " days", " weeks", " years")
MOMENTS = (
    "dateTimeFromNow",
    "dateTimeAsIso",
    "dateTimeAsIsoNoDateIfToday",
    "dateTimeAsUS",
    "dateTimeAsLocal",
    "dateTimeAsSystem",
)
AGES = ((YEAR, "year"), (WEEK, "week"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (1, "second"))


def ladder(unit: str) -> Ladder:
    if unit in LADDERS:
        return LADDERS[unit]
    own = unit.removeprefix("suffix:")[:LONGEST_UNIT]
    return _one(own if own != unit else f" {own}")


def said(value: float, unit: str = "", *, decimals: int | None = None, digits: int = SIGNIFICANT, now: float = 0.0) -> str:
    """`digits`: how many count, unless `decimals` after the point are asked for. `now`: seconds since 1970."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if unit in MOMENTS:
        return ago(value / 1000, now) if unit == "dateTimeFromNow" else moment(value / 1000)
    if unit == "locale":
        return f"{value:,.{decimals}f}" if decimals is not None else f"{float(written(value, digits=15)):,.15g}"
    if unit.startswith("prefix:"):
        return unit.removeprefix("prefix:")[:LONGEST_UNIT] + written(value, decimals, digits)
    rung = _rung(abs(value), ladder(unit), decimals, digits)
    number = written(value / rung.divisor, decimals, digits)
    suffix = rung.suffix.removesuffix("s") if number in ("1", "-1") and rung.suffix in PLURALS else rung.suffix
    return number + suffix


def written(number: float, decimals: int | None = None, digits: int = SIGNIFICANT) -> str:
    """So many digits as count, none of them a zero at the end; whole numbers are whole."""
    if decimals is not None:
        text = f"{number:.{min(max(decimals, 0), 12)}f}"
    elif number == 0 or (number == int(number) and abs(number) < 1e15):
        text = f"{int(number)}"
    elif abs(number) < 1e-9 or abs(number) >= 1e15:
        text = f"{number:.{digits - 1}e}"
    else:
        after = max(0, digits - 1 - math.floor(math.log10(abs(number))))
        text = f"{number:.{after}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def distinct(values: list[float], unit: str, *, now: float = 0.0) -> list[str]:
    """Each with as many digits as it takes to tell them apart: for the marks of an axis."""
    texts: list[str] = []
    for digits in range(SIGNIFICANT, 13):
        texts = [said(value, unit, digits=digits, now=now) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def ago(at: float, now: float) -> str:
    """Either way: a certificate's end lies ahead."""
    distance = abs(now - at)
    size, name = next(((size, name) for size, name in AGES if distance >= size), (1, "second"))
    number = int(distance / size)
    if number == 0:
        return "now"
    words = f"{number} {name}{'s' if number != 1 else ''}"
    return f"{words} ago" if at <= now else f"in {words}"


def moment(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "no date"


def _rung(size: float, rungs: Ladder, decimals: int | None, digits: int) -> Rung:
    """The highest that the value reaches, once it is rounded: 999.96 K is 1 Mil."""
    if size == 0:  # 0 s, not 0 ns
        return next((rung for rung in rungs if rung.divisor == 1), rungs[0])
    chosen = next(rung for rung in reversed(rungs) if size >= rung.least)
    above = rungs.index(chosen) + 1
    if above < len(rungs) and float(written(size / chosen.divisor, decimals, digits)) * chosen.divisor >= rungs[above].least:
        return rungs[above]
    return chosen
