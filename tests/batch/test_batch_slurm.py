"""Workers as jobs of Slurm: what Slurm refuses is said at once. (A real Slurm: docs/batches.md, by hand.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchbook.batch import cluster
from benchbook.errors import BadInput


def test_what_slurm_refuses_is_said_and_nothing_is_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sbatch = tmp_path / "sbatch"
    said = "echo 'sbatch: error: invalid partition specified: all' >&2"
    sbatch.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/script\necho $1 > {tmp_path}/words\n{said}\nexit 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="sbatch: error: invalid partition specified: all") as refused:
        cluster._check_job("#!/bin/sh\ntrue\n", "all")
    assert (refused.value.key, refused.value.value) == ("--scheduler", "slurm://all")
    assert (tmp_path / "script").read_text() == "#!/bin/sh\ntrue\n"
    assert (tmp_path / "words").read_text() == "--test-only\n"


def test_a_machine_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"no workers by Slurm: .*sbatch.*docs/batches\.md"):
        cluster._check_job("", "")


def test_ctrl_c_stays_what_it_was(tmp_path: Path) -> None:
    """In a process of its own: a library is imported once."""
    program = (
        "import signal\n"
        "from benchbook.batch import cluster\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout == "True\n"


def test_a_site_that_needs_no_file_of_dask_s(tmp_path: Path) -> None:
    """In a process of its own, where nothing has read a configuration: it was a KeyError."""
    program = (
        "from benchbook.batch.cluster import opened\n"
        "from benchbook.errors import BadInput\n"
        "try:\n"
        "    with opened('slurm://all', 1):\n"
        "        pass\n"
        "except BadInput as problem:\n"
        "    print(problem)\n"
    )
    here = {**os.environ, "PATH": str(tmp_path), "DASK_CONFIG": str(tmp_path), "BENCHBOOK_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=here, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
    )
    assert "no workers by Slurm: " in done.stdout
    assert "sbatch" in done.stdout
