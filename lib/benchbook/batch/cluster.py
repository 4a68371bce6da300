"""The Dask cluster that runs cells: one made for a batch, or one that is there."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import dask
from distributed import Client, LocalCluster, Security, Worker, get_worker

from benchbook.batch.cell import CellOrder, CellRan, run_cell
from benchbook.batch.slurm_workers import opened_on_slurm
from benchbook.batch.ssh_workers import opened_over_ssh
from benchbook.errors import BadInput, one_line

_CONNECT_S = 15
# A worker that dies so often while it runs a cell is taken to die of the cell.
_DEATHS = 3
# What Dask watches of itself, a hundred times a second and more, nobody looks at. A batch and two workers that wait for
# their cells take 8% of a core with it, beside the loads that are measured, and 2% with these. Workers get the same.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


def dask_setup(worker: Worker) -> None:
    """Run by each worker of this machine as it starts: Ctrl-C in the terminal is for who drives the batch."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_on_worker(order: CellOrder) -> CellRan:
    """The task of a cell; what it says last goes to the batch as an event of Dask's."""
    worker = get_worker()
    return run_cell(order, lambda line: worker.log_event(topic(order.batch), {"cell": order.number, "line": line}))


def topic(batch: str) -> str:
    return f"benchbook-{batch}"


@contextmanager
def opened(scheduler: str, workers: int) -> Iterator[Client]:
    """A client of the cluster at `scheduler` (tcp://..., tls://...), or of one that is made for this.

    ssh://INVENTORY makes one on the hosts of that inventory, slurm://PARTITION one of `workers` jobs, "" one of
    `workers` processes. Their connections are encrypted under a key of their own: who can speak to a scheduler can run
    anything. Raises BadInput for a scheduler that does not answer, HostUnusable for such hosts.
    """
    mine = {"distributed.scheduler.allowed-failures": _DEATHS, "distributed.scheduler.http.routes": []}
    settings = {**_QUIET, **mine}
    with dask.config.set(settings), _chosen(scheduler, workers) as client:
        yield client


def _chosen(scheduler: str, workers: int) -> AbstractContextManager[Client]:
    kind, _, where = scheduler.partition("://")
    if kind == "ssh":
        return opened_over_ssh(where)
    if kind == "slurm":
        return opened_on_slurm(where, workers)
    return _there(scheduler) if scheduler else _processes(workers)


@contextmanager
def _processes(workers: int) -> Iterator[Client]:
    with _here(workers) as cluster, Client(cluster) as client:
        yield client


def _here(workers: int) -> LocalCluster:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        security=Security.temporary(),
        # Dask opens this port in any case: a free one, and nothing is served on it.
        dashboard_address="127.0.0.1:0",
        # A cell is another process: a worker's own memory says nothing of it.
        memory_limit=0,
        silence_logs=logging.CRITICAL,
        preload=[__name__],
    )


def _there(scheduler: str) -> Client:
    try:
        return Client(scheduler, timeout=_CONNECT_S)
    except (OSError, ValueError) as problem:
        fix = "start it (`dask scheduler`, then `dask worker` in each checkout), or leave --scheduler out"
        raise BadInput("no Dask scheduler answers", key="--scheduler", value=scheduler, fix=fix) from problem
    except (TypeError, RuntimeError, ImportError) as problem:
        # Dask's way to say that a protocol lacks something: tls:// its certificates, ucx:// a package.
        said = f"Dask cannot speak to this scheduler: {one_line(str(problem))}"
        fix = "for tls://, name its certificates in Dask's own configuration (distributed: comm: tls); else use tcp://"
        raise BadInput(said, key="--scheduler", value=scheduler, fix=fix) from problem
