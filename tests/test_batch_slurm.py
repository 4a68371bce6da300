"""Workers as jobs of Slurm: what Slurm refuses is said at once. (A real Slurm: docs/batches.md, by hand.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbook.batch import slurm_workers
from benchbook.errors import BadInput


def test_what_slurm_refuses_is_said_and_nothing_is_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sbatch = tmp_path / "sbatch"
    said = "echo 'sbatch: no such partition' >&2"
    sbatch.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/script\necho $1 > {tmp_path}/words\n{said}\nexit 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="sbatch: no such partition") as refused:
        slurm_workers._check("#!/bin/sh\ntrue\n", "fast")
    assert (refused.value.key, refused.value.value) == ("--scheduler", "slurm://fast")
    assert (tmp_path / "script").read_text() == "#!/bin/sh\ntrue\n"
    assert (tmp_path / "words").read_text() == "--test-only\n"


def test_a_machine_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"no workers by Slurm: .*sbatch.*docs/batches\.md"):
        slurm_workers._check("", "")
