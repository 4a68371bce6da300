"""Where a server's program comes from: its path on the hosts, as the inventory gives it, or built here and pushed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook.build import programs
from benchbook.errors import HostUnusable
from benchbook.hosts.file_hashes import file_hash

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchbook.hosts.remote_host import RemoteHost


@dataclass(frozen=True)
class ServerProgram:
    """`build`/`file` is what env/systems/ makes; `binary` the path on every host that is taken instead, if given.

    `key` is where the inventory says so, for messages.
    """

    key: str
    build: str
    file: str
    binary: str | None = None
    _found: dict[str, str] = field(default_factory=dict)
    _hashes: dict[str, str] = field(default_factory=dict)

    @property
    def built(self) -> bool:
        """Whether it is ours to build."""
        return self.binary is None

    def install(self, host: RemoteHost) -> None:
        """Raises NotBuilt, or HostUnusable where the host has no such program."""
        self._found[host.name] = self._taken(host) if self.binary else self._pushed(host)

    def on(self, host: RemoteHost) -> str:
        """Its absolute path on a host that it was installed on."""
        return self._found[host.name]

    def identity(self) -> str:
        """What tells one version of it from another: a hash of the programs of all hosts."""
        return hashlib.sha256(" ".join(sorted(set(self._hashes.values()))).encode()).hexdigest()[:12]

    def _pushed(self, host: RemoteHost) -> str:
        made: Path = programs.artefact(self.build) / self.file
        self._hashes[host.name] = file_hash(made)
        return host.push(made, executable=True)

    def _taken(self, host: RemoteHost) -> str:
        # A path without a slash in front begins at the login's home, as TiUP's do; jobs run elsewhere.
        asked = host.run(["readlink", "-e", "--", self.binary], check=False).stdout.strip()
        if not asked or host.run(["test", "-f", asked, "-a", "-x", asked], check=False).status != 0:
            raise HostUnusable(
                f"there is no such program on host {host.name}",
                file=host.inventory.file,
                key=self.key,
                value=self.binary,
                fix="give the path of the program on its hosts, as in /home/tidb/deploy/tikv-20160/bin/tikv-server",
            )
        self._hashes[host.name] = host.run(["sha256sum", asked], timeout=300).stdout.split()[0]
        return asked


def install_on(program: ServerProgram, hosts: Iterable[RemoteHost]) -> None:
    """One host after the other: what several share is pushed once."""
    for host in hosts:
        program.install(host)
