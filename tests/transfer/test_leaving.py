"""A process that has spoken to a server ends at once, with its status and all that it printed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# pymongo's threads sleep like this one, and Python's own end waits for it as long as for them.
PROGRAM = """
import atexit, threading
from benchbook.transfer.leaving import leave_with
asleep = threading.Event()
atexit.register(asleep.wait)
def main():
    print("written " * 10_000)
    {end}
leave_with(main)
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("return", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(2)", 2),
        ("raise SystemExit('why')", 1),
    ],
)
def test_the_status_of_the_program_and_all_of_its_words(end: str, status: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, len(done.stdout)) == (status, 80_001)


def test_words_that_nobody_reads_are_no_success() -> None:
    # Few enough to stand in the buffer to the end.
    program = PROGRAM.format(end="return").replace("10_000", "1")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=buffered) as process:
        assert process.stdout is not None
        process.stdout.close()
        try:
            assert process.wait(60) == 1
        finally:
            process.kill()
