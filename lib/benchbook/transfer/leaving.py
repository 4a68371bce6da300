"""How a process ends that has spoken to a MongoDB server: at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn


def leave_with(main: Callable[[], None]) -> NoReturn:
    """Run a program's `main`, which closes what it writes, and end this process with its exit status.

    pymongo's threads look twice a second whether they are to end, and Python's own end waits for them: half a second of
    every transfer and of every tool around it, in which nothing is done.
    """
    status = 0
    try:
        main()
    except SystemExit as end:
        # None is 0, and words are an error.
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # Nobody reads what was printed.
        status = status or 1
    os._exit(status)
