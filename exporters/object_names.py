"""JMX object names: `domain:key=value,key=value`, where a value may stand in quotes with escapes of its own."""

import re
from dataclasses import dataclass
from functools import lru_cache

_PAIR = re.compile(r'([^,=]+)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class ObjectName:
    domain: str
    keys: tuple[tuple[str, str], ...]  # unquoted

    def get(self, key: str) -> str:
        return next((value for name, value in self.keys if name == key), "")


@lru_cache(maxsize=100_000)  # the same few thousand names come with every collection
def parse(text: str) -> ObjectName:
    domain, _, properties = text.partition(":")
    return ObjectName(domain, tuple((key, _unquoted(value)) for key, value in _PAIR.findall(properties)))


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], value[1:-1])
