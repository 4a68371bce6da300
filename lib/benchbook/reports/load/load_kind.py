"""Reports of loads as data: their parameters, their cells, and the experiment that runs them.

Beside the plain kind there are those whose rows name their system, or the version of one system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from benchbook import paths, systems, workloads
from benchbook.analysis.checks import Check
from benchbook.campaign.design import Cell, Levels, Trial
from benchbook.campaign.max_rate import KneeSearch, Slo
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.grouping import grouped
from benchbook.parameters import OnSystems, Words
from benchbook.profiles import Profile
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.reports import design_values
from benchbook.reports.driving import check_probes
from benchbook.reports.kind import Kind, RunRequest, common
from benchbook.reports.load.load_trials import KneeTrials, LoadTrials
from benchbook.user_input.bounds import Rate, SecondsOrNone, Threads
from benchbook.user_input.choices import one_of
from benchbook.workloads import option_allowlist
from benchbook.workloads.base import LoadGenerator

# The load generator of a report whose design names none, and of records that name none.
DEFAULT = "sysbench"
THREADS = "threads"
# The level that names the workload, as a load generator knows it.
WORKLOAD = "workload"


class LoadParameters(OnSystems):
    """`system` or, side by side, `systems`; `workloads` and `threads` narrow or replace the published levels.

    `levels`: the published threads, or `scaled` ones (times cores here / cores published); "" = as the profile says.
    `slo` asks for a search beside: the highest offered rate that keeps a latency.
    """

    system: Words = "tidb"
    workloads: list[Words] = Field(default=[])
    threads: list[Threads] = Field(default=[])
    time_s: SecondsOrNone = 0
    rate: Rate = 0
    levels: Literal["", "published", "scaled"] = ""
    slo: Slo = Field(default=Slo(), strict=False)


def _offered(load: type[LoadGenerator[Any]], parameters: LoadParameters, profile: Profile) -> int:
    """Return the rate of the run, 0 for none. Raise BadInput for one that the generator would not keep to."""
    rate = parameters.rate or load.size_in(profile).rate
    if rate and not (load.open_loop or load.keeps_rate):
        file = None if parameters.rate else profile.file
        key = "rate" if parameters.rate else f"loads.{load.name}.rate"
        raise BadInput(f"{load.name} keeps to no rate", key=key, value=rate, fix="leave `rate` out", file=file)
    return rate


def load_of(published: Published) -> type[LoadGenerator[Any]]:
    """Return the load generator that the report's design names. Raise BadInput for an unknown one, and for several."""
    named = list(dict.fromkeys(experiment.load for experiment in design_values.design(published)))
    file = paths.published_dir(published.report.name) / "report.yaml"
    for name in named:
        one_of(name, workloads.names(), "load generator", file=file, key="design.*.load")
    if len(named) > 1:
        said = "one report is restaged by one load generator"
        fix = "split the report, or name the same one everywhere"
        raise BadInput(said, file=file, key="design.*.load", value=named, fix=fix)
    return workloads.generator(named[0])


def _designs(published: Published) -> list[TableDesign]:
    """Return the designs, a workload each: one without is of every workload that its table's rows name."""
    return [
        design.model_copy(update={"workload": workload})
        for design in published.report.design
        for workload in ([design.workload] if design.workload else _workloads(published, design))
    ]


def _workloads(published: Published, design: TableDesign) -> list[str]:
    return list(dict.fromkeys(map(str, design_values.column(published, published.table(design.table), WORKLOAD))))


def _check_told_apart(published: Published) -> None:
    """Raise BadInput for a table of several workloads whose rows do not say which: they would pass for repetitions."""
    for table, designs in grouped(_designs(published), lambda each: each.table).items():
        named = list(dict.fromkeys(each.workload for each in designs))
        if len(named) > 1 and WORKLOAD not in published.table(table).levels:
            raise BadInput(
                "the rows of a table of several workloads do not say which they are of",
                file=paths.published_dir(published.report.name) / "datapackage.json",
                key=f"{table}.schema.fields",
                value=named,
                fix="add a column `workload` with the role `level`, or give each workload a table of its own",
            )


def _points(published: Published, design: TableDesign, names: frozenset[str], threads: Sequence[int]) -> list[Levels]:
    """The levels of a design's loads, each once: its threads, or `threads` in their place, and its levels of `names`.

    What all rows of a table have in common stands under `fixed`. Raise BadInput for threads that cannot be run, and
    for a workload of which the table has no row.
    """
    table = published.table(design.table)
    if THREADS in design.fixed and THREADS not in table.levels:
        design_values.fixed(published, design, THREADS)
    else:
        design_values.numbers(published, table, THREADS)
    if WORKLOAD in table.levels:
        file, key = paths.published_dir(published.report.name) / "report.yaml", f"design.{design.name}.workload"
        one_of(design.workload, _workloads(published, design), "workload in its table's rows", file=file, key=key)
    varied = {name: design_values.column(published, table, name) for name in table.levels if name in {*names, THREADS}}
    rows = [
        {**design.fixed, **{name: cells[number] for name, cells in varied.items()}}
        for number, row in enumerate(table.cells)
        if row.get(WORKLOAD, design.workload) == design.workload
    ]
    found: list[Levels] = [
        {THREADS: number, **{name: value for name, value in row.items() if name in names}}
        for row in rows
        for number in (threads or [int(row[THREADS])])
    ]
    return list({tuple(levels.items()): levels for levels in found}.values())


class LoadKind(Kind[LoadParameters]):
    """Reports of a load on one system or several side by side, a cell per row of the published tables."""

    Parameters: type[LoadParameters] = LoadParameters
    Trials: ClassVar[type[LoadTrials]] = LoadTrials
    """How its trials are run; a kind that does something in mid-load has its own."""
    clients = (THREADS,)
    own_level: ClassVar[str] = ""
    """The level that says which of the systems a row is about; empty where each is about all."""

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        """One cell per system and published row, or per workload and number of threads that the parameters give.

        Threads are scaled as those of one table, so that rows of several workloads can be compared.
        """
        _check_told_apart(published)
        varied, designs = load_of(published).levels, _designs(published)
        # A table may have several workloads, and a workload several tables: either may be named.
        known = dict.fromkeys(name for e in designs for name in (e.table, e.workload))
        for name in parameters.workloads:
            one_of(name, known, "workloads", problem="unknown workload")
        return [
            Cell(table=e.table, system=system, levels={"workload": e.workload, **levels})
            for system in parameters.names()
            for e in designs
            if not parameters.workloads or {e.table, e.workload} & set(parameters.workloads)
            for levels in _points(published, e, varied, parameters.threads)
        ]

    def asked(self, request: RunRequest) -> dict[str, object]:
        parameters: LoadParameters = request.parameters
        load, profile = load_of(request.published), request.profile
        size = load.size_in(profile)
        return {
            **common(request),
            **({"load": load.name} if load.name != DEFAULT else {}),
            **load.asked(size),
            "time_s": parameters.time_s or size.time_s,
            "rate": parameters.rate or size.rate,
            "reset": profile.reset,
            **({"rehearse_s": profile.rehearse_s} if profile.rehearse_s else {}),
            "buffer_pool_mb": profile.buffer_pool_mb,
        }

    def experiment(self, request: RunRequest) -> LoadTrials:
        """Raise BadInput for a system that is unknown, has no host, or does not speak what the load speaks.

        So it does for a workload or an option of the report that the load generator does not know.
        """
        parameters: LoadParameters = request.parameters
        published, profile, inventory = request.published, request.profile, request.inventory
        load = load_of(published)
        self.check_load(published, parameters.allow)
        if parameters.slo.asked and not load.open_loop:
            said = "this load generator offers no rate of its own, so that none can be searched for"
            raise BadInput(said, key="slo", value=load.name, fix="leave `slo` out")
        # First: a role in the inventory would be no cure for a system that the load cannot drive.
        systems.check_protocols(parameters.names(), inventory, load.name, load.protocols)
        inventory.require("client")
        systems.check_names(parameters.names(), inventory)
        check_probes(profile, [systems.find(name, inventory) for name in parameters.names()])
        size = load.size_in(profile)
        return self.Trials(
            inventory=inventory,
            profile=profile,
            names=parameters.names(),
            generator=load(size, published.report.design[0].options, parameters.seed),
            time_s=parameters.time_s or size.time_s,
            rate=_offered(load, parameters, profile),
            options={(each.table, each.workload): each.options for each in _designs(published)},
        )

    def check_load(self, published: Published, allow: Sequence[str]) -> None:
        """Raise BadInput for a workload, an option or a level of the report that its load generator does not know."""
        file, load = paths.published_dir(published.report.name) / "report.yaml", load_of(published)
        option_allowlist.check(load, _designs(published), allow, file)
        others = {THREADS, WORKLOAD, *filter(None, [self.own_level])}
        option_allowlist.check_levels(load, published.report.design, published, others)

    def knee(self, request: RunRequest) -> KneeSearch | None:
        """At the most threads of every table, if the parameter `slo` names a latency."""
        slo: Slo = request.parameters.slo
        return KneeSearch(slo, KneeTrials.of(self.experiment(request), slo)) if slo.asked else None

    def scaled(self, parameters: LoadParameters, profile: Profile) -> tuple[str, ...]:
        """Threads, unless the user names her own."""
        wanted = (parameters.levels or profile.levels) == "scaled"
        return (THREADS,) if wanted and not parameters.threads else ()

    def builds(self, request: RunRequest) -> list[str]:
        """Return what the systems of this run are built from, and the report's load generator."""
        of_systems = systems.builds(request.parameters.names(), request.inventory)
        return list(dict.fromkeys([*of_systems, *load_of(request.published).builds_for(request.inventory)]))

    def record_checks(self, record: Record) -> list[Check]:
        """Return what the load generator of the record says that it must answer for."""
        return workloads.generator(str(record.asked.get("load", DEFAULT))).record_checks(record)


# -- rows that name their system --------------------------------------------------------------------------------------


# The level that names the system, as `systems` of a notebook and of an inventory do.
SERVER = "server"


class ByServerParameters(LoadParameters):
    """As for any load; without `systems`, PostgreSQL alone."""

    system: Words = "postgresql"


class ByServerKind(LoadKind):
    """As any load report, but each system runs, and stands beside, its own rows: those with its value of a level.

    A published system that was not run keeps its rows, under its own name and with nothing measured.
    """

    Parameters: type[LoadParameters] = ByServerParameters
    own_level = SERVER

    def own(self, published: Published, systems: Sequence[str]) -> Mapping[str, str]:
        """Return what its own rows have at the level, by system. Raise BadInput."""
        return {name: name for name in systems}

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        """One cell per system and row of its own."""
        own, level = self.own(published, parameters.names()), self.own_level
        every = super().cells(published, parameters)
        return [cell.model_copy(update={"levels": {**cell.levels, level: own[cell.system]}}) for cell in every]

    def systems(self, published: Published, trials: Sequence[Trial]) -> list[str]:
        """Return those of the plan, then those that were published alone."""
        named = [
            str(row[SERVER]) for table in published.tables.values() if SERVER in table.levels for row in table.cells
        ]
        return list(dict.fromkeys([*super().systems(published, trials), *named]))

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return each published table beside what was measured of the system that its rows are about."""
        every = super().beside(published, figures, trials)
        own = {trial.cell.system: trial.cell.levels[self.own_level] for trial in trials}
        about = every.get(self.own_level, pd.Series(index=every.index, dtype=object)).astype(object)
        system = every["system"].astype(object)
        mine = (about == system.map(lambda name: own.get(name, name))) | (about.isna() & system.isin(own))
        return every.loc[mine].reset_index(drop=True)


# -- versions of one system side by side ------------------------------------------------------------------------------


# The level that names the published version, older ones first.
VERSION = "version"


class VersionsParameters(LoadParameters):
    """As for any load; `systems` are put in the places of the published versions, in their order: older first."""

    system: Words = ""
    systems: list[Words] = Field(default=["tidb:6.5", "tidb:7.1"])


class VersionsKind(ByServerKind):
    """As any load report, but each system runs, and stands beside, the rows of one published version."""

    Parameters = VersionsParameters
    own_level = VERSION

    def own(self, published: Published, systems: Sequence[str]) -> Mapping[str, str]:
        """Return the published version whose place each takes. Raise BadInput unless there is one for each version."""
        versions = _versions(published)
        if len(systems) != len(versions):
            said = "each published version needs one system in its place"
            fix = f"name {len(versions)} different systems, for {', '.join(versions)} in this order"
            file = paths.notebook(published.report.name)
            raise BadInput(said, file=file, key="systems", value=list(systems), fix=fix)
        return dict(zip(systems, versions, strict=True))

    def asked(self, request: RunRequest) -> dict[str, object]:
        """Also which system takes the place of which version."""
        return {**super().asked(request), "in_place_of": self.own(request.published, request.parameters.names())}

    def experiment(self, request: RunRequest) -> LoadTrials:
        """Each system is said to stand in for its version, unless it says that it is that version."""
        published = request.published
        place = self.own(published, request.parameters.names())
        product = published.report.systems[0].name if published.report.systems else published.report.document.product
        stands = {system: (product, version) for system, version in place.items()}
        return replace(super().experiment(request), in_place_of=stands)


def _versions(published: Published) -> list[str]:
    """As the tables list them, all alike. Raise BadInput."""
    first: list[str] = []
    for design in design_values.design(published):
        table = published.table(design.table)
        versions = list(dict.fromkeys(map(str, design_values.column(published, table, VERSION))))
        first = first or versions
        if versions != first:
            file = paths.published_dir(published.report.name) / table.meta.path
            said = "every table of such a report has the same versions, older first"
            raise BadInput(said, file=file, key=f"column {VERSION}", value=versions, fix=f"write {first}")
    return first
