"""Ports of a run's servers that need no login: named before the run and on its page, with the rule that closes them.

Nobody reaches those of a lab with a network of its own. Where it has none, every user of this machine does.
"""

from __future__ import annotations

import getpass
from collections.abc import Collection, Iterable, Iterator, Mapping

from benchbook import plugins
from benchbook.hosts.host_models import HostFinding
from benchbook.hosts.inventory import UNDECLARED_PORTS, Inventory, declared, role_of
from benchbook.hosts.lab_host import ACCOUNT, has_account, has_own_network

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
            if inventory.lab:
                everywhere = {port for role in EVERYWHERE for port in servers.get(role, ())}
                wanted = f"other users of this machine do not reach them; as root: {_lab_rule(inventory, everywhere)}"
            else:
                wanted = f"only the inventory's hosts reach them; as root on {name}: {_rule(inventory, ports)}"
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
    let_in = _of_hosts(inventory, "saddr", "accept")
    return _nft({"input": ["iif lo accept;", *let_in, f"tcp dport {_set(ports)} drop;"]})


def _lab_rule(inventory: Inventory, everywhere: Collection[int]) -> str:
    """Return what lets only root and the labs' account to its addresses, and to ports on all addresses."""
    account = ACCOUNT if has_account() else getpass.getuser()
    let_out = f"meta skuid {{ {', '.join(sorted({'root', account}))} }} accept;"
    chains = {"output": [let_out, *_of_hosts(inventory, "daddr", "drop")]}
    if everywhere:
        chains["output"].append(f"oif lo tcp dport {_set(everywhere)} drop;")
        chains["input"] = [f"iif != lo tcp dport {_set(everywhere)} drop;"]
    return _nft(chains)


def _of_hosts(inventory: Inventory, side: str, verdict: str) -> Iterator[str]:
    addresses = sorted({host.address for host in inventory.hosts.values()})
    for family, some in (
        ("ip", [each for each in addresses if ":" not in each]),
        ("ip6", [each for each in addresses if ":" in each]),
    ):
        if some:
            yield f"{family} {side} {{ {', '.join(some)} }} {verdict};"


def _set(ports: Iterable[int]) -> str:
    return f"{{ {', '.join(map(str, sorted(ports)))} }}"


def _nft(chains: Mapping[str, Iterable[str]]) -> str:
    said = (
        f"chain {hook} {{ type filter hook {hook} priority 0; {' '.join(rules)} }};" for hook, rules in chains.items()
    )
    return f"sudo nft 'table inet benchbook {{ {' '.join(said)} }}'"
