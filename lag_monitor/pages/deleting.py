"""Who may make the monitor forget a group. Burrow lets everybody; here it takes a token, and without one nobody may.

A login takes the header that a bearer token would stand in, so the token may also come in one of its own.
"""

import hmac
from collections.abc import Mapping

OFF = "deleting is switched off: set delete_token_file in the configuration to a file that holds a token"
MISSING = "deleting needs the token: send it as Authorization: Bearer TOKEN, or as X-Delete-Token: TOKEN"
WRONG = "that is not the token for deleting: compare it with the file that delete_token_file names"


def refused(headers: Mapping[str, str], token: str) -> tuple[int, str] | None:
    """None: go ahead. Otherwise the status and the sentence to refuse with."""
    if not token:
        return 403, OFF
    given = [headers.get("x-delete-token", "")]
    scheme, _, word = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        given.append(word.strip())
    if not any(given):
        return 401, MISSING
    wanted = token.encode()
    return (
        None if any(hmac.compare_digest(one.encode("latin-1", "replace"), wanted) for one in given if one) else (403, WRONG)
    )
