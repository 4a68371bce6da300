"""Runs pgbench on a client host, and adds up there how long its transactions took.

    pgbench_timed.py PGBENCH WORD...

pgbench logs a line per transaction into this folder (`--log-prefix=log`); these are read once it has ended, and what
is printed are counts. Plain Python (3.7): hosts have no benchbook.

Buckets are those of an HdrHistogram with three digits: a microsecond wide up to 2,047, then twice as wide each time
that the value doubles, so that no bucket is wider than 0.1% of its value.
"""

from __future__ import annotations

import collections
import glob
import json
import os
import subprocess
import sys
import time
from typing import Counter, Iterable, Iterator

EXACT = 2048


def bucket(us: int) -> int:
    """The upper end of the bucket of a time in microseconds."""
    shift = max(0, us.bit_length() - EXACT.bit_length() + 1)
    return (((us >> shift) + 1) << shift) - 1


def times(lines: Iterable[str]) -> Iterator[int]:
    """The times of a log: `client transaction time script epoch us ...`; a word in their place is one that failed."""
    for line in lines:
        words = line.split(None, 3)
        if len(words) > 2 and words[2].isdigit():
            yield int(words[2])


def counted(paths: Iterable[str]) -> Counter[int]:
    found: Counter[int] = collections.Counter()
    for path in paths:
        with open(path) as lines:
            found.update(times(lines))
    wide: Counter[int] = collections.Counter()
    for us, count in found.items():
        wide[bucket(us)] += count
    return wide


def main() -> None:
    # Its progress goes to stderr: it is to be seen while it runs.
    done = subprocess.run(sys.argv[1:], check=False, stderr=subprocess.STDOUT)
    ended = time.time()
    logs = glob.glob("log.*")
    if done.returncode == 0:
        buckets = sorted(counted(logs).items())
        print("benchbook: " + json.dumps({"ended": ended, "buckets_us": buckets}), flush=True)
    for path in logs:
        os.remove(path)
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


if __name__ == "__main__":
    main()
