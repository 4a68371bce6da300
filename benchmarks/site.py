"""What pages cost that are made from records."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbook import paths
from benchbook.campaign import store
from benchbook.errors import BadInput

RUNS = 5


def measure(console: Console) -> dict[str, Any]:
    """seconds and CPU seconds of `benchbook site` over every report's latest campaign"""
    latest = {folder.parent.name: folder for folder in store.recorded()}
    if not latest:
        raise BadInput("nothing has been recorded yet", file="data/runs", fix="run `make report` first")
    took, cpu = [], []
    with tempfile.TemporaryDirectory(prefix="benchbook-site-") as folder:
        home = Path(folder)
        (home / "data").mkdir()
        for name in ("data/published", "notebooks", "env"):
            (home / name).symlink_to(paths.home() / name)
        for report, campaign in latest.items():
            shutil.copytree(campaign, home / "data" / "runs" / report / campaign.name)
        for _ in range(RUNS):
            began, used = time.perf_counter(), _children_cpu_s()
            subprocess.run(
                [sys.executable, "-m", "benchbook", "site"],
                check=True,
                capture_output=True,
                env={**os.environ, "BENCHBOOK_HOME": str(home)},
            )
            took.append(time.perf_counter() - began)
            cpu.append(_children_cpu_s() - used)
            console.print(f"  {took[-1]:.1f} s, {cpu[-1]:.1f} s of CPU", markup=False)
    return {"pages": len(latest), "seconds": statistics.median(took), "cpu_s": statistics.median(cpu), "runs": RUNS}


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
