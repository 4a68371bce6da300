"""Ports at which a run's servers ask nobody for a login: named before it and on its page, with a rule that closes them.

In a lab they are behind its own network, or loopback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchbook import plugins
from benchbook.hosts.about import HostFinding
from benchbook.hosts.inventory import Inventory, declared, role_of

# Servers that no class declares, by their role; and the sides of a transfer.
_OTHERS = {"dm-master": 8261, "dm-worker": 8262, "business": 8083}
_SIDES = ("source", "target")
_WITH_ACCOUNTS = ("mysql", "pgsql")


def findings(inventory: Inventory, names: Iterable[str]) -> list[HostFinding]:
    """Return, for each of these hosts that is no lab's, the ports of its servers that ask nobody, and what to do."""
    found = []
    for name in names if not inventory.lab else []:
        servers = {
            role: sorted(ports) for role in inventory.hosts[name].roles if (ports := set(_open(inventory, role)))
        }
        if servers:
            said = "; ".join(f"{role} {', '.join(map(str, ports))}" for role, ports in servers.items())
            rule = _rule(inventory, {port for ports in servers.values() for port in ports})
            wanted = f"for the hosts of the inventory alone, by a firewall on it: {rule}"
            found.append(HostFinding(host=name, what="ports that ask nobody for a login", found=said, wanted=wanted))
    return found


def _open(inventory: Inventory, role: str) -> Iterator[int]:
    """Return those of the servers that the hosts of a role may carry."""
    if role in _OTHERS:
        yield inventory.port(role) or _OTHERS[role]
    for system in ["mongo"] if role in _SIDES else {*plugins.names("systems"), *inventory.systems}:
        known = declared(system)
        if known is None or (role_of(system) != role and role not in _SIDES):
            continue
        login = inventory.settings(system)
        blank = not (login.password_env or login.password_file) and getattr(known, "protocol", "") in _WITH_ACCOUNTS
        ports = {
            "port": inventory.port(system),
            "status_port": inventory.status_port(system),
            "peer_port": inventory.peer_port(system),
        }
        for kind, port in ports.items():
            # A class of somebody else's may declare less.
            if port and (kind in getattr(known, "asks_nobody", ()) or (blank and kind == "port")):
                yield port


def _rule(inventory: Inventory, ports: Iterable[int]) -> str:
    addresses = sorted({host.address for host in inventory.hosts.values()})
    let_in = [
        f"{family} saddr {{ {', '.join(some)} }} accept;"
        for family, some in (
            ("ip", [each for each in addresses if ":" not in each]),
            ("ip6", [each for each in addresses if ":" in each]),
        )
        if some
    ]
    dropped = f"tcp dport {{ {', '.join(map(str, sorted(ports)))} }} drop;"
    chain = " ".join(["type filter hook input priority 0;", "iif lo accept;", *let_in, dropped])
    return f"sudo nft 'table inet benchbook {{ chain input {{ {chain} }}; }}'"
