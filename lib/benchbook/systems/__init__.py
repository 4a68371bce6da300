"""Systems under test: one file each, all answering the verbs of `base.System`."""

from __future__ import annotations

from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory, role_of
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.base import System
from benchbook.systems.existing_server import EndpointSystem
from benchbook.systems.mariadb import MariaDB
from benchbook.systems.tidb import TiDB

# By the name that a notebook's parameter `systems` uses.
SQL_SYSTEMS: dict[str, type[System]] = {"tidb": TiDB, "mariadb": MariaDB}


def check_names(names: list[str], inventory: Inventory) -> list[str]:
    """The hosts that these systems need, by name. Raises BadInput for an unknown system or a role nobody has."""
    hosts: list[str] = []
    for name in names:
        kind, _, which = name.partition(":")
        if kind == "endpoint":
            EndpointSystem.choose(inventory, which)
        elif kind in SQL_SYSTEMS and not which:
            hosts += inventory.require(role_of(name))
        else:
            known = [*SQL_SYSTEMS, *(f"endpoint:{e}" for e in inventory.endpoints)]
            raise BadInput("unknown system", key="systems", value=name, fix=f"use one of {', '.join(known)}")
    return hosts


def make(name: str, session: Session, profile: Profile) -> System:
    """The system of this name on the hosts of the session."""
    kind, _, which = name.partition(":")
    if kind == "endpoint":
        return EndpointSystem(session, profile, which)
    return SQL_SYSTEMS[kind](session, profile)
