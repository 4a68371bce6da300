"""What the reports that were made on MySQL 5.7 run on here: MySQL itself or MariaDB, several side by side."""

from __future__ import annotations

from collections.abc import Sequence

from benchbook import plugins, systems
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.parameters import OnSystems, Words
from benchbook.profiles import Profile
from benchbook.systems.mysql import MysqlServer, Purpose


class OnMysql(OnSystems):
    """For such a report; MySQL 5.7 is what they were made on."""

    system: Words = "mysql57"


def find(name: str, inventory: Inventory) -> type[MysqlServer]:
    """The class of this server. Raises BadInput for a system that is not of this family."""
    known = plugins.find(systems.GROUP, name.partition(":")[0], key="system")
    found = systems.find(name, inventory) if known else None
    if isinstance(found, type) and issubclass(found, MysqlServer):
        return found
    loaded = {known: plugins.find(systems.GROUP, known, key="system") for known in plugins.names(systems.GROUP)}
    family = [known for known, each in loaded.items() if isinstance(each, type) and issubclass(each, MysqlServer)]
    fix = f"use one of {', '.join(family)}"
    raise BadInput("this report runs on MySQL or MariaDB", key="system", value=name, fix=fix)


def check(names: Sequence[str], inventory: Inventory) -> list[type[MysqlServer]]:
    """The classes of these servers. Raises BadInput for another system, and where not one host is to carry them."""
    found = [find(name, inventory) for name in names]
    for server in found:
        inventory.require_one(server.role_name())
    return found


def make(names: Sequence[str], session: Session, profile: Profile, purpose: Purpose) -> dict[str, MysqlServer]:
    """These servers on the hosts of the session, by name."""
    return {name: find(name, session.inventory)(session, profile, purpose) for name in names}
