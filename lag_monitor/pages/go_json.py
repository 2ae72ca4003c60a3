"""JSON to the letter as Go writes it, so that whoever compares our answers with Burrow's finds no difference."""

import json
import struct
from functools import lru_cache

# Go writes these as escapes, so that an answer is harmless even where a browser takes it for a page or a script.
ESCAPES = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})
SINGLE = struct.Struct("<f")


def written(payload: object) -> bytes:
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPES)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()  # half a character becomes �


@lru_cache(maxsize=4096)
def single(value: float) -> float | int:
    """The shortest number that is the same in 32 bits, and no `.0` behind a whole one."""
    (stored,) = SINGLE.unpack(SINGLE.pack(value))
    shortest = next(short for digits in range(1, 18) if _stored(short := float(f"{stored:.{digits}g}")) == stored)
    return int(shortest) if shortest.is_integer() else shortest


def _stored(value: float) -> float:
    (stored,) = SINGLE.unpack(SINGLE.pack(value))
    return float(stored)
