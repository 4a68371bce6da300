"""The Dask cluster that runs cells: processes here, hosts of an inventory by SSH, jobs of Slurm, or one that is there.

Over SSH the kit connects first, so that what is wrong with a host is said as always. Dask then connects by asyncssh, to
the same addresses with the same key, and only to hosts that the inventory's known_hosts knows.

On Slurm the scheduler runs here, and this checkout is on a folder that all share. What a site needs (partition,
account, walltime, network interface) stands in Dask's own ~/.config/dask/jobqueue.yaml, under `jobqueue: slurm:`.

Scheduler and workers talk under a key of their own, made for this batch, and readable by its owner alone.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Security, SpecCluster, SSHCluster, Worker, get_worker

from benchbook import paths
from benchbook.batch.cell import CellOrder, CellRan, batches_dir, run_cell
from benchbook.errors import BadInput, one_line, writing
from benchbook.hosts import lab
from benchbook.hosts.connection import find_route
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, is_public_key, load_inventory
from benchbook.hosts.openssh import ssh_settings
from benchbook.paths import resolve

# dask-jobqueue ends the whole program at Ctrl-C once it is imported: here Ctrl-C stays what it was.
_sigint = signal.getsignal(signal.SIGINT)
from dask_jobqueue.slurm import SLURMCluster  # noqa: E402

signal.signal(signal.SIGINT, _sigint)

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
# Dask opens this port in any case: a free one, and nothing is served on it.
_NO_PAGE: dict[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


def dask_setup(worker: Worker) -> None:
    """Run by each worker of this machine as it starts: Ctrl-C in the terminal, or its end, is for who drives the batch.

    Dask replaces a worker that has died, and the new one would begin its cell anew.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def run_on_worker(order: CellOrder) -> CellRan:
    """Run a cell; what it says last goes to the batch as an event of Dask's."""
    worker = get_worker()
    return run_cell(order, lambda line: worker.log_event(topic(order.batch), {"cell": order.number, "line": line}))


def topic(batch: str) -> str:
    return f"benchbook-{batch}"


@contextmanager
def opened(scheduler: str, workers: int) -> Iterator[Client]:
    """A client of the cluster at `scheduler` (tcp://..., tls://...), or of one that is made for this.

    ssh://INVENTORY makes one on the hosts of that inventory, slurm://PARTITION one of `workers` jobs, "" one of
    `workers` processes. Their connections are encrypted under a key of their own: who can speak to a scheduler can run
    anything. Raise BadInput for a scheduler that does not answer, HostUnusable for such hosts.
    """
    settings = {**_QUIET, "distributed.scheduler.allowed-failures": _DEATHS, "distributed.scheduler.http.routes": []}
    kind, _, where = scheduler.partition("://")
    with dask.config.set(settings):
        if kind == "ssh":
            made: AbstractContextManager[Client] = opened_over_ssh(where)
        elif kind == "slurm":
            made = opened_on_slurm(where, workers)
        else:
            made = _running_already(scheduler) if scheduler else _processes(workers)
        with made as client:
            yield client


@contextmanager
def _processes(workers: int) -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        security=Security.temporary(),
        dashboard_address=_NO_PAGE["dashboard_address"],
        # A cell is another process: a worker's own memory says nothing of it.
        memory_limit=0,
        silence_logs=logging.CRITICAL,
        preload=[__name__],
    )
    with cluster, Client(cluster) as client:
        yield client


def _running_already(scheduler: str) -> Client:
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


# -- jobs of Slurm -----------------------------------------------------------------------------------------------------

SLURM = "slurm://"
_SBATCH_S = 60
# A worker drives one report: its command, a notebook's kernel, and what makes a page.
_JOB = {"cores": 1, "processes": 1, "memory": "4GB"}
_SLURM_FIX = "docs/batches.md has a configuration that works: ~/.config/dask/jobqueue.yaml"


@contextmanager
def opened_on_slurm(partition: str, workers: int) -> Iterator[Client]:
    """A client of a cluster of `workers` jobs, ended with the block; `partition` empty: as Dask's file or Slurm says.

    A job that ends before the batch does is submitted again. Raise BadInput where Slurm takes no job.
    """
    folder = batches_dir()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        cluster = SLURMCluster(**_slurm_settings(partition, str(folder)))
    except (OSError, RuntimeError, TypeError, ValueError) as problem:
        raise _slurm_refused(partition, f"{type(problem).__name__}: {problem}") from problem
    with cluster, Client(cluster) as client:
        _check_job(cluster.job_script(), partition)
        cluster.adapt(minimum_jobs=workers, maximum_jobs=workers)
        yield client


def _check_job(script: str, partition: str) -> None:
    """What Slurm says of the job that a worker is, without running it: Dask would only log a refusal, and wait."""
    try:
        done = subprocess.run(
            ["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False, timeout=_SBATCH_S
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _slurm_refused(partition, str(problem)) from problem
    if done.returncode != 0:
        raise _slurm_refused(partition, done.stderr)


def _slurm_settings(partition: str, folder: str) -> dict[str, Any]:
    """Return what the kit says to Dask; all else stands in Dask's own file, which goes before `_JOB`."""
    # Where there is no such file, dask-jobqueue, which has defaults of its own, is not imported yet.
    stands = dask.config.get("jobqueue.slurm", default=None) or {}
    told = {name.replace("-", "_"): value for name, value in stands.items()}
    return {
        **{name: value for name, value in _JOB.items() if told.get(name) is None},
        **({"queue": partition} if partition else {}),
        "security": Security.temporary(),
        "shared_temp_directory": told.get("shared_temp_directory") or folder,
        "log_directory": told.get("log_directory") or folder,
        "scheduler_options": {**_NO_PAGE, **(told.get("scheduler_options") or {})},
        # A cell is another process: a worker's own memory says nothing of it.
        "worker_extra_args": [*(told.get("worker_extra_args") or []), "--memory-limit", "0", "--no-dashboard"],
        "silence_logs": logging.CRITICAL,
    }


def _slurm_refused(partition: str, why: str) -> BadInput:
    said = f"no workers by Slurm: {one_line(why.strip())}"
    return BadInput(said, key="--scheduler", value=f"{SLURM}{partition}", fix=_SLURM_FIX)


# -- hosts over SSH ----------------------------------------------------------------------------------------------------

# The Python of a host that has this kit, under `programs` of the inventory; in a lab it is the driver's own.
PYTHON = "benchbook-python"
_FOLDER, _CERT, _KEY = "dask", "cert.pem", "key.pem"
# A scheduler without anything to do ends after so many seconds, and so do its workers.
_ALONE_S = 60
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"


@contextmanager
def opened_over_ssh(name: str) -> Iterator[Client]:
    """A client of a cluster on the hosts of the inventory `name`, ended with the block.

    Raise BadInput, HostUnusable (FanOutFailed for several hosts) for hosts that Dask cannot be started on.
    """
    inventory = load_inventory(name)
    with ExitStack() as stack:
        if inventory.lab:
            # Dask connects to its hosts itself.
            stack.enter_context(lab.up_while_used(inventory, lambda said: None, own_network=False))
        security = Security.temporary()
        hosts = stack.enter_context(_given_keys(inventory, security))
        cluster = stack.enter_context(_cluster(inventory, hosts, security))
        yield stack.enter_context(Client(cluster))


@contextmanager
def _given_keys(inventory: Inventory, security: Security) -> Iterator[list[Host]]:
    """The hosts, each with the key of this cluster in its folder, as long as the block runs."""
    hosts = [Host(inventory, name) for name in inventory.hosts]
    pair = security.get_tls_config_for_role("worker")

    def give(host: Host) -> None:
        host.mkdir(host.path(_FOLDER))
        # One pair for every role; the certificate is its own authority.
        host.write(host.path(_FOLDER, _CERT), pair["cert"])
        host.write(host.path(_FOLDER, _KEY), pair["key"])

    try:
        on_each("preparing Dask", hosts, give)
        yield hosts
    finally:
        try_on_each(hosts, _take_away)


def _take_away(host: Host) -> None:
    try:
        host.run(["rm", "-rf", "--", host.path(_FOLDER)])
    finally:
        host.close()


@contextmanager
def _cluster(inventory: Inventory, hosts: Sequence[Host], security: Security) -> Iterator[SpecCluster]:
    # The first one stands for the scheduler, too.
    places = [hosts[0], *hosts]
    try:
        cluster = SSHCluster(
            [_address(host) for host in places],
            connect_options=[_login(host) for host in places],
            remote_python=[_python(host) for host in places],
            scheduler_options={
                "host": hosts[0].address,
                "port": 0,
                **_NO_PAGE,
                # When this process is gone: cells end, and then scheduler and workers.
                "idle_timeout": _ALONE_S,
            },
            worker_options={"nthreads": 1, "memory_limit": 0},
            security=security,
            silence_logs=logging.CRITICAL,
        )
    except Exception as problem:  # Dask raises what asyncssh does, or Exception itself
        fix = (
            f"each host needs a checkout with its .venv: name its python under `programs: {{{PYTHON}: ...}}`; Dask's "
            "asyncssh knows no ProxyJump of ssh.config"
        )
        key, said = "--scheduler", f"Dask cannot be started on these hosts ({type(problem).__name__}: {problem})"
        raise BadInput(said, file=inventory.file, key=key, value=inventory.name, fix=fix) from problem
    with cluster:
        yield cluster


def _address(host: Host) -> str:
    return host.host.ssh_address or host.address


def _login(host: Host) -> dict[str, Any]:
    """Return what asyncssh is to do: only this key where one is named, and only hosts that are known."""
    ssh = host.inventory.ssh
    options: dict[str, Any] = {
        "port": find_route(host.inventory, host.name).port,
        "known_hosts": str(resolve(ssh.known_hosts)),
        # Without a name it would read the user's own, which the kit does not.
        "config": str(resolve(ssh.config)) if ssh.config else None,
        "connect_timeout": ssh.connect_timeout_s,
    }
    if ssh.config and "known_hosts" not in ssh.model_fields_set:
        # Named: where an ssh_config names none, asyncssh would trust any host.
        known = ssh_settings(("-F", options["config"]), _address(host), host.inventory.file, ssh.config)
        files = f"{known['userknownhostsfile'][0]} {known['globalknownhostsfile'][0]}".split()
        options["known_hosts"] = [file for file in map(os.path.expanduser, files) if Path(file).is_file()]
    if user := host.host.user or ssh.user:
        options["username"] = user
    if ssh.key:
        key, public = str(resolve(ssh.key)), f"{resolve(ssh.key)}.pub"
        # One that has a passphrase is left to the agent, of which no other key is tried. A locked one in PEM does not
        # show its public half, which then lies beside it.
        held = public if Path(public).is_file() else key
        private = [] if is_public_key(resolve(ssh.key)) else [key]
        options |= {"client_keys": private, "agent_identities": [held], "ignore_encrypted": True}
    return options


def _python(host: Host) -> str:
    """The command of a host's Python, with what it must know: the key of the cluster, and in a lab this checkout."""
    inventory = host.inventory
    here = {"BENCHBOOK_HOME": str(paths.home())} if inventory.lab else {}
    program = inventory.programs.get(PYTHON, sys.executable if inventory.lab else "python3")
    pairs = [f"{name}={value}" for name, value in {**here, **_encrypted(host)}.items()]
    return shlex.join(["env", *pairs, program])


def _encrypted(host: Host) -> dict[str, str]:
    """Dask's settings, by which it speaks to nobody without the key."""
    cert, key = host.path(_FOLDER, _CERT), host.path(_FOLDER, _KEY)
    both = {"CERT": cert, "KEY": key}
    roles = {f"{_TLS}{role}__{what}": both[what] for role in ("SCHEDULER", "WORKER", "CLIENT") for what in both}
    comm = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True", "DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME": "tls"}
    return {f"{_TLS}CA_FILE": cert, **roles, **comm}
