"""How many cores the hosts of an inventory have, asked before a plan is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchbook.grouping import grouped
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.host_facts import gather
from benchbook.hosts.host_models import HostFacts
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.remote.machine import page_reporting

LOAD = "client"
# The processors that a host's programs are bound to; none: all.
Cpus = tuple[int, ...]


@dataclass(frozen=True)
class Capacity:
    """Cores that servers may run on; `shared` says that a load generator may run on some of them."""

    cores: int
    shared: bool


@dataclass(frozen=True)
class MachineCores:
    """How many cores of a machine (by its boot id) so many hosts may use, and what runs on these."""

    boot: str
    cores: int
    client: bool
    server: bool
    hosts: int


def machines(inventory: Inventory, names: Sequence[str]) -> list[MachineCores]:
    """Return the machines that these hosts are on. Hosts of one machine that are bound to other cores count apart.

    Raise HostUnusable where a host does not answer at once.
    """
    hosts, found, serving = inventory.hosts, _located(inventory, gather), _serving(inventory)
    return [
        MachineCores(
            boot,
            len(cpus) or min(found[name][1] for name in mine),
            any(LOAD in hosts[name].roles for name in mine),
            not serving.isdisjoint(mine),
            len(mine),
        )
        for (boot, cpus), mine in grouped(names, lambda name: (found[name][0], frozenset(hosts[name].cpus))).items()
    ]


def of_servers(inventory: Inventory) -> Capacity:
    """What carries anything but the load alone; hosts that share a machine count once, with what they are bound to.

    Raise HostUnusable where a host cannot be reached. A lab's hosts are this machine: nothing is asked.
    """
    hosts, found = inventory.hosts, _located(inventory, with_retry(gather))
    machines = grouped(sorted(_serving(inventory)), lambda name: found[name][0])
    loading = [name for name, host in hosts.items() if LOAD in host.roles]
    shared = any(
        _meet(hosts[load].cpus, hosts[server].cpus) for load in loading for server in machines.get(found[load][0], [])
    )
    cores = [_cores([hosts[name].cpus for name in names], found[names[0]][1]) for names in machines.values()]
    return Capacity(sum(cores), shared=shared)


def reports_free_pages(inventory: Inventory, names: Sequence[str]) -> bool:
    """Return whether a host reports free pages to its hypervisor during a run. In a lab, only root can switch that off.

    Raise HostUnusable where a host does not answer at once.
    """
    keeping = {name for name in names if "memory" in inventory.hosts[name].tune}
    if inventory.lab:
        return page_reporting() == "on" and not (keeping and os.geteuid() == 0)
    facts = _facts(inventory, gather)
    return any(facts[name].page_reporting == "on" for name in {*names} - keeping)


def _serving(inventory: Inventory) -> set[str]:
    """The hosts of anything but the load alone; all, where there are no others: then the load opens the engine itself.

    Servers that exist outside of these hosts are not seen.
    """
    others = {name for name, host in inventory.hosts.items() if set(host.roles) != {LOAD}}
    return others if others or inventory.endpoints else {*inventory.hosts}


def _cores(bound: Sequence[Cpus], allowed: int) -> int:
    """Of one machine, those that its servers may run on; one that is bound to none may run on all."""
    return len({cpu for each in bound for cpu in each}) if all(bound) else allowed


def _meet(one: Cpus, other: Cpus) -> bool:
    return not (one and other) or not set(one).isdisjoint(other)


def _located(inventory: Inventory, step: Callable[[Host], HostFacts]) -> dict[str, tuple[str, int]]:
    """Return the boot id of each host's machine, and the cores that a process may use there."""
    if inventory.lab:
        return dict.fromkeys(inventory.hosts, ("", len(os.sched_getaffinity(0))))
    return {name: (about.boot_id or name, about.cores_allowed) for name, about in _facts(inventory, step).items()}


def _facts(inventory: Inventory, step: Callable[[Host], HostFacts]) -> dict[str, HostFacts]:
    hosts = [Host(inventory, name) for name in inventory.hosts]
    try:
        return on_each("reading host facts", hosts, step)
    finally:
        try_on_each(hosts, lambda host: host.close())
