"""A client in a process of its own, as seen by whoever started it: orders go in, counts come out, signals hit it."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from chaos.traffic.plans import PipelinePlan, Plan, ProducerPlan, to_json
from kernel.errors import NotReady, SuiteError, UsageError
from kernel.waiting import wait_until

TOP = Path(__file__).parent.parent.parent


class Client:
    def __init__(self, name: str, plan: Plan, task: dict[str, Any], log: Path) -> None:
        self.name, self.plan, self.config = name, plan, dict(task["config"])
        self.status: dict[str, Any] = {}
        self.killed = False
        self._orders = 0
        self._log = log
        with log.open("ab") as words:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chaos.traffic.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=TOP,
                start_new_session=True,  # Ctrl-C is for us alone; we then end our clients in order
            )
        self._write(json.dumps({**task, "client": name, "plan": to_json(plan)}))
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self, timeout: float = 30) -> None:
        self._wait("ready", timeout)

    def order(self, word: str) -> None:
        self._orders += 1
        self._write(word)

    def burst(self, count: int, timeout: float = 30) -> list[int]:
        """Have a producer send so many records at once; returns their values."""
        if not isinstance(self.plan, ProducerPlan) or self.plan.flat_out:
            raise UsageError(f"client {self.name} has no bursts: only a producer with a rate, or with keys, has.")
        before = len(self.status.get("bursts", []))
        self.order(f"burst {count}")
        done = wait_until(
            lambda: self.status.get("bursts", []),
            lambda bursts: len(bursts) > before,
            what=f"{count} records handed over by {self.name}",
            timeout=timeout,
            every=0.02,
        )
        return list(range(*done[before]))

    def hold(self, timeout: float = 60) -> list[Any]:
        """Have it stop in the middle of a transaction, or of a batch, with all it has sent acknowledged and on record.
        Returns what it has in hand: a producer its first value and the one after the last, a pipeline (input, output)s."""
        if not isinstance(self.plan, PipelinePlan) and not self._halves:
            raise UsageError(
                f"client {self.name} has nothing to hold: a pipeline has, or transactions of 2 records or more."
            )
        self.order("hold")
        what = f"{self.name} in the middle of its work"
        return list(wait_until(lambda: self.status.get("holding"), bool, what=what, timeout=timeout, every=0.02) or [])

    @property
    def _halves(self) -> bool:
        return isinstance(self.plan, ProducerPlan) and (self.plan.transaction or 0) > 1

    def rest(self, timeout: float = 60) -> None:
        """Have it pause. When this returns, a producer has an answer to everything it sent, and a consumer takes no more."""
        self.order("pause")
        orders, sends = self._orders, isinstance(self.plan, ProducerPlan)
        wait_until(
            lambda: self.status,
            # Orders are taken between two polls, and a poll may last as long as a commit: older reports do not count.
            lambda now: now.get("orders", 0) >= orders and (now.get("open") == 0 if sends else bool(now.get("paused"))),
            what=f"{self.name} has an answer to everything it sent" if sends else f"{self.name} paused",
            timeout=timeout,
            every=0.02,
        )

    def stop(self) -> None:
        """Ask it to finish: what is under way is completed and written down."""
        if self.running:
            self.order("stop")

    def wait_closed(self, timeout: float) -> None:
        self._wait("closed", timeout)
        self._process.wait(10)

    def kill(self) -> None:
        """SIGKILL: nothing is completed, and nothing said goodbye to."""
        self.killed = True
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """However it stands: gone afterwards."""
        if self.running:
            self.resume()
            self._process.kill()
            self._process.wait(10)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _wait(self, state: str, timeout: float) -> None:
        def look() -> dict[str, Any]:
            if not self.status.get(state) and not self.running:
                self._ear.join(1)  # its last words may still be on their way
                if not self.status.get(state):
                    raise SuiteError(f"client {self.name} ended before it was {state}. {self._last_words()}")
            return self.status

        wait_until(
            look, lambda status: bool(status.get(state)), what=f"client {self.name} {state}", timeout=timeout, every=0.02,
            hint=self._last_words,
        )  # fmt: skip

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f'Its log ends in "{lines[-1][:300]}".' if lines else ""

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        try:
            for line in self._process.stdout:
                self.status = {**self.status, **json.loads(line)}
        except ValueError:  # the pipe was closed, or the last line was cut off by a kill
            pass

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise NotReady(f"client {self.name} is gone: it takes no orders any more. {self._last_words()}")
