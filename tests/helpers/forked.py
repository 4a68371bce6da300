"""Processes that have the kit already: to import it is a second of CPU, and most of what a short command takes.

One process per worker imports it, and these are its children. Each has an environment, a folder and a session of its
own, and nobody's threads. What depends on how Python starts (encodings, a closed pipe) is not for them: `Home.start`.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

NURSERY = multiprocessing.get_context("forkserver")
# Not `cli`, whose terminal is the one that it finds when it is imported.
NURSERY.set_forkserver_preload(["driver", "benchbook.report", "benchbook.pipeline"])


def forked(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, *, within_s: float, code: str = ""
) -> tuple[int, str]:
    """`python -m benchbook WORDS`, or `code`, to its end: (exit status, all that it said)."""
    with tempfile.NamedTemporaryFile("r") as said:
        process = NURSERY.Process(target=_run, args=(list(words), dict(environment), str(folder), said.name, code))
        process.start()
        process.join(within_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"not at its end within {within_s:g} s: {words or code}")
        return process.exitcode, said.read()


def _run(words: list[str], environment: dict[str, str], folder: str, output: str, code: str) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    with Path(output).open("w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    # As Python makes them when it starts.
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["benchbook", *words]
    if code:
        exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module("benchbook", run_name="__main__", alter_sys=True)
