"""Systems under test: one file each, all answering the verbs of `base.System`, found by the names of entry points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook import plugins
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import Profile
from benchbook.systems import versions
from benchbook.systems.base import System
from benchbook.systems.existing_server import EndpointSystem
from benchbook.systems.named_server import NamedServer

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.session import Session

GROUP = "systems"


def find(name: str, inventory: Inventory) -> type[System]:
    """The class of the system that a notebook's parameter `systems` names; `tidb:7.1` is a version of `tidb`.

    Raises BadInput for an unknown one.
    """
    kind, _, which = name.partition(":")
    if kind == EndpointSystem.name:
        EndpointSystem.choose(inventory, which)
        return EndpointSystem
    found = _under_test(kind)
    if found is None:
        known = [known for known in plugins.names(GROUP) if _under_test(known)]
        known += [f"{EndpointSystem.name}:{end}" for end in inventory.endpoints]
        raise BadInput("unknown system", key="systems", value=name, fix=f"use one of {', '.join(known)}")
    return versions.of(found, which) if which else found


def _under_test(name: str) -> type[System] | None:
    """Beside the systems under test, the group holds servers that an inventory may set and that reports use."""
    found = plugins.find(GROUP, name, key="systems")
    return found if isinstance(found, type) and issubclass(found, System) else None


def check_names(names: Sequence[str], inventory: Inventory) -> list[str]:
    """The hosts that these systems need, by name. Raises BadInput for an unknown system or a role nobody has."""
    systems = [find(name, inventory) for name in names]
    return [
        host for system in systems if system.run_by_kit for role in system.roles() for host in inventory.require(role)
    ]


def check_protocols(names: Sequence[str], inventory: Inventory, load: str, protocols: Sequence[str]) -> None:
    """Raises BadInput for a system that the load generator named `load` cannot drive."""
    for name in names:
        system = find(name, inventory)
        if system.protocol not in protocols:
            raise BadInput(
                f"{load} cannot drive this system, which speaks {system.protocol}",
                key="systems",
                value=name,
                fix=f"name systems that speak {' or '.join(protocols)}, or another load generator",
            )


def builds(names: Sequence[str], inventory: Inventory) -> list[str]:
    """The folders of env/systems/ from which these systems are built for this inventory, each once."""
    servers = [_named(name) for name in names]
    return list(dict.fromkeys(f for server in servers if server is not None for f in server.builds_for(inventory)))


def _named(name: str) -> type[NamedServer] | None:
    """Whatever the group holds under this name, in the version that it carries; None for what is nobody's here."""
    kind, _, version = name.partition(":")
    found: type[NamedServer] | None = plugins.find(GROUP, kind, key="systems")
    return versions.of(found, version) if found is not None and version else found


def make(name: str, session: Session, profile: Profile) -> System:
    """The system of this name on the hosts of the session."""
    kind, _, which = name.partition(":")
    if kind == EndpointSystem.name:
        return EndpointSystem(session, profile, which)
    return find(name, session.inventory)(session, profile)
