"""The stores of a TiDB cluster: a tikv-server on each host of role `tikv`, or in the lab one unistore node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import at
from benchbook.hosts.http import UNANSWERED, Door
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.systems.kept_servers import KeptServers
from benchbook.systems.placement_driver import PlacementDriver
from benchbook.systems.server_program import ServerProgram
from benchbook.systems.tidb_server import STEADY
from benchbook.systems.toml_text import toml

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class Stores(KeptServers):
    """Both programs take the same options, so that they are started and waited for alike."""

    name = "tikv"
    default_port = 20160
    default_status_port = 20180
    builds = ("unistore",)

    def __init__(self, session: Session, driver: PlacementDriver, build: str) -> None:
        super().__init__(session)
        self.driver = driver
        self.program = ServerProgram("systems.tikv.binary", build, "unistore-server", self.settings.binary)

    def command(self, host: RemoteHost) -> Command:
        argv = [
            self.program.on(host),
            f"--pd={self.driver.addresses}",
            f"--addr={self._address(host)}",
            f"--status-addr={at(host.address, self.status_port)}",
            f"--data-dir={self.data(host)}",
            "--log-level=warn",
            *(["--config={job}/tikv.toml"] if self.settings.config else []),
        ]
        secrets = {"tikv.toml": toml(self.settings.config)} if self.settings.config else {}
        return Command(argv, timeout_s=LONGEST_S, grace_s=30, env=STEADY, secrets=secrets)

    def _address(self, host: RemoteHost) -> str:
        return at(host.address, self.port)

    def knock(self, host: RemoteHost) -> str | None:
        """It serves once it says so itself, and PD counts on it."""
        try:
            answer = Door(host, host.address, self.status_port).ask("/status", timeout=5)
        except UNANSWERED as problem:
            return f"no answer at its status port: {problem!r}"
        if answer.status != 200:
            return f"its status port answers {answer.status}"
        return self.driver.store_missing(self._address(host))


def check_one_unistore(inventory: Inventory) -> None:
    """Raises BadInput for several stores of the lab's kind: each would begin a cluster of its own."""
    names = inventory.require(Stores.name)
    if len(names) > 1 and not inventory.settings(Stores.name).binary:
        raise BadInput(
            "the store that is built here (unistore) is one node, without Raft",
            file=inventory.file,
            key=f"role {Stores.name}",
            value=names,
            fix="give the role to one host, or name a real tikv-server of the hosts in systems.tikv.binary",
        )
    config = inventory.settings(Stores.name).config
    if config and not inventory.settings(Stores.name).binary:
        raise BadInput(
            "the store that is built here (unistore) has none of TiKV's settings",
            file=inventory.file,
            key="systems.tikv.config",
            value=sorted(config),
            fix="remove them, or name a real tikv-server of the hosts in systems.tikv.binary",
        )
