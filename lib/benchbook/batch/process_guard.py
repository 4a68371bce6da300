"""A program between a worker and a cell's command: it ends the command when whoever holds its standard input is gone.

    python process_guard.py PATIENCE_S COMMAND...

A worker that is killed can end nothing itself: its end of the pipe closes, and the command gets what Ctrl-C gives it,
which ends what runs on the hosts. After PATIENCE_S it is killed. Exit status: the command's, 128 + N for signal N.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main(patience_s: float, command: list[str]) -> int:
    """Run the command to its end."""
    # A worker ignores Ctrl-C, and what is ignored is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
    threading.Thread(target=_hold, args=(child, patience_s), daemon=True).start()
    status = child.wait()
    return status if status >= 0 else 128 - status


def _hold(child: subprocess.Popen[bytes], patience_s: float) -> None:
    while os.read(0, 4096):
        continue
    _send(child, signal.SIGINT)
    try:
        child.wait(patience_s)
    except subprocess.TimeoutExpired:
        _send(child, signal.SIGKILL)


def _send(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
