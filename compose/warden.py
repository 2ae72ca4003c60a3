"""Waits for its parent to end, by whatever means, and then removes the parent's cluster.

Run as `python -m compose.warden CLUSTER` with a pipe as standard input that only the parent holds open: the kernel
closes it even after kill -9. A clean end says so on the pipe first, and leaves the warden nothing to do.
"""

import signal
import sys

DONE = b"done\n"


def main(cluster: str) -> None:
    for nuisance in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(nuisance, signal.SIG_IGN)  # a Ctrl-C in the terminal reaches us too, and must not stop us
    if sys.stdin.buffer.read() == DONE:
        return
    from compose.state import clusters, demolish

    for state in clusters():
        if state.cluster == cluster and state.owner is not None:
            demolish(state)


if __name__ == "__main__":
    main(sys.argv[1])
