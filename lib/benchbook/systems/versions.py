"""A system's versions are data: `tidb:7.1` is the system `tidb`, made of what env/systems/tidb/versions.yaml says.

    "6.5": tidb          # version: the folder of env/systems that it is built from, or fetched by
    "7.1": tidb_7_1

A new version is a folder of pins and a line. Each has data folders of its own, and the ports, the role and, unless the
inventory says otherwise, the settings of the system. A system of several parts has the versions that every part has
which has any: `tidb_cluster:7.1` is TiDB and the store, each of its own 7.1, and the one placement driver.
"""

from __future__ import annotations

from typing import TypeVar, cast

from pydantic import ConfigDict, Field, RootModel

from benchbook import paths
from benchbook.build import artefacts
from benchbook.errors import BadInput
from benchbook.given import user_file
from benchbook.given.named import one_of
from benchbook.systems.named_server import NamedServer
from benchbook.yamlfile import load_model

FILE = "versions.yaml"
Server = TypeVar("Server", bound=NamedServer)


class Versions(RootModel[dict[str, str]]):
    """versions.yaml: version -> folder of env/systems."""

    model_config = ConfigDict(frozen=True)
    root: dict[str, str] = Field(min_length=1)


def known(server: type[NamedServer]) -> dict[str, tuple[str, ...]]:
    """Version -> its `builds`, of every version that this system has beside the one of its bare name; {} of most.

    Raises BadInput for a folder that nothing is built from.
    """
    if not server.versioned:
        return {}
    parts = {build: _of_part(build) for build in server.builds}
    shared = [version for version in parts[server.versioned] if all(version in p for p in parts.values() if p)]
    return {version: tuple(p[version] if p else build for build, p in parts.items()) for version in shared}


def _of_part(build: str) -> dict[str, str]:
    """Version -> folder, of one of the folders that a system is built from; {} where it has no versions."""
    file = paths.env_dir() / "systems" / build / FILE
    if not user_file.is_there(file):
        return {}
    found = load_model(Versions, file).root
    for version, folder in found.items():
        one_of(folder, artefacts.names(), "folder of env/systems", file=file, key=version)
    return found


def of(server: type[Server], version: str) -> type[Server]:
    """The class of this version of a system. Raises BadInput for an unknown one, and where a system has none."""
    found = known(server)
    if version not in found:
        names = ", ".join(f"{server.name}:{each}" for each in found)
        others = f", or one of {names}" if names else ""
        raise BadInput(
            "unknown version of a system" if found else "this system has one version here, the one of its bare name",
            key="systems",
            value=f"{server.name}:{version}",
            fix=f"use {server.name}{others}; or name a server of yours, endpoint:NAME",
        )
    return _made(server, version, found[version])


def _made(server: type[Server], version: str, builds: tuple[str, ...]) -> type[Server]:
    """A class, for a system is asked for what its class says before any host is known."""
    said: dict[str, object] = {
        "__doc__": server.__doc__,
        "__module__": server.__module__,
        "name": f"{server.name}:{version}",
        "role": server.role_name(),
        "named_version": version,
        "builds": builds,
    }
    return cast("type[Server]", type(f"{server.__name__}At{version}", (server,), said))
