"""Workers as jobs of Slurm, by dask-jobqueue; the scheduler runs here, and this checkout is on a folder that all share.

What a site needs (partition, account, walltime, network interface) stands in Dask's own ~/.config/dask/jobqueue.yaml,
under `jobqueue: slurm:`. Scheduler and workers talk under a key of their own, made for this batch: it lies beside the
batches, for its owner alone, until the batch ends.
"""

from __future__ import annotations

import logging
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Security

from benchbook.batch.cell import batches_dir
from benchbook.errors import BadInput, one_line, writing

# dask-jobqueue ends the whole program at Ctrl-C once it is imported: here Ctrl-C stays what it was.
_sigint = signal.getsignal(signal.SIGINT)
from dask_jobqueue.slurm import SLURMCluster  # noqa: E402

signal.signal(signal.SIGINT, _sigint)

SLURM = "slurm://"
_ANSWER_S = 60
# A worker drives one report: its command, a notebook's kernel, and what makes a page.
_DEFAULTS = {"cores": 1, "processes": 1, "memory": "4GB"}
# Dask opens this port in any case: a free one, and nothing is served on it.
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
_FIX = "docs/batches.md has a configuration that works: ~/.config/dask/jobqueue.yaml"


@contextmanager
def opened_on_slurm(partition: str, workers: int) -> Iterator[Client]:
    """A client of a cluster of `workers` jobs, ended with the block; `partition` empty: as Dask's file or Slurm says.

    A job that ends before the batch does is submitted again. Raises BadInput where Slurm takes no job.
    """
    folder = batches_dir()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        cluster = SLURMCluster(**_settings(partition, str(folder)))
    except (OSError, RuntimeError, TypeError, ValueError) as problem:
        raise _refused(partition, f"{type(problem).__name__}: {problem}") from problem
    with cluster, Client(cluster) as client:
        _check(cluster.job_script(), partition)
        cluster.adapt(minimum_jobs=workers, maximum_jobs=workers)
        yield client


def _check(script: str, partition: str) -> None:
    """What Slurm says of the job that a worker is, without running it: Dask would only log a refusal, and wait."""
    try:
        done = subprocess.run(
            ["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _refused(partition, str(problem)) from problem
    if done.returncode != 0:
        raise _refused(partition, done.stderr)


def _settings(partition: str, folder: str) -> dict[str, Any]:
    """What the kit says to Dask; all else stands in Dask's own file, which goes before `_DEFAULTS`."""
    # Where there is no such file, dask-jobqueue, which has defaults of its own, is not imported yet.
    stands = dask.config.get("jobqueue.slurm", default=None) or {}
    told = {name.replace("-", "_"): value for name, value in stands.items()}
    return {
        **{name: value for name, value in _DEFAULTS.items() if told.get(name) is None},
        **({"queue": partition} if partition else {}),
        "security": Security.temporary(),
        "shared_temp_directory": told.get("shared_temp_directory") or folder,
        "log_directory": told.get("log_directory") or folder,
        "scheduler_options": {**_NO_PAGE, **(told.get("scheduler_options") or {})},
        # A cell is another process: a worker's own memory says nothing of it.
        "worker_extra_args": [*(told.get("worker_extra_args") or []), "--memory-limit", "0", "--no-dashboard"],
        "silence_logs": logging.CRITICAL,
    }


def _refused(partition: str, why: str) -> BadInput:
    said = f"no workers by Slurm: {one_line(why.strip())}"
    return BadInput(said, key="--scheduler", value=f"{SLURM}{partition}", fix=_FIX)
