"""A campaign in a reader's hands: what was published, what was recorded, and both beside each other. Never a host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from benchbook.analysis.results import Table
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.published import Published


class Recorded(ABC):
    """What tables and figures of a report are made from; a notebook's report is one."""

    published: Published

    @property
    @abstractmethod
    def campaign(self) -> Campaign:
        """The campaign on disk."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Every published table in long form, with what was measured beside it."""

    @property
    def records(self) -> list[Record]:
        """The whole records of the campaign, in run order."""
        return self.campaign.records()

    @property
    def environment(self) -> Environment:
        """Host facts, systems and what was waived, as the campaign noted them."""
        return self.campaign.environment()

    def figure_file(self, name: str) -> Path:
        """Where the figure of this name is kept beside the campaign."""
        return self.campaign.figure(name)
