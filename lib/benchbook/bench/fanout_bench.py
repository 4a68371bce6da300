"""What a command on many hosts costs: part of `make bench`, on a lab of its own with an sshd per host."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh
import yaml
from rich.console import Console

from benchbook import paths
from benchbook.analysis.measured import paired_ratio
from benchbook.bench.spent import seconds
from benchbook.hosts import lab, login_shell
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host_of import connect, host_of
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.remote_host import RemoteHost
from benchbook.paths import resolve

HOSTS, ROUNDS = 64, 30
NAME = "lab_fanout_bench"
COMMAND = "true"


def fanout(console: Console) -> dict[str, Any]:
    """ms until a command has ended on all of 64 hosts that are connected: by the kit and by asyncssh, in turns

    asyncssh sends the bare command, and once more the kit's own words, which have the host empty the environment.
    """
    with _hosts() as (inventory, hosts), asyncio.Runner() as loop:
        connected_s = seconds(lambda: on_each("connecting", hosts, connect))
        doors = loop.run(_opened(inventory, hosts))
        ways: dict[str, Callable[[], object]] = {
            "kit": lambda: on_each(COMMAND, hosts, lambda host: host.run([COMMAND])),
            "asyncssh": lambda: loop.run(_run_on(doors, COMMAND)),
            "asyncssh_same_words": lambda: loop.run(_run_on(doors, login_shell.words(COMMAND, clears=True))),
        }
        rounds = [_round(ways, first=number) for number in range(ROUNDS + 1)]
        loop.run(_closed(doors))
    # The first round opens what later ones have.
    return {"hosts": HOSTS, **compared(rounds[1:]), "rounds": ROUNDS, "connecting_s": round(connected_s, 1)}


def compared(rounds: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Medians (ms) of each way, and the kit's time over that of the others, with 95% intervals over the rounds."""
    medians = {f"{way}_ms": round(1000 * statistics.median(each[way] for each in rounds)) for way in rounds[0]}
    ratios = {way: paired_ratio([(each["kit"], each[way]) for each in rounds]) for way in rounds[0] if way != "kit"}
    said = {f"kit_over_{way}": {"ratio": r.value, "low": r.low, "high": r.high} for way, r in ratios.items()}
    return {**medians, **said}


def _round(ways: Mapping[str, Callable[[], object]], *, first: int) -> dict[str, float]:
    """Seconds of each way, one after the other, each of them first in its turn."""
    names = list(ways)
    turn = first % len(names)
    return {name: seconds(ways[name]) for name in (*names[turn:], *names[:turn])}


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


async def _run_on(doors: Sequence[asyncssh.SSHClientConnection], command: str) -> None:
    await asyncio.gather(*(door.run(command, check=True) for door in doors))


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
