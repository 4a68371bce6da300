"""Stands in for `benchbook report` in the tests of a batch: `python fake_report.py FOLDER report NAME --inventory ...`.

What it does is said by the report's name; when it began and ended, and that it was alone, stands in FOLDER/times.jsonl.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import psutil

PATIENCE_S = 60


def until(there: Path) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not there.exists():
        if time.monotonic() > ends:
            sys.exit(f"nobody made {there}")
        time.sleep(0.01)


def act(name: str, folder: Path, words: list[str]) -> int:
    (folder / name).touch()
    if name == "meets":
        # Ends only beside a cell of another inventory.
        until(folder / "is_met")
    elif name == "is_met":
        until(folder / "meets")
    elif name == "fails":
        return 1
    elif name == "busy" and "--wait" not in words:
        print("hosts.db1: the host is reserved by somebody@elsewhere. Fix: wait")
        return 2
    elif name == "loses_its_worker" and not (folder / "lost").exists():
        (folder / "lost").touch()
        # Its parent is the leash, and whose child that is, the worker.
        psutil.Process().parent().parent().kill()
        time.sleep(PATIENCE_S)
    elif name == "goes_on":
        time.sleep(PATIENCE_S)
    print("page: site/index.html")
    return 0


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    name, inventory = words[1], words[words.index("--inventory") + 1]
    began, status = time.time(), 130
    alone = folder / f"{inventory}.alone"
    os.close(os.open(alone, os.O_CREAT | os.O_EXCL))
    try:
        print("  1/2  done a trial")
        status = act(name, folder, words)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        alone.unlink()
        said = {"name": name, "inventory": inventory, "began": began, "ended": time.time(), "status": status}
        with (folder / "times.jsonl").open("a") as out:
            out.write(json.dumps(said) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
