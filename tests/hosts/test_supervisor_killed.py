"""A supervisor that is killed while its command is being started: the command does not outlive it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchbook.hosts.jobs import remote_program

# The command's process finds its supervisor dead before it has asked the kernel to be told of that.
_SUPERVISOR = """
import importlib.util, os, sys, time
spec = importlib.util.spec_from_file_location("supervise", sys.argv[1])
supervise = importlib.util.module_from_spec(spec)
spec.loader.exec_module(supervise)
supervisor = os.getpid()

def until_it_is_dead():
    while os.getppid() == supervisor:
        time.sleep(0.01)

os.setsid = until_it_is_dead
supervise.spawn(sys.argv[2], {"argv": ["touch", sys.argv[2] + "/ran"]})
os._exit(0)
"""


def test_a_command_that_was_not_begun_when_its_supervisor_was_killed_is_not_run(tmp_path: Path) -> None:
    supervise = remote_program("hosts", "supervise.py")
    ended, alive = os.pipe()
    argv = [sys.executable, "-c", _SUPERVISOR, str(supervise), str(tmp_path)]
    subprocess.run(argv, check=True, pass_fds=[alive])
    os.close(alive)
    with os.fdopen(ended) as pipe:
        pipe.read()  # until supervisor and command have both ended
    assert not (tmp_path / "ran").exists()
