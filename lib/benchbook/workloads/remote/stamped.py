"""Runs a program on a client host, and puts before each line that it prints when it came.

    stamped.py MOST PROGRAM WORD...

`1795370000.123 line`: seconds since the epoch, by this host's clock. A program that fails in a loop can print without
an end: after MOST lines that are no JSON, one a second is passed on, and the others are counted. Plain Python (3.7):
hosts have no benchbook.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Iterable, Iterator


def stamped(lines: Iterable[str], most: int) -> Iterator[str]:
    """The lines with their times."""
    plain, left_out, passed_at = 0, 0, 0
    for line in lines:
        at = time.time()
        if not line.startswith(("[{", "{")):
            plain += 1
            if plain > most and int(at) == passed_at:
                left_out += 1
                continue
            passed_at = int(at)
        yield "%.3f %s" % (at, line.rstrip("\n"))
    if left_out:
        yield "%.3f and %d lines more" % (time.time(), left_out)


def main() -> None:
    most, argv = int(sys.argv[1]), sys.argv[2:]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as program:
        assert program.stdout is not None
        for line in stamped(program.stdout, most):
            print(line, flush=True)
    sys.exit(program.returncode if program.returncode >= 0 else 128 - program.returncode)


if __name__ == "__main__":
    main()
