"""Dask's SSHCluster on the hosts of an inventory: a worker on each, and the scheduler on the first.

The kit connects first, so that what is wrong with a host is said as always. Dask then connects by asyncssh, to the
same doors with the same key, and only to hosts that the inventory's known_hosts knows. Scheduler and workers talk under
a key of their own, made for this batch: it lies in the kit's folder of each host, for its login alone, until the batch
ends.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from distributed import Client, Security, SpecCluster, SSHCluster

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.hosts import lab
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.paths import resolve

# The Python of a host that has this kit, under `programs` of the inventory; in a lab it is the driver's own.
PYTHON = "benchbook-python"
_FOLDER, _CERT, _KEY = "dask", "cert.pem", "key.pem"
# A scheduler without anything to do ends after so many seconds, and so do its workers.
_ALONE_S = 60
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"


@contextmanager
def opened_over_ssh(name: str) -> Iterator[Client]:
    """A client of a cluster on the hosts of the inventory `name`, ended with the block.

    Raises BadInput, HostUnusable (FanOutFailed for several hosts) for hosts that Dask cannot be started on.
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
            [_door(host)[0] for host in places],
            connect_options=[_login(host) for host in places],
            remote_python=[_python(host) for host in places],
            scheduler_options={
                "host": hosts[0].address,
                "port": 0,
                "dashboard": False,
                "dashboard_address": "127.0.0.1:0",
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


def _door(host: Host) -> tuple[str, int]:
    described, ssh = host.host, host.inventory.ssh
    return described.ssh_address or described.address, described.ssh_port or ssh.port


def _login(host: Host) -> dict[str, Any]:
    """What asyncssh is to do: only this key where one is named, and only hosts that are known."""
    ssh = host.inventory.ssh
    options: dict[str, Any] = {
        "port": _door(host)[1],
        "known_hosts": str(resolve(ssh.known_hosts)),
        # Without a name it would read the user's own, which the kit does not.
        "config": str(resolve(ssh.config)) if ssh.config else None,
        "connect_timeout": ssh.connect_timeout_s,
    }
    if user := host.host.user or ssh.user:
        options["username"] = user
    if ssh.key:
        options |= {"client_keys": [str(resolve(ssh.key))], "passphrase": os.environ.get(ssh.passphrase_env or "")}
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
