"""Systems under test: one module each, all answering the verbs of `base.System`, found by the names of entry points.

A system's versions are data: `tidb:7.1` is the system `tidb`, made of what env/systems/tidb/versions.yaml says.

    "6.5": tidb          # version: the folder of env/systems that it is built from, or fetched by
    "7.1": tidb_7_1

A new version is a folder of pins and a line. Each has data folders of its own, and the ports, the role and, unless the
inventory says otherwise, the settings of the system. A system of several parts has the versions that every part has
which has any: `tidb_cluster:7.1` is TiDB and the store, each of its own 7.1, and the one placement driver.

`mariadb:pool` is a variant: the system `mariadb` with the settings of the inventory's section `systems.mariadb:pool`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, cast

from pydantic import ConfigDict, Field, RootModel

from benchbook import paths, plugins
from benchbook.build import artefacts
from benchbook.errors import BadInput
from benchbook.hosts.endpoint import at
from benchbook.hosts.inventory import Inventory, role_of
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.base import DIALECTS, System
from benchbook.systems.existing_server import EndpointSystem
from benchbook.systems.server import Service
from benchbook.user_input import user_file
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import load_model

GROUP = "systems"
VERSIONS_FILE = "versions.yaml"
S = TypeVar("S", bound=Service)


class Versions(RootModel[dict[str, str]]):
    """versions.yaml: version -> folder of env/systems."""

    model_config = ConfigDict(frozen=True)
    root: dict[str, str] = Field(min_length=1)


def find(name: str, inventory: Inventory, protocols: Sequence[str] = ()) -> type[System]:
    """Return the class of the system that a notebook's parameter `systems` names.

    Raise BadInput for an unknown one, with a list of those that speak one of `protocols`, where any is named.
    """
    kind, _, which = name.partition(":")
    if kind == EndpointSystem.name:
        EndpointSystem.choose(inventory, which)
        return EndpointSystem
    found = _under_test(kind)
    if found is None:
        systems = {each: _under_test(each) for each in plugins.names(GROUP)}
        known = [each for each, its in systems.items() if its and (not protocols or its.protocol in protocols)]
        known += [f"{EndpointSystem.name}:{end}" for end in inventory.endpoints]
        raise BadInput("unknown system", key="systems", value=name, fix=f"use one of {', '.join(known)}")
    chosen = at_version(found, which, inventory) if which else found
    chosen.check_settings(inventory)
    for server in (name, *chosen.roles()):
        inventory.check_sshd_apart(server)
    return chosen


def _under_test(name: str) -> type[System] | None:
    """Beside the systems under test, the group holds servers that an inventory may set and that reports use."""
    found = plugins.find(GROUP, name, key="systems")
    return found if isinstance(found, type) and issubclass(found, System) else None


def check_names(names: Sequence[str], inventory: Inventory) -> list[str]:
    """Return the hosts that these systems need. Raise BadInput for an unknown system or a role that nobody has."""
    systems = [find(name, inventory) for name in names]
    return [
        host for system in systems if system.run_by_kit for role in system.roles() for host in inventory.require(role)
    ]


def check_protocols(names: Sequence[str], inventory: Inventory, load: str, protocols: Sequence[str]) -> None:
    """Raise BadInput for a system that the load generator named `load` cannot drive."""
    for name in names:
        system = find(name, inventory, protocols)
        if system.protocol not in protocols:
            said = f"{load} cannot drive this system, which speaks {system.protocol}"
            fix = f"name systems that speak {' or '.join(protocols)}, or another load generator"
            raise BadInput(said, key="systems", value=name, fix=fix)


def builds(names: Sequence[str], inventory: Inventory) -> list[str]:
    """Return the folders of env/systems/ from which these systems are built for this inventory, each once."""
    servers = [_service(name, inventory) for name in names]
    return list(dict.fromkeys(f for server in servers if server is not None for f in server.builds_for(inventory)))


def _service(name: str, inventory: Inventory) -> type[Service] | None:
    """Return what the group holds under this name, in the version that it carries; None for what is nobody's here."""
    kind, _, version = name.partition(":")
    found: type[Service] | None = plugins.find(GROUP, kind, key="systems")
    return at_version(found, version, inventory) if found is not None and version else found


# Values of settings that MySQL's, PostgreSQL's and TiDB's readers take for the same.
_SWITCHES = {**dict.fromkeys(("on", "true", "yes"), "1"), **dict.fromkeys(("off", "false", "no"), "0")}
_SIZE = re.compile(r"([0-9]{1,12})\s*([kmgt])(?:i?b)?", re.IGNORECASE)


def run_alike(names: Sequence[str], inventory: Inventory) -> dict[str, str]:
    """Return which of these systems would run as another one does, by the first one's name.

    They are one existing server under two names, or one program with the same settings.
    """
    first: dict[object, str] = {}
    found = {name: first.setdefault(_what_runs(name, inventory), name) for name in dict.fromkeys(names)}
    return {name: other for name, other in found.items() if name != other}


def _what_runs(name: str, inventory: Inventory) -> object:
    """Return what is equal for two systems that run alike: where an endpoint is, else the build and its settings."""
    kind, _, which = name.partition(":")
    if kind == EndpointSystem.name:
        _, existing = EndpointSystem.choose(inventory, which)
        if existing.tls:
            # One gateway of a managed service may lead to many clusters, by the name it is called by or the account.
            return at(existing.host, existing.port), existing.user
        with suppress(OSError, UnicodeError):
            found = socket.getaddrinfo(existing.host, existing.port, type=socket.SOCK_STREAM)
            # Names come with their addresses in any order.
            return min((each[4] for each in found), key=str)
        return at(existing.host, existing.port)
    settings, server = inventory.settings(name), _service(name, inventory)
    built = () if settings.binary or server is None else server.builds_for(inventory)
    # Others read them otherwise: to Redis, 1k is 1,000 and 1kb is 1,024.
    of_sql = getattr(server, "protocol", "") in DIALECTS

    def meant(given: Mapping[str, object]) -> dict[str, str]:
        if not of_sql:
            return {key: str(value) for key, value in given.items()}
        return {key.lower().replace("-", "_"): _meaning(value) for key, value in given.items()}

    everywhere, by_host = meant(settings.settings), settings.host_settings
    hosts = inventory.with_role(role_of(name)) or [""]
    on_hosts = [sorted({**everywhere, **meant(by_host.get(host, {}))}.items()) for host in hosts]
    return kind, built, settings.binary, str(on_hosts)


def _meaning(value: object) -> str:
    """Return a setting's value as servers take it: 1G is 1024M, and on is true."""
    text = str(value).strip()
    if text.lower() in _SWITCHES:
        return _SWITCHES[text.lower()]
    size = _SIZE.fullmatch(text)
    return str(int(size[1]) << 10 * (1 + "kmgt".index(size[2].lower()))) if size else text


def make(name: str, session: Session, profile: Profile) -> System:
    """Return the system of this name on the hosts of the session."""
    kind, _, which = name.partition(":")
    if kind == EndpointSystem.name:
        return EndpointSystem(session, profile, which)
    return find(name, session.inventory)(session, profile)


# -- versions -------------------------------------------------------------------------------------------------------


def versions(server: type[Service]) -> dict[str, tuple[str, ...]]:
    """Return version -> `builds` of every version that it has beside the one of its bare name; {} of most.

    Raise BadInput for a folder that nothing is built from.
    """
    if not server.versioned:
        return {}
    parts = {build: _versions_of_part(build) for build in server.builds}
    shared = [version for version in parts[server.versioned] if all(version in p for p in parts.values() if p)]
    return {version: tuple(p[version] if p else build for build, p in parts.items()) for version in shared}


def _versions_of_part(build: str) -> dict[str, str]:
    file = paths.find("env", "systems") / build / VERSIONS_FILE
    if not user_file.is_there(file):
        return {}
    found = load_model(Versions, file).root
    for version, folder in found.items():
        one_of(folder, artefacts.names(), "folder of env/systems", file=file, key=version)
    return found


def at_version(server: type[S], version: str, inventory: Inventory | None = None) -> type[S]:
    """Return the class of this version of a system, or of its variant that the inventory has a section for.

    Raise BadInput for an unknown one.
    """
    known = versions(server)
    variant = f"{server.name}:{version}"
    if version not in known and (inventory is None or variant not in inventory.systems):
        names = ", ".join(f"{server.name}:{each}" for each in known)
        others = f", or one of {names}" if names else ""
        raise BadInput(
            "unknown version of a system" if known else "this system has one version here, the one of its bare name",
            key="systems",
            value=variant,
            fix=f"use {server.name}{others}; or add a section `{variant}` to `systems` of the inventory, with settings "
            "of its own; or name a server of yours, endpoint:NAME",
        )
    declared: dict[str, object] = {
        "__doc__": server.__doc__,
        "__module__": server.__module__,
        "name": variant,
        "role": server.role_name(),
        **({"named_version": version, "builds": known[version]} if version in known else {}),
    }
    # A class, for a system is asked for what its class says before any host is known.
    return cast("type[S]", type(f"{server.__name__}At{version}", (server,), declared))
