"""A system of equal members that goes on without one of them: what a report asks of it that takes one away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost


class Quorum(ABC):
    """Beside the verbs of a system."""

    @abstractmethod
    def members(self) -> list[RemoteHost]:
        """The hosts of the members that run."""

    @abstractmethod
    def leader(self) -> RemoteHost:
        """The host of the member that leads. Raises SystemFailed where there is none."""

    @abstractmethod
    def lose(self, host: RemoteHost) -> float:
        """Kill the member on this host, which is then no failure of the system; when it ended, by its host's clock."""

    @abstractmethod
    def regain(self) -> None:
        """Start the lost members again, from what they have on disk; returns once they serve. Raises SystemFailed."""

    @abstractmethod
    def agree(self) -> tuple[int, int]:
        """The revision that a quorum has reached, and how many members hold the same up to there.

        Raises SystemFailed where two of them differ.
        """
