"""How many cores the hosts of an inventory have, asked before a plan is made."""

from __future__ import annotations

import os

from benchbook.hosts.host_facts import gather
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.remote_host import RemoteHost

LOAD = "client"


def server_cores(inventory: Inventory) -> int:
    """Cores of the machines that carry anything but the load alone; hosts that share a machine count once.

    Raises HostUnusable where a host cannot be reached. A lab's hosts are this machine: nothing is asked.
    """
    if inventory.lab:
        return len(os.sched_getaffinity(0))
    machines: dict[str, int] = {}
    for name, host in inventory.hosts.items():
        if set(host.roles) != {LOAD}:
            remote = RemoteHost(inventory, name)
            try:
                facts = gather(remote)
            finally:
                remote.close()
            machines[facts.boot_id or name] = facts.cores
    return sum(machines.values())
