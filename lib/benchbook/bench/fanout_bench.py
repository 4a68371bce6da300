"""What a command on many hosts costs: part of `make bench`, on a lab of its own with an sshd per host."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh
import yaml
from rich.console import Console

from benchbook import paths
from benchbook.analysis.measured import paired_ratio
from benchbook.hosts import lab
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host_of import connect, host_of
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.remote_host import RemoteHost
from benchbook.paths import resolve

HOSTS, ROUNDS = 64, 30
NAME = "lab_fanout_bench"
COMMAND = "true"


def fanout(console: Console) -> dict[str, Any]:
    """ms until a command has ended on all of 64 hosts that are connected: by the kit, and by asyncssh, in pairs"""
    with _hosts() as (inventory, hosts), asyncio.Runner() as loop:
        began = time.perf_counter()
        on_each("connecting", hosts, connect)
        connected_s = time.perf_counter() - began
        doors = loop.run(_opened(inventory, hosts))
        pairs = [_pair(loop, hosts, doors, kit_first=number % 2 == 0) for number in range(ROUNDS + 1)]
        loop.run(_closed(doors))
    # The first round opens what later ones have.
    ours, theirs = zip(*pairs[1:], strict=True)
    ratio = paired_ratio(pairs[1:])
    return {
        "hosts": HOSTS,
        "kit_ms": round(1000 * statistics.median(ours)),
        "asyncssh_ms": round(1000 * statistics.median(theirs)),
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "rounds": ROUNDS,
        "connecting_s": round(connected_s, 1),
    }


def _pair(
    loop: asyncio.Runner,
    hosts: Sequence[RemoteHost],
    doors: Sequence[asyncssh.SSHClientConnection],
    *,
    kit_first: bool,
) -> tuple[float, float]:
    """Seconds of one round by the kit, and of one by asyncssh."""

    def by_kit() -> float:
        return _seconds(lambda: on_each(COMMAND, hosts, lambda host: host.run([COMMAND])))

    def by_asyncssh() -> float:
        return _seconds(lambda: loop.run(_run_on(doors)))

    if kit_first:
        ours = by_kit()
        return ours, by_asyncssh()
    theirs = by_asyncssh()
    return by_kit(), theirs


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


# -- asyncssh -------------------------------------------------------------------------------------------------------


async def _opened(inventory: Inventory, hosts: Sequence[RemoteHost]) -> list[asyncssh.SSHClientConnection]:
    ssh = inventory.ssh
    return list(
        await asyncio.gather(
            *(
                asyncssh.connect(
                    host.address,
                    port=ssh.port,
                    known_hosts=str(resolve(ssh.known_hosts)),
                    client_keys=[str(resolve(ssh.key))] if ssh.key else (),
                    config=None,
                )
                for host in hosts
            )
        )
    )


async def _run_on(doors: Sequence[asyncssh.SSHClientConnection]) -> None:
    await asyncio.gather(*(door.run(COMMAND, check=True) for door in doors))


async def _closed(doors: Sequence[asyncssh.SSHClientConnection]) -> None:
    for door in doors:
        door.close()
    await asyncio.gather(*(door.wait_closed() for door in doors))


# -- the lab --------------------------------------------------------------------------------------------------------


@contextmanager
def _hosts() -> Iterator[tuple[Inventory, list[RemoteHost]]]:
    """64 hosts on loopback, each with an sshd; nothing of them stays."""
    with tempfile.TemporaryDirectory(prefix="benchbook-fanout-") as folder:
        inventory = load_inventory(str(_written(Path(folder))))
        hosts = [host_of(inventory, name) for name in inventory.hosts]
        try:
            with lab.up_while_used(inventory, lambda said: None):
                try:
                    yield inventory, hosts
                finally:
                    try_on_each(hosts, lambda host: host.close())
        finally:
            shutil.rmtree(paths.lab_dir() / NAME, ignore_errors=True)


def _written(folder: Path) -> Path:
    path = folder / f"{NAME}.yaml"
    doors = {f"h{i:02}": {"address": f"127.0.120.{i}", "roles": ["client"]} for i in range(1, HOSTS + 1)}
    ssh = {"port": 2222, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts"}
    path.write_text(yaml.safe_dump({"lab": True, "ssh": ssh, "hosts": doors}))
    return path
