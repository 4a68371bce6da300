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
        # Its parent is the process guard, and whose child that is, the worker.
        psutil.Process().parent().parent().kill()
        time.sleep(PATIENCE_S)
    elif name == "goes_on":
        time.sleep(PATIENCE_S)
    elif name == "looks_for_keys":
        return looks_for_keys()
    print("page: site/index.html")
    return 0


def looks_for_keys() -> int:
    """1 where a command line, or a file that others may read, holds the key of this worker's cluster."""
    key = Path(os.environ["DASK_DISTRIBUTED__COMM__TLS__WORKER__KEY"])
    secrets = key.read_text().splitlines()[1:-1]
    said = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    told = [line for line in said if any(secret in line for secret in secrets)]
    print(told, oct(key.stat().st_mode))
    return 1 if told or key.stat().st_mode & 0o077 else 0


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
