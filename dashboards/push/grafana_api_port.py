"""A Grafana, asked by grafana-api 1.0.3: its resources where it has them, its bare verbs for the rest.

What it does not do is done here: it raises on an empty answer, follows redirects (which turn a POST into a GET), trips over
an error page that is not JSON, and empties the tags of an annotation that is changed without them.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dashboards.push.address import address_of
from dashboards.push.port import ROOT, Annotation, Folder, Refused, Saved, Stored, Version, Written
from dashboards.push.troubles import Troubles
from kernel.errors import UsageError

TIMEOUT = 5.0  # seconds for each answer; as grafana-api has it
NOT_THERE = object()
MOST_FOLDERS = 5000  # the most that Grafana's search hands out at once


class GrafanaApiPort:
    def __init__(self, url: str, token: str, *, ca_file: Path | None = None, timeout: float = TIMEOUT) -> None:
        from grafana_api.grafana_face import GrafanaFace

        where = address_of(url)
        if ca_file is not None:
            _check_ca(ca_file)
        self.address = str(where)
        self._face = GrafanaFace(
            auth=token,
            host=where.host,
            port=where.port,
            url_path_prefix=where.prefix,
            protocol=where.scheme,
            verify=str(ca_file) if ca_file else True,
            timeout=timeout,
        )
        self._face.api.s.max_redirects = 0  # the request would arrive as another one, or at a page to log in
        self._troubles = Troubles(self.address, token, timeout)

    def version(self) -> str:
        told = self._asked(lambda: self._face.api.GET("/health"), "be asked for its version")
        if not isinstance(told, dict) or "database" not in told:
            raise self._troubles.no_grafana("its /api/health is not that of a Grafana")
        return str(told.get("version", ""))

    def folders(self) -> list[Folder]:
        """Those at the top as they are now, and those inside others as the search knows them."""
        top = self._list(lambda: self._face.folder.get_all_folders(), "list its folders", "uid")
        nested = self._list(
            lambda: self._face.search.search_dashboards(type_="dash-folder", limit=MOST_FOLDERS), "list its folders", "uid"
        )
        return list({one["uid"]: Folder(str(one["uid"]), str(one.get("title", ""))) for one in [*nested, *top]}.values())

    def folder(self, uid: str) -> Folder | None:
        found = self._found(lambda: self._face.folder.get_folder(quote(uid, safe="")), "show a folder", "uid", "title")
        return None if found is None else Folder(*map(str, (found["uid"], found["title"])))

    def create_folder(self, title: str) -> Folder:
        made = self._dict(lambda: self._face.folder.create_folder(title), f"create the folder {title!r}", "uid", "title")
        return Folder(str(made["uid"]), str(made["title"]))

    def delete_folder(self, uid: str) -> bool:
        inside = self._list(
            lambda: self._face.api.GET(f"/search?folderUIDs={quote(uid, safe='')}&limit=1"), "search a folder"
        )
        if not inside:
            self._asked(lambda: self._face.folder.delete_folder(quote(uid, safe="")), "delete a folder", empty=True)
        return not inside

    def dashboard(self, uid: str) -> Stored | None:
        found = self._found(
            lambda: self._face.dashboard.get_dashboard(quote(uid, safe="")), f"show dashboard {uid}", "dashboard", "meta"
        )
        if found is None:
            return None
        what = f"show dashboard {uid}"
        dashboard, meta = (self._whole(found.get(part), what, ()) for part in ("dashboard", "meta"))
        folder = str(meta.get("folderUid") or ROOT)
        return Stored(
            dashboard,
            int(dashboard.get("version") or 0),
            Folder(ROOT if folder == "general" else folder, str(meta.get("folderTitle") or "General")),
            self._page(str(meta.get("url") or f"/d/{uid}")),
            bool(meta.get("provisioned")),
            self._newest(uid),
        )

    def _newest(self, uid: str) -> Version | None:
        """Grafana 10 answers with a list, 11 and later with an object that has one."""
        what = f"show the history of {uid}"
        told = self._there(lambda: self._face.api.GET(f"/dashboards/uid/{quote(uid, safe='')}/versions?limit=1"), what)
        entries = told.get("versions") if isinstance(told, dict) else told
        if not isinstance(entries, list) or not entries:
            return None
        first = max((self._whole(entry, what, ["version"]) for entry in entries), key=lambda entry: int(entry["version"]))
        return Version(int(first["version"]), str(first.get("message") or ""))

    def save(self, dashboard: Mapping[str, Any], *, version: int | None, folder: str, message: str) -> Saved:
        # By its uid alone, without the id of another Grafana; the version is what a change by somebody else is noticed by.
        body = {**dashboard, "id": None} | ({} if version is None else {"version": version})
        if version is None:
            body.pop("version", None)
        wanted = {"dashboard": body, "folderUid": folder, "message": message, "overwrite": False}
        what = f"save dashboard {dashboard['uid']} ({dashboard['title']})"
        saved = self._dict(lambda: self._face.dashboard.update_dashboard(wanted), what, "version")
        return Saved(int(saved["version"]), self._page(str(saved.get("url") or f"/d/{dashboard['uid']}")))

    def delete(self, uid: str) -> None:
        self._asked(
            lambda: self._face.dashboard.delete_dashboard(quote(uid, safe="")), f"delete dashboard {uid}", empty=True
        )

    def annotations(self, tags: Sequence[str], *, start_ms: int, end_ms: int, limit: int) -> list[Written]:
        quoted = [quote(tag, safe="") for tag in tags]  # the library would let a & through
        found = self._list(
            lambda: self._face.annotations.get_annotation(time_from=start_ms, time_to=end_ms, tags=quoted, limit=limit),
            "show annotations",
            "id",
            "time",
            "tags",
            "text",
        )
        return [
            Written(
                int(one["id"]),
                Annotation(
                    int(one["time"]), int(one.get("timeEnd") or 0) or None, tuple(one["tags"] or ()), str(one["text"])
                ),
            )
            for one in found
        ]

    def annotate(self, annotation: Annotation) -> int:
        added = self._dict(lambda: self._face.annotations.add_annotation(**_words(annotation)), "write an annotation", "id")
        return int(added["id"])

    def change_annotation(self, number: int, annotation: Annotation) -> None:
        self._asked(
            lambda: self._face.annotations.partial_update_annotation(number, **_words(annotation)), "change an annotation"
        )

    def _page(self, path: str) -> str:
        """Grafana's paths hold the prefix of a Grafana that has one, and not that of a proxy which takes it away."""
        prefix = address_of(self.address).prefix
        return self.address + "/" + path.lstrip("/").removeprefix(prefix)

    def _asked(self, ask: Callable[[], Any], what: str, *, empty: bool = False) -> Any:
        with self._troubles.told(what, empty=empty):
            return ask()

    def _found(self, ask: Callable[[], Any], what: str, *needed: str) -> dict[str, Any] | None:
        told = self._there(ask, what)
        return None if told is NOT_THERE else self._whole(told, what, needed)

    def _there(self, ask: Callable[[], Any], what: str) -> Any:
        try:
            return self._asked(ask, what)
        except Refused as trouble:
            if trouble.facts.get("status") == 404:
                return NOT_THERE
            raise

    def _dict(self, ask: Callable[[], Any], what: str, *needed: str) -> dict[str, Any]:
        return self._whole(self._asked(ask, what), what, needed)

    def _list(self, ask: Callable[[], Any], what: str, *needed: str) -> list[dict[str, Any]]:
        told = self._asked(ask, what)
        if not isinstance(told, list):
            raise self._troubles.no_grafana(f"asked to {what}, it answered with something else")
        return [self._whole(one, what, needed) for one in told]

    def _whole(self, told: Any, what: str, needed: Sequence[str]) -> dict[str, Any]:
        if not isinstance(told, dict) or any(key not in told for key in needed):
            raise self._troubles.no_grafana(f"asked to {what}, it answered with something else")
        return told


def _check_ca(file: Path) -> None:
    """The HTTP library tells of it when it is used, and then as the trouble of the other side."""
    try:
        ssl.create_default_context(cafile=str(file))
    except FileNotFoundError:
        raise UsageError(f"the CA file {file} is not there: give a PEM file of the authority that signed for Grafana.")
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"the CA file {file} holds no certificate that can be read ({error.strerror or error}).")


def _words(annotation: Annotation) -> dict[str, Any]:
    """All of them, always: the library sends empty tags for tags that are left out, and Grafana obeys."""
    return {
        "time_from": annotation.start_ms,
        "time_to": annotation.end_ms,
        "tags": list(annotation.tags),
        "text": annotation.text,
    }
