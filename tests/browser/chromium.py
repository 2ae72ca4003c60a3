"""A real browser, asked three things: what it made of a page, what it complained of, whom it called."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--no-first-run", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr",
)  # fmt: skip
# Its narrowest window is wider than a telephone, so a page is looked at through a frame that reports what is inside.
FRAME = """<!doctype html><body>
<iframe src="{page}" width="{width}" height="900" frameborder="0"></iframe><pre id="told"></pre>
<script>addEventListener("message", (event) => (document.getElementById("told").textContent += event.data + "\\n"));
</script>"""
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@dataclass(frozen=True)
class Look:
    dom: str
    complaints: list[str]
    called: list[str]


def look(page: Path, scratch: Path, *options: str) -> Look:
    """Open the page in a fresh profile. Whom it called is read from the browser's own log."""
    log = scratch / "net.json"
    words = [str(PROGRAM), *QUIET, f"--user-data-dir={scratch / 'profile'}", f"--log-net-log={log}", *options]
    words += ["--virtual-time-budget=3000", "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Look(done.stdout, complaints, _called(log))


def picture(page: Path, target: Path, scratch: Path, *options: str, size: str = "1280,1400") -> Path:
    words = [str(PROGRAM), *QUIET, f"--user-data-dir={scratch / 'profile'}", f"--window-size={size}", *options]
    subprocess.run([*words, f"--screenshot={target}", page.as_uri()], capture_output=True, timeout=120, check=True)
    return target


def told(page: Path, scratch: Path, script: str, *options: str, width: int = 1280) -> str:
    """What a script finds in a copy of the page, `width` wide; the copy has no policy, or the script would not run."""
    scratch.mkdir(parents=True, exist_ok=True)
    copy, frame = scratch / "copy.html", scratch / "frame.html"
    inside = f'<script>addEventListener("load", () => parent.postMessage(String({script}), "*"))</script></body>'
    copy.write_text(POLICY.sub("", page.read_text()).replace("</body>", inside))
    frame.write_text(FRAME.format(page=copy.as_uri(), width=width))
    dom = look(frame, scratch, "--window-size=1400,1000", *options).dom
    found = re.search(r'<pre id="told">(.*?)\n</pre>', dom, re.S)
    assert found, "the page did not answer"
    return found[1]


def require_browser() -> None:
    if PROGRAM is None and not os.environ.get("KAFKA_TRIAL_REQUIRE_BROWSER"):
        pytest.skip("needs chromium (set KAFKA_TRIAL_REQUIRE_BROWSER to fail instead)")


def _called(log: Path) -> list[str]:
    """What the page asked for; the browser's own calls name no origin. The log's end may be missing, so line by line."""
    asked = re.findall(r'"initiator":"(?!not an origin)[^\n]*?"url":"((?:[^"\\]|\\.)*)"', log.read_text(errors="replace"))
    plain = {json.loads(f'"{address}"') for address in asked}
    return sorted(address for address in plain if not address.startswith(("file:", "data:", "chrome:")))
