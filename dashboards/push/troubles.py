"""What went wrong between us and a Grafana, as one sentence each: what happened, where, what to do. Never with the token."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dashboards.push.port import Refused
from kernel.errors import SuiteError, UsageError

CHANGED = "version-mismatch"
WHY_NOT = {
    CHANGED: "it was changed by somebody else in the meantime. Push again",
    "name-exists": "another dashboard of this title is already there. Rename one of them",
    "plugin-dashboard": "it belongs to a plugin, which would write over it. Save it under another uid",
}
ERRNO = re.compile(r"\[Errno -?\d+\] ")
LONGEST = 300  # letters of what Grafana says for itself


class Troubles:
    def __init__(self, address: str, token: str, timeout: float) -> None:
        self._address, self._token, self._timeout = address, token, timeout

    def __repr__(self) -> str:
        return f"Troubles({self._address})"

    def no_grafana(self, why: str) -> UsageError:
        return UsageError(
            self._clean(f"what answers at {self._address} is no Grafana: {why}. Give the address of its start page.")
        )

    @contextmanager
    def told(self, what: str, *, empty: bool = False) -> Iterator[None]:
        """Around one question. With `empty`, an answer without a word is one."""
        import requests
        from grafana_api.grafana_api import GrafanaException

        try:
            yield
        except GrafanaException as trouble:
            raise self._answered(what, trouble.status_code, trouble.response) from None
        except requests.exceptions.JSONDecodeError as trouble:
            if empty and not trouble.doc.strip():
                return
            raise self.no_grafana(f"asked to {what}, it answered with something that is not JSON") from None
        except requests.RequestException as trouble:
            raise self._not_reached(trouble) from None
        except (TypeError, KeyError, ValueError):  # an error page that is not JSON, which grafana-api takes for an object
            raise self.no_grafana(f"asked to {what}, it answered with a page") from None

    def _answered(self, what: str, status: int, response: Any) -> SuiteError:
        said = response if isinstance(response, dict) else {}
        words = self._clean(" ".join(str(said.get("message", "")).split())[:LONGEST].rstrip("."))
        where = f"Grafana at {self._address}"
        if status == 401:
            return UsageError(
                f"{where} does not take the token: it is wrong, has ended or belongs to another Grafana.", status=status
            )
        if status == 403:
            return UsageError(
                f"the token may not {what} on {self._address}: {words or 'access denied'}. "
                "Give its service account the role Editor, or the permission that is named.",
                status=status,
            )
        if not said:
            return self.no_grafana(f"asked to {what}, it answered {status} with something that is not JSON")
        if status == 412:
            why = WHY_NOT.get(str(said.get("status")), f"Grafana says: {words}. Look at it there")
            return Refused(f"could not {what} on {self._address}: {why}.", status=status, why=str(said.get("status")))
        if status == 404:
            return Refused(f"{where} could not {what}: {words or 'it is not there'}.", status=status)
        if 400 <= status < 500:
            return UsageError(f"{where} will not {what}: {words or f'it answers {status}'}.", status=status)
        return SuiteError(f"{where} failed to {what}: {status} {words or 'without a word'}. Try again.", status=status)

    def _not_reached(self, trouble: Exception) -> SuiteError:
        import requests

        if isinstance(trouble, requests.exceptions.SSLError):
            return UsageError(
                f"the certificate of {self._address} is not trusted ({self._inmost(trouble)}): name the authority "
                "that signed it with --ca-file, or check the address."
            )
        if isinstance(trouble, requests.exceptions.TooManyRedirects):
            response = trouble.response
            to = response.headers.get("location", "elsewhere") if response is not None else "elsewhere"
            advice = "give the address at which Grafana itself answers, without a page to log in"
            return UsageError(self._clean(f"{self._address} sends us on to {to}: {advice}."))
        if isinstance(trouble, requests.exceptions.Timeout):
            return SuiteError(f"Grafana at {self._address} did not answer within {self._timeout:g} s: try again.")
        return UsageError(
            f"no Grafana answers at {self._address} ({self._inmost(trouble)}): check the address, or start it."
        )

    def _inmost(self, trouble: BaseException) -> str:
        """The reason below the library's layers, in its own short words."""
        below: Any = trouble
        while True:
            reason = getattr(below, "reason", None)
            following = reason if isinstance(reason, BaseException) else next(
                (arg for arg in below.args if isinstance(arg, BaseException)), None
            )  # fmt: skip
            if following is None:
                break
            below = following
        words = getattr(below, "verify_message", "") or getattr(below, "strerror", "") or str(below).rpartition(": ")[2]
        return self._clean(ERRNO.sub("", words).strip().rstrip(".")) or type(below).__name__

    def _clean(self, words: str) -> str:
        """Something that is no Grafana may repeat to us whatever we sent."""
        return words.replace(self._token, "***") if self._token else words
