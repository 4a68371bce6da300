"""What a campaign of 10,000 trials costs to open, plan, resume, judge and publish: part of `make bench`.

Its records are made up, in the real format and of about the real size. Each step runs in a process of its own; seconds
are those of the step, without the import of its libraries; MB are the most that the process held.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook import paths, pipeline
from benchbook.bench.made_up_campaign import REPORT, child, environment, made_up, own_home
from benchbook.bench.spent import CHILDREN, SELF, cpu_s, peak_mb
from benchbook.campaign import record, store
from benchbook.campaign.design import Trial
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign

MODULE = "benchbook.bench.big_campaign_bench"
# 5 workloads x 100 numbers of threads x 2 systems = 1,000 cells, each 10 times: 10,000 trials.
THREADS, REPETITIONS, SYSTEMS = list(range(2, 202, 2)), 10, ["tidb", "mariadb"]
# Smaller, for a try: how many numbers of threads there are.
LEVELS = int(os.environ.get("BENCHBOOK_BIG_LEVELS", len(THREADS)))
_PROOF = {
    "stopping": {
        "target": 0.02,
        "least_s": 150.0,
        "period_s": 30.0,
        "seen_s": 0.0,
        "stalls_seen": 0,
        "maximum_s": 45.0,
        "precise": False,
        "reason": "maximum reached; the load is shorter than five periods",
        "judged_s": 45.0,
        "steady": "flat",
        "steady_from_s": 0.0,
        "tps": 1000.0,
        "half_width": 0.031,
    },
    "probe_cores": {"executor: host": 0.004, "tidb1: host": 0.004, "tidb2: host": 0.004, "tidb1: mysql": 0.006},
    "failed_probes": {},
    "stolen": 0.0,
    "tries": [0.0],
}


def big_campaign(console: Console) -> dict[str, Any]:
    """seconds and peak MB to open, plan, resume, judge and publish a campaign of 10,000 trials, a process each"""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="benchbook-big-") as folder:
        home = own_home(Path(folder))
        console.print(f"  made {child(home, MODULE, 'make').strip()} records", markup=False)
        for step in ("open", "open", "plan", "resume", "claims", "site", "site"):
            took = json.loads(child(home, MODULE, step).splitlines()[-1])
            name = f"{step} again" if step in found else step
            found[name] = took
            console.print(f"  {name}: {took}", markup=False)
    return found


# -- the campaign -------------------------------------------------------------------------------------------------


def _book(**more: object) -> Any:
    """What a notebook's first cell makes; found as a notebook finds it, so that nothing is built on top of it."""
    asked: dict[str, object] = {
        "profile": "lab",
        "inventory": "lab_tidb",
        "system": "tidb",
        "systems": SYSTEMS,
        "workloads": [],
    }
    asked |= {"threads": THREADS[:LEVELS], "levels": "", "repetitions": REPETITIONS, "time_s": 0, "rate": 0, "seed": 1}
    return import_module("benchbook.book").open_report(REPORT, {**asked, "campaign": "", "replay": False, **more})


def _make() -> int:
    """All but one of its trials are recorded, so that it can be resumed."""
    made = _book().campaign
    made.note(environment())
    dice = np.random.default_rng(1)
    for trial in made.trials[1:]:
        _keep(made, trial, dice)
    return len(made.trials) - 1


def _keep(made: Campaign, trial: Trial, dice: np.random.Generator) -> None:
    done, series = _real_sized(*made_up(made, trial, dice), dice)
    record.save(made.folder / "trials", done, series, "made up\n" * 200, lasting=False)


def _real_sized(done: Record, series: pd.DataFrame, dice: np.random.Generator) -> tuple[Record, pd.DataFrame]:
    """With a proof as loads have one, and no two values of a series alike."""
    noise = 1 + 0.02 * dice.standard_normal(len(series))
    named = done.model_copy(update={"proof": _PROOF, "command": "sysbench --threads=8 oltp_read_write run " * 12})
    return named, series.assign(value=series.value * noise)


# -- its steps ----------------------------------------------------------------------------------------------------


def _open() -> object:
    """As a replay's first cells do: the latest campaign, its records, those that are missing."""
    made = store.latest(REPORT)
    return len(made.records()), len(made.missing())


def _planned() -> object:
    """As a run's first cells do: the design, the unfinished campaign that asked for the same, what is left of it."""
    _book().plan()
    return None


def _resume() -> object:
    """The seconds between two blocks, when one more trial is done."""
    made = _book().campaign
    before = len(made.missing())
    _keep(made, made.trials[0], np.random.default_rng(2))
    began = time.perf_counter()
    left, failed = len(made.missing()), len(made.failures())
    return {"left": [before, left, failed], "between_blocks_s": round(time.perf_counter() - began, 3)}


def _claims() -> object:
    return pipeline.judge_claims(REPORT, "", Console(file=io.StringIO()))


def _site() -> object:
    pipeline.replay(REPORT, "", Console(file=io.StringIO()))
    page = paths.site_dir() / f"{REPORT}.html"
    return {"page_mb": round(page.stat().st_size / 1e6, 2) if page.exists() else None}


_STEPS: dict[str, Callable[[], object]] = {
    "make": _make,
    "open": _open,
    "plan": _planned,
    "resume": _resume,
    "claims": _claims,
    "site": _site,
}


# A notebook's kernel is a child.
_WHO = (SELF, CHILDREN)


def _measured(step: str) -> dict[str, Any]:
    began, used = time.perf_counter(), cpu_s(*_WHO)
    said = _STEPS[step]()
    seconds, cpu = time.perf_counter() - began, cpu_s(*_WHO) - used
    return {"seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "peak_mb": peak_mb(*_WHO), "said": said}


if __name__ == "__main__":
    print(_make() if sys.argv[1] == "make" else json.dumps(_measured(sys.argv[1])))
