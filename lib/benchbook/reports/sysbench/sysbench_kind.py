"""A sysbench report as data: its parameters, its cells, and the experiment that runs them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import Field

from benchbook import systems
from benchbook.analysis import checks, measured
from benchbook.analysis.checks import Check
from benchbook.analysis.results import Table
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.early_stop import rule
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import NotNegative, Parameters, Positive
from benchbook.profiles import Profile, Stopping
from benchbook.published.tables import Published
from benchbook.reports.kind import Kind
from benchbook.reports.sysbench.oltp import SysbenchOltp


class SysbenchParameters(Parameters):
    """`system` or, side by side, `systems`; `workloads` and `threads` narrow or replace the published levels."""

    system: str = "tidb"
    systems: list[str] = Field(default=[])
    workloads: list[str] = Field(default=[])
    threads: list[Positive] = Field(default=[])
    time_s: NotNegative = Field(0, le=86_400)
    rate: NotNegative = 0

    def names(self) -> list[str]:
        return list(dict.fromkeys(self.systems or [self.system]))


def stopping(parameters: SysbenchParameters, profile: Profile) -> Stopping | None:
    """When loads may end early; a duration that the user names is kept to."""
    return None if parameters.time_s else profile.stopping


def time_s(parameters: SysbenchParameters, profile: Profile) -> int:
    """The duration of a load, or its longest where it may end early."""
    early = stopping(parameters, profile)
    return math.ceil(early.maximum_s) if early else parameters.time_s or profile.sysbench.time_s


def published_s(published: Published) -> float | None:
    """Seconds that the shortest of the report's loads lasted, where it says so."""
    said = [published.duration_s(e.table) for e in published.report.design]
    return min((seconds for seconds in said if seconds), default=None)


def _options(published: Published) -> dict[str, str]:
    """The report's own options, which are the same for all its workloads; how to connect is ours to say."""
    pairs = [option.lstrip("-").partition("=") for option in published.report.design[0].options]
    return {key: value for key, _, value in pairs if key != "db-driver"}


class SysbenchKind(Kind[SysbenchParameters]):
    """Reports of sysbench: a load on one system or several side by side, a cell per row of the published tables."""

    Parameters = SysbenchParameters

    def cells(self, published: Published, parameters: SysbenchParameters) -> list[Cell]:
        """One cell per system and row of the published tables, or per threads that the parameters give instead."""
        known = [experiment.table for experiment in published.report.design]
        unknown = [name for name in parameters.workloads if name not in known]
        if unknown:
            raise BadInput("unknown workload", key="workloads", value=unknown[0], fix=f"use some of {', '.join(known)}")
        return [
            Cell(table=e.table, system=system, levels={"workload": e.workload, "threads": threads})
            for system in parameters.names()
            for e in published.report.design
            if not parameters.workloads or e.table in parameters.workloads
            for threads in (parameters.threads or [int(level) for level in e.factors["threads"]])
        ]

    def asked(self, parameters: SysbenchParameters, profile: Profile, inventory: Inventory) -> dict[str, object]:
        """The conditions that all trials share, as they stand in every record."""
        size, early = profile.sysbench, stopping(parameters, profile)
        return {
            "profile": profile.name,
            "inventory": inventory.name,
            "systems": parameters.names(),
            "seed": parameters.seed,
            "tables": size.tables,
            "table_size": size.table_size,
            "time_s": time_s(parameters, profile),
            **({"stopping": early.model_dump()} if early else {}),
            "report_interval_s": 1,
            "rate": parameters.rate or size.rate,
            "reset": profile.reset,
            "buffer_pool_mb": profile.buffer_pool_mb,
            "hosts": {name: host.address for name, host in inventory.hosts.items()},
        }

    def experiment(
        self, published: Published, parameters: SysbenchParameters, profile: Profile, inventory: Inventory
    ) -> SysbenchOltp:
        """Raises BadInput for a system that is unknown or that no host has the role for."""
        inventory.require("client")
        systems.check_names(parameters.names(), inventory)
        early = stopping(parameters, profile)
        return SysbenchOltp(
            inventory=inventory,
            profile=profile,
            names=parameters.names(),
            options=_options(published),
            time_s=time_s(parameters, profile),
            rate=parameters.rate or profile.sysbench.rate,
            seed=parameters.seed,
            stop_rule=rule(early, published_s(published)) if early else None,
        )

    def builds(self, parameters: SysbenchParameters) -> list[str]:
        """Systems of this run that are built from source."""
        return [name for name in parameters.names() if name == "tidb"]

    def tables(self, published: Published, records: Sequence[Record], trials: Sequence[Trial]) -> list[Table]:
        """Each published table beside what was measured; levels measured but not published follow."""
        return measured.beside(published, records, trials)

    def record_checks(self, record: Record) -> list[Check]:
        """Little's law, and the errors that the report's own options ignore."""
        return checks.of_sysbench(record)
