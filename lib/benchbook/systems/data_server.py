"""What the systems that the kit starts have in common, whatever they speak: their login, and what they say they are."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from benchbook.hosts.endpoint import Endpoint
from benchbook.profiles import Profile
from benchbook.systems.base import About, System
from benchbook.systems.kept_servers import KeptServers
from benchbook.systems.wrong_login import wrong_password

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class DataServer(KeptServers, System):
    """A system of such servers. Subclasses give its command line and say when it serves."""

    title: str
    stand_in_for: str | None = None
    fewer: str = ""

    def __init__(self, session: Session, profile: Profile) -> None:
        KeptServers.__init__(self, session)
        System.__init__(self, session, profile)
        self.password = self.settings.password(f"systems.{self.name}")

    @property
    def hosts(self) -> list[RemoteHost]:
        return self.carriers

    def endpoint(self, host: RemoteHost) -> Endpoint:
        """Where its server on this host listens."""
        return Endpoint(host.address, self.port, self.settings.user, self.password, protocol=self.protocol)

    def endpoints(self) -> list[Endpoint]:
        return [self.endpoint(host) for host in self.carriers]

    # -- what a subclass says -----------------------------------------------------------------------------------

    @abstractmethod
    def version(self) -> str:
        """Asked of the running servers."""

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """Its whole configuration, asked of the running servers."""

    def refused(self, host: RemoteHost) -> None:
        """Called when the server on this host denies the login; returns if the kit is let in now."""
        raise wrong_password(self.session.inventory.file, f"systems.{self.name}", self.endpoint(host))

    def notes(self) -> tuple[str, ...]:
        """Sentences for the page on how this system differs from what was published."""
        return ()

    # -- what it is ---------------------------------------------------------------------------------------------

    def about(self) -> About:
        command = " ".join(str(word) for word in self.command(self.carriers[0]).argv)
        return About(
            self.name,
            self.version(),
            self.title,
            self.stand_in_for,
            self.notes(),
            tuple(host.name for host in self.hosts),
            {"command": command, "variables": self.variables()},
            self.fewer,
        )
