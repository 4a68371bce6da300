"""How many cores the hosts of an inventory have, asked before a plan is made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from benchbook.hosts.about import HostFacts
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host_facts import gather
from benchbook.hosts.host_of import host_of
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.patience import patiently

LOAD = "client"


@dataclass(frozen=True)
class Capacity:
    """Cores of the machines that carry servers; `shared` says that a load generator runs on one of them."""

    cores: int
    shared: bool


def of_servers(inventory: Inventory) -> Capacity:
    """What carries anything but the load alone; hosts that share a machine count once.

    Raises HostUnusable where a host cannot be reached. A lab's hosts are this machine: nothing is asked.
    """
    if inventory.lab:
        return Capacity(len(os.sched_getaffinity(0)), shared=True)
    found = {name: (facts.boot_id or name, facts.cores) for name, facts in _facts(inventory).items()}
    serving = [name for name, host in inventory.hosts.items() if set(host.roles) != {LOAD}]
    loading = {found[name][0] for name, host in inventory.hosts.items() if LOAD in host.roles}
    machines = dict(found[name] for name in serving)
    return Capacity(sum(machines.values()), shared=bool(loading & machines.keys()))


def _facts(inventory: Inventory) -> dict[str, HostFacts]:
    hosts = [host_of(inventory, name) for name in inventory.hosts]
    try:
        return on_each("reading host facts", hosts, patiently(gather))
    finally:
        try_on_each(hosts, lambda host: host.close())
