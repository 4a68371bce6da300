"""A clock that is set while a job runs: the job lasted as long as it did, and not less than nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from kit import until

from benchbook.hosts.jobs import remote_program

# The supervisor's wall clock is set back by a minute once its command has run.
_SUPERVISOR = """
import importlib.util, os, sys, time, types
spec = importlib.util.spec_from_file_location("supervise", sys.argv[1])
supervise = importlib.util.module_from_spec(spec)
spec.loader.exec_module(supervise)
is_set = os.path.join(sys.argv[2], "set")
supervise.time = types.SimpleNamespace(**vars(time))
supervise.time.time = lambda: time.time() - 60 * os.path.exists(is_set)
os._exit(supervise.start(sys.argv[2]))
"""


def test_a_job_has_not_ended_before_it_started(tmp_path: Path) -> None:
    lease = tmp_path / "lease"
    lease.touch()
    job = {"argv": ["touch", "set"], "lease": str(lease), "lease_s": 60, "timeout_s": 60, "grace_s": 1, "fence": None}
    (tmp_path / "job.json").write_text(json.dumps(job))
    program = str(remote_program("hosts", "supervise.py"))
    subprocess.run([sys.executable, "-c", _SUPERVISOR, program, str(tmp_path)], check=True, capture_output=True)
    until((tmp_path / "status.json").exists, "the job has ended")
    told = json.loads((tmp_path / "status.json").read_text())
    assert (told["reason"], told["exit"]) == ("exited", 0)
    assert told["started"] < told["ended"] < time.time() - 30, "by the clock as it is now"
