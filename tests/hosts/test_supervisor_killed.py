"""A supervisor that is killed while its command is being started: the command does not outlive it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchbook.hosts.jobs import remote_program
from benchbook.hosts.remote import supervise

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


def test_who_has_the_number_of_a_killed_supervisor_now_is_left_alone(tmp_path: Path) -> None:
    """Driver and supervisor were killed, and the numbers of the job's processes are others' by now."""
    (tmp_path / "job-1").mkdir()
    with subprocess.Popen(["sleep", "600"]) as other:
        pids = {"supervisor": other.pid, "group": other.pid, "lease": "/gone", "boot": supervise.boot()}
        # Of this boot, and long before.
        pids["began"] = {"supervisor": 1, "group": 1}
        (tmp_path / "job-1" / "pid").write_text(json.dumps(pids))
        (tmp_path / "job-1" / "job.json").write_text(json.dumps({"lease": "/gone", "lease_s": 20, "fence": None}))
        program = [sys.executable, str(remote_program("hosts", "supervise.py"))]
        try:
            for verb, *words in (
                ["stop", tmp_path / "job-1"],
                ["kill", tmp_path / "job-1"],
                ["reap", tmp_path, "/mine"],
            ):
                subprocess.run([*program, verb, *map(str, words)], check=True, capture_output=True)
            assert other.poll() is None
        finally:
            other.kill()
    assert not (tmp_path / "job-1").exists(), "what the job has left is removed"


def test_a_command_that_was_not_begun_when_its_supervisor_was_killed_is_not_run(tmp_path: Path) -> None:
    program = remote_program("hosts", "supervise.py")
    ended, alive = os.pipe()
    argv = [sys.executable, "-c", _SUPERVISOR, str(program), str(tmp_path)]
    subprocess.run(argv, check=True, pass_fds=[alive])
    os.close(alive)
    with os.fdopen(ended) as pipe:
        pipe.read()  # until supervisor and command have both ended
    assert not (tmp_path / "ran").exists()
