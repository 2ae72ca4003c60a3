"""An interceptor of one's own: card numbers leave the program with their last four digits only.

A plain class with the hooks it needs; nothing to inherit from and nothing to register.
"""

import re

CARD = re.compile(rb"\b(?:\d{4}[ -]?){3}(\d{4})\b")


class Masking:
    def on_send(self, record):
        if not isinstance(record.value, bytes):
            return record
        return record._replace(value=CARD.sub(rb"************\1", record.value))
