"""How fast the frame proxy relays: against a bare connection and against Toxiproxy, in turns, in one run.

Frames of one size go one way over loopback from a process of their own to another, and are answered at the end. The proxy
looks at the header of each with a rule armed that chooses none of them, as in a trial that waits for its request.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import pack

from compose.frames.proxy import FrameProxy
from compose.frames.rules import Rule
from compose.toxiproxies import wait_listening
from compose.toxiproxy_binary import toxiproxy_binary
from kernel.waiting import wait_until

Address = tuple[str, int]
SIZES = {"1 kB": 1_000, "16 kB": 16_000, "100 kB": 100_000, "1 MB": 1_000_000}
WAYS = ("bare", "Toxiproxy", "frames")
BLOCK = 1 << 20  # bytes handed to the socket at a time, at least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="two short rounds instead of five")
    asked = parser.parse_args()
    rounds, megabytes = (2, 200) if asked.quick else (5, 1000)
    figures: dict[str, dict[str, list[float]]] = {size: {way: [] for way in WAYS} for size in SIZES}
    with _receiver() as there, _toxiproxy(there) as toxiproxy, FrameProxy({1: there}) as frames:
        roads = {"bare": there, "Toxiproxy": toxiproxy, "frames": frames.listening[1]}
        with frames.armed(Rule("drop", "EndTxn", nth=0)):
            for _ in range(rounds):  # interleaved, so that a slow minute hits all alike
                for size, each in figures.items():
                    for way, road in roads.items():
                        each[way].append(_sent(road, SIZES[size], megabytes))
    _print(figures, as_json=asked.json)


def _print(figures: dict[str, dict[str, list[float]]], *, as_json: bool) -> None:
    middle = {size: {way: statistics.median(rates) for way, rates in each.items()} for size, each in figures.items()}
    if as_json:
        ratios = {size: {way: each["frames"] / each[way] for way in WAYS[:2]} for size, each in middle.items()}
        print(json.dumps({"megabytes_per_second": middle, "frames_of": ratios, "rounds": figures}))
        return
    for size, each in middle.items():
        rates = ", ".join(f"{way} {rate:,.0f} MB/s" for way, rate in each.items())
        bare, toxic = (each["frames"] / each[way] for way in WAYS[:2])
        print(f"frames of {size:>6}: {rates}; the frame proxy keeps {bare:.2f} of bare and has {toxic:.2f} of Toxiproxy")


@contextmanager
def _receiver() -> Iterator[Address]:
    command = [sys.executable, "-m", "benchmarks.frames", "--receive"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield "127.0.0.1", int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def _toxiproxy(upstream: Address) -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        api, listen = one.getsockname(), other.getsockname()
    config = [{"name": "bench", "listen": f"127.0.0.1:{listen[1]}", "upstream": f"127.0.0.1:{upstream[1]}", "enabled": True}]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "toxiproxy.json"
        told.write_text(json.dumps(config))
        command = [str(toxiproxy_binary()), "-host", "127.0.0.1", "-port", str(api[1]), "-config", str(told)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: "bench" in wait_listening(api), bool, what="Toxiproxy carries the link", timeout=20)
                yield listen
            finally:
                process.kill()


def _sent(road: Address, size: int, megabytes: int) -> float:
    """Megabytes a second, from the first byte to the answer that everything arrived."""
    command = [sys.executable, "-m", "benchmarks.frames", "--send", road[0], str(road[1]), str(size), str(megabytes)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _send(host: str, port: str, size: str, megabytes: str) -> float:
    body = pack(">hhih", 0, 9, 1, 5) + b"bench"
    frame = pack(">i", int(size) - 4) + body.ljust(int(size) - 4, b"x")
    block = frame * max(1, BLOCK // len(frame))
    count = -(-int(megabytes) * 1_000_000 // len(block))
    with socket.create_connection((host, int(port))) as line:
        line.sendall(pack(">ihhihq", 18, 0, 9, 0, -1, count * len(block)))  # a frame too: it says how much will come
        began = time.monotonic()
        for _ in range(count):
            line.sendall(block)
        assert len(line.recv(8, socket.MSG_WAITALL)) == 8
        return count * len(block) / (time.monotonic() - began) / 1e6


def _receive() -> None:
    buffer = bytearray(BLOCK)
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            line, _ = server.accept()
            with line:
                left = int.from_bytes(line.recv(22, socket.MSG_WAITALL)[14:], "big")
                while left > 0 and (count := line.recv_into(buffer)):
                    left -= count
                line.sendall(pack(">ii", 4, 1))


if __name__ == "__main__":
    if "--receive" in sys.argv:
        _receive()
    elif "--send" in sys.argv:
        print(_send(*sys.argv[2:]))
    else:
        main()
