"""What pages cost that are made from records: part of `make bench`."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbook.bench.made_up_campaign import own_environment, own_home
from benchbook.bench.spent import CHILDREN, cpu_s
from benchbook.campaign import store
from benchbook.errors import BadInput

RUNS = 5


def site(console: Console) -> dict[str, Any]:
    """seconds and CPU seconds of `benchbook site` over every report's latest campaign"""
    latest = {folder.parent.name: folder for folder in store.recorded()}
    if not latest:
        raise BadInput("nothing has been recorded yet", file="data/runs", fix="run `make report` first")
    took, cpu = [], []
    with tempfile.TemporaryDirectory(prefix="benchbook-site-") as folder:
        home = own_home(Path(folder))
        for report, campaign in latest.items():
            shutil.copytree(campaign, home / "data" / "runs" / report / campaign.name)
        for _ in range(RUNS):
            seconds, used = _made(home)
            console.print(f"  {seconds:.1f} s, {used:.1f} s of CPU", markup=False)
            took.append(seconds)
            cpu.append(used)
    found = {"seconds": statistics.median(took), "cpu_s": statistics.median(cpu), "runs": RUNS}
    return {"pages": len(latest), **found}


def _made(home: Path) -> tuple[float, float]:
    began, used = time.perf_counter(), cpu_s(CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "benchbook", "site"],
        check=True,
        capture_output=True,
        env=own_environment(home),
    )
    return time.perf_counter() - began, cpu_s(CHILDREN) - used
