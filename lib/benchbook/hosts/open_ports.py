"""Ports of a run's servers that need no login: named before the run and on its page, with the rule that closes them.

A lab's ports are in its own network, or on loopback addresses.
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
    """Return a finding for each real host whose servers have ports without a login. A lab has none."""
    found = []
    for name in names if not inventory.lab else []:
        servers = {
            role: sorted(ports) for role in inventory.hosts[name].roles if (ports := set(_open(inventory, role)))
        }
        if servers:
            said = "; ".join(f"{role} {', '.join(map(str, ports))}" for role, ports in servers.items())
            rule = _rule(inventory, {port for ports in servers.values() for port in ports})
            wanted = f"only the inventory's hosts reach them; as root on {name}: {rule}"
            found.append(HostFinding(host=name, what="ports without a login", found=said, wanted=wanted))
    return found


def _open(inventory: Inventory, role: str) -> Iterator[int]:
    """Yield the ports without a login of the servers that run on the hosts of a role."""
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
            # A plugin's class may lack these attributes.
            if port and (kind in getattr(known, "ports_without_login", ()) or (blank and kind == "port")):
                yield from range(port, port + 1 + (getattr(known, "ports_above", 0) if kind == "port" else 0))


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
