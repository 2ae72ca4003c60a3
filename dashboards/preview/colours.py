"""Grafana's names for colours, as classes of the page's style: one word never becomes a style of its own."""

import re

HUES = ("red", "orange", "yellow", "green", "blue", "purple")
SHADES = ("super-light", "light", "semi-dark", "dark")
LINES = 8  # colours that the page's style has for lines; after them the dashes change
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})(?:[0-9a-f]{2})?", re.IGNORECASE)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,[^)]*)?\)")
_OWN = re.compile(r"\bx-([0-9a-f]{6})\b")


def colour(word: str) -> str:
    """A class, or nothing for what is no colour we know."""
    text = word.strip().lower()
    hue = text.rpartition("-")[2]
    if hue in HUES and (text == hue or text.removesuffix(f"-{hue}") in SHADES):
        return f"k-{hue}"
    if found := _HEX.fullmatch(text):
        digits = found[1] if len(found[1]) == 6 else "".join(one * 2 for one in found[1])
        return f"x-{digits}"
    if found := _RGB.fullmatch(text):
        return "x-" + "".join(f"{min(255, int(one)):02x}" for one in found.groups())
    return ""


def of_line(place: int) -> str:
    """The class of the line at this place: first the colours, then the same with dashes."""
    dashes = place // LINES % 3
    return f"s{place % LINES}" + (f" dash{dashes}" if dashes else "")


def own(page: str) -> str:
    """The style of all colours that a page gives by number."""
    return "".join(f".x-{digits}{{--c:#{digits}}}" for digits in sorted(set(_OWN.findall(page))))
