"""Ports of a run's servers that need no login: named before the run and on its page, with the rule that closes them.

Nobody reaches those of a lab with a network of its own. Where it has none, every user of this machine does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchbook import plugins
from benchbook.hosts.host_models import HostFinding
from benchbook.hosts.inventory import PORT_KINDS, UNDECLARED_PORTS, Inventory, declared, role_of
from benchbook.hosts.lab_host import has_own_network

# The sides of a transfer.
_SIDES = ("source", "target")
# Listen on all addresses: they cannot be bound to one.
EVERYWHERE = ("dtm",)
_WITH_ACCOUNTS = ("mysql", "pgsql")


def findings(inventory: Inventory, names: Iterable[str]) -> list[HostFinding]:
    """Return a finding for each host whose servers have ports without a login that others reach."""
    found = []
    for name in () if inventory.lab and has_own_network(inventory) else names:
        servers = {
            role: sorted(ports) for role in inventory.hosts[name].roles if (ports := set(_open(inventory, role)))
        }
        if servers:
            said = "; ".join(f"{role} {', '.join(map(str, ports))}" for role, ports in servers.items())
            ports = {port for some in servers.values() for port in some}
            wanted = f"only the inventory's hosts reach them; as root on {name}: {_rule(inventory, ports)}"
            if inventory.lab:
                wanted = "other users of this machine do not reach them (docs/shared-machines.md)"
            found.append(HostFinding(host=name, what="ports without a login", found=said, wanted=wanted))
    return found


def _open(inventory: Inventory, role: str) -> Iterator[int]:
    """Yield the ports without a login of the servers that run on the hosts of a role."""
    if role in UNDECLARED_PORTS and (port := inventory.port(role)):
        yield port
    for system in ["mongo"] if role in _SIDES else {*plugins.names("systems"), *inventory.systems}:
        known = declared(system)
        if known is None or (role_of(system) != role and role not in _SIDES):
            continue
        login = inventory.settings(system)
        blank = not (login.password_env or login.password_file) and getattr(known, "protocol", "") in _WITH_ACCOUNTS
        for kind in PORT_KINDS:
            port = inventory.port(system, kind)
            # A plugin's class may lack these attributes.
            if port and (kind in getattr(known, "ports_without_login", ()) or (blank and kind == "port")):
                yield from range(port, port + 1 + (getattr(known, "ports_above", 0) if kind == "port" else 0))


def _rule(inventory: Inventory, ports: Iterable[int]) -> str:
    addresses = sorted({host.address for host in inventory.hosts.values()})
    families = {
        "ip": [each for each in addresses if ":" not in each],
        "ip6": [each for each in addresses if ":" in each],
    }
    let_in = [f"{family} saddr {{ {', '.join(some)} }} accept;" for family, some in families.items() if some]
    drop = f"tcp dport {{ {', '.join(map(str, sorted(ports)))} }} drop;"
    rules = " ".join(["iif lo accept;", *let_in, drop])
    return f"sudo nft 'table inet benchbook {{ chain input {{ type filter hook input priority 0; {rules} }}; }}'"
