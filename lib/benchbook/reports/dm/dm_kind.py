"""DM's two reports as data: their parameters, their cells, and what each record answers for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from pydantic import Field

from benchbook import paths, systems
from benchbook.analysis.beside import in_tables
from benchbook.analysis.checks import Check
from benchbook.analysis.schema import FIGURES, typed
from benchbook.campaign.design import Cell, Levels, Trial
from benchbook.campaign.record import Record
from benchbook.parameters import OnSystems, Words
from benchbook.profiles import Profile
from benchbook.published.reading import known
from benchbook.published.tables import Published, PublishedTable
from benchbook.reports import design_values
from benchbook.reports.dm.replication import ROLES, DmReplication
from benchbook.reports.dm.task import LADDER, POOL_SIZE, ROWS, STATEMENT_SIZE, SYNC, databases
from benchbook.reports.driving import check_probes
from benchbook.reports.kind import Kind, RunRequest, common
from benchbook.systems import mysql
from benchbook.user_input.bounds import Count, Rate, SecondsOrNone
from benchbook.user_input.choices import one_of
from benchbook.workloads import option_allowlist
from benchbook.workloads.sysbench import Sysbench

# Components of one run are the rows of a table: the figures of each are in the record under this word.
COMPONENTS = {
    "MySQL": "mysql",
    "DM": "dm",
    "DM relay log unit": "relay",
    "DM binlog replication unit": "dm",
    "TiDB": "tidb",
}
COMPONENT = "component"
# Columns that a record knows by another name; DM's own rate in alpha is its rate of jobs.
NAMES = {
    ("dump", "speed_mb_s"): "dump_mb_s",
    ("load", "speed_mb_s"): "load_mb_s",
    ("load", "txn_latency_s"): "txn_time_s",
    ("load_pool_size", "speed_mb_s"): "load_mb_s",
    ("load_rows_per_statement", "speed_mb_s"): "load_mb_s",
    ("sync_result", "relay_mb_s"): "relay_mb_s",
    ("result", "dm_tps"): "job_tps",
}
# Levels of the report that are outcomes: they are measured as well.
OUTCOMES = ("rows_per_statement", "data_gb")


def figures_in_tables(published: Published, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures of the published tables (schema.FIGURES); the components of one run are rows of a table."""
    parts = [_named(table, figures[figures.table == table.id]) for table in published.tables.values()]
    named = typed(pd.concat(parts), FIGURES, levels=[*figures.attrs["levels"], COMPONENT])
    named.attrs |= {name: figures.attrs[name] for name in ("report", "campaign") if name in figures.attrs}
    return in_tables(published, named)


def _named(table: PublishedTable, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures under the names of the table's columns; of a component the report prints only what it has."""
    if COMPONENT not in table.levels:
        names = {_name(table.id, None, metric): metric for metric in table.metrics}
        return figures.assign(metric=figures.metric.map(names)).dropna(subset="metric")
    about = figures[["table", "system", "repetition", "trial", "value", "unit"]]
    parts = [
        about[figures.metric == _name(table.id, row[COMPONENT], metric)].assign(component=row[COMPONENT], metric=metric)
        for row in table.cells
        for metric in table.metrics
        if pd.notna(row[metric])
    ]
    return pd.concat(parts)


def with_outcomes(published: Published) -> Published:
    """Return the report with its levels that are outcomes as metrics of their tables."""
    tables = {
        id: replace(
            table,
            fields={
                name: replace(field, role="metric") if name in OUTCOMES else field
                for name, field in table.fields.items()
            },
        )
        for id, table in published.tables.items()
    }
    return replace(published, tables=tables)


def _name(table: str, component: str | None, metric: str) -> str:
    name = metric if component is None else f"{COMPONENTS[component]}_{metric}"
    return NAMES.get((table, metric)) or NAMES.get((table, name)) or name


# Of the upstream's transactions, what may fail: small tables make concurrent writers meet.
ERRORS = 0.01
# Settings that no profile changes; each trial has its own among its levels.
AS_PUBLISHED = ("tables", "threads", "worker_count", "batch", "pool_size")
# sysbench's script for each of the statement types that the report compares.
SCRIPTS = {"insert_only": "oltp_insert", "write_only": "oltp_write_only"}


class ReplicationParameters(OnSystems):
    """What every report on DM can be asked; `system` is its upstream, `tables` narrows the published ones."""

    system: Words = "mysql57"
    tables: list[Words] = Field(default=[])
    time_s: SecondsOrNone = 0
    rate: Rate = 0


class DmParameters(ReplicationParameters):
    """For a report that varies them: `worker_counts` and `pool_sizes` replace the published ones."""

    worker_counts: list[Count] = Field(default=[])
    pool_sizes: list[Count] = Field(default=[])


def names(published: Published, parameters: ReplicationParameters) -> list[str]:
    """Return the published tables that are restaged. Raise BadInput for one that the report does not have."""
    for name in parameters.tables:
        one_of(name, published.tables, "tables", problem="unknown table")
    return [name for name in published.tables if not parameters.tables or name in parameters.tables]


def _levels(published: Published, table: PublishedTable, parameters: DmParameters) -> list[Levels]:
    if table.id in SYNC:
        return _sync_levels(published, table, parameters)
    if table.id == "dump":
        split = [str(value) for value in design_values.column(published, table, "table_split")]
        threads = design_values.numbers(published, table, "dump_threads")
        return [{"table_split": a, "dump_threads": b} for a, b in zip(split, threads, strict=True)]
    if table.id == "load":
        return [{"item": str(item), "pool_size": POOL_SIZE} for item in design_values.column(published, table, "item")]
    if table.id == "load_pool_size":
        sizes = parameters.pool_sizes or design_values.numbers(published, table, "pool_size")
        return [{"pool_size": size} for size in sizes]
    pool = design_values.of_table(published, table, "pool_size")
    sizes = design_values.numbers(published, table, "statement_size", most=1_000_000_000)
    return [{"statement_size": n, "pool_size": pool} for n in sizes]


def _sync_levels(published: Published, table: PublishedTable, parameters: DmParameters) -> list[Levels]:
    """The upstream load of the one table that states it holds for the others too (see the published design's notes)."""
    stating = next((e for e in design_values.design(published) if "threads" in e.fixed), published.report.design[0])
    load = {name: design_values.fixed(published, stating, name) for name in ("threads", "worker_count", "batch")}
    base: Levels = {"workload": "oltp_insert", **load}
    if table.id == "sync_worker_count":
        counts = parameters.worker_counts or design_values.numbers(published, table, "worker_count")
        return [{**base, "worker_count": count} for count in counts]
    if table.id == "sync_distribution":
        kinds = [str(kind) for kind in design_values.column(published, table, "statement_type")]
        file = paths.published_dir(published.report.name) / table.meta.path
        for kind in kinds:
            known(kind, list(SCRIPTS), "no script writes statements of this type", "column statement_type", file)
        return [{**base, "statement_type": kind, "workload": SCRIPTS[kind]} for kind in kinds]
    # A level of its own, because a trial is known by its levels: it has those of one row of sync_worker_count.
    return [{"test": "result", **base}]


def _errors(record: Record) -> Check:
    count, events = record.summary["mysql_errors"].value, record.summary["mysql_events"].value
    share = count / max(1.0, events)
    return Check(record.id, "errors upstream", share <= ERRORS, f"{count:g} ignored ({share:.2%})")


class DmKind(Kind[ReplicationParameters]):
    """DM's reports: a cell per published row; the components of one run are one cell."""

    Parameters: type[ReplicationParameters] = DmParameters

    def cells(self, published: Published, parameters: ReplicationParameters) -> list[Cell]:
        """One cell per published row; the components of one run are one cell."""
        # What this report cannot be asked is as it says.
        said = DmParameters.model_validate(parameters.model_dump())
        return [
            Cell(table=name, system=system, levels=levels)
            for system in said.names()
            for name in names(published, said)
            for levels in _levels(published, published.table(name), said)
        ]

    def asked(self, request: RunRequest) -> dict[str, object]:
        parameters: ReplicationParameters = request.parameters
        profile, size = request.profile, request.profile.dm
        return {
            **common(request),
            "report_interval_s": 1,
            "time_s": parameters.time_s or size.time_s,
            "rate": parameters.rate or size.rate,
            "ladder_rate": parameters.rate or size.ladder_rate or size.rate,
            "large_rows": size.large_rows,
            "small_rows": size.small_rows,
            "sync_rows": size.sync_rows,
            "split_rows": size.split_rows,
            "statement_size": size.statement_size or STATEMENT_SIZE,
            **dict.fromkeys(AS_PUBLISHED, "as published"),
            "settle_s": size.settle_s,
            "drain_s": size.drain_s,
            "sample_s": size.sample_s,
            "table_size": f"{size.large_rows} (dump, load), {size.small_rows} (other loads), {size.sync_rows} (sync)",
            "reset": "upstream restored per repetition; DM and target empty per trial",
            "buffer_pool_mb": profile.buffer_pool_mb,
        }

    def experiment(self, request: RunRequest) -> DmReplication:
        """Raise BadInput for a role that nobody has, or that two hosts have where one is meant."""
        parameters: ReplicationParameters = request.parameters
        published, profile, inventory = request.published, request.profile, request.inventory
        for role in ROLES:
            inventory.require_one(role)
            inventory.check_sshd_apart(role)
        check_probes(profile, [*mysql.check(parameters.names(), inventory), systems.find("tidb", inventory)])
        count = design_values.anywhere_fixed(published, "tables")
        self.check_load(published, parameters.allow)
        options = list(dict.fromkeys(option for e in published.report.design for option in e.options))
        return DmReplication(
            inventory=inventory,
            profile=profile,
            databases=databases(names(published, parameters), profile.dm, count),
            generator=Sysbench(profile.sysbench, options, parameters.seed),
            time_s=parameters.time_s or profile.dm.time_s,
            rate=parameters.rate or profile.dm.rate,
            ladder_rate=parameters.rate or profile.dm.ladder_rate or profile.dm.rate,
            upstreams=parameters.names(),
        )

    def check_load(self, published: Published, allow: Sequence[str]) -> None:
        """Raise BadInput for an option of a design that sysbench does not know."""
        file = paths.published_dir(published.report.name) / "report.yaml"
        for design in published.report.design:
            # Of dumps and loads, the published options are mydumper's, and stay words.
            given = [option for option in design.options if option.startswith("--")]
            option_allowlist.check_options(Sysbench, design, given, allow, file)

    def builds(self, request: RunRequest) -> list[str]:
        """Systems of this run that are built from source, and the upstreams that are fetched."""
        return [*systems.builds(["tidb", *request.parameters.names()], request.inventory), "dm"]

    def figures(self, published: Published, figures: pd.DataFrame) -> pd.DataFrame:
        """Return the figures of the published tables; the components of one run are rows of a table."""
        return figures_in_tables(with_outcomes(published), figures)

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return what was published beside what was measured, outcomes that the report has as levels among it."""
        return super().beside(with_outcomes(published), figures, trials)

    def asked_otherwise(self, asked: Mapping[str, Any], tables: Collection[str]) -> list[str]:
        """Say where an upstream was held to a rate, and where dumps were cut otherwise than the report's."""
        rate, ladder = asked.get("rate") or 0, asked.get("ladder_rate") or 0
        said = []
        if rate or (ladder and LADDER in tables):
            where = "In every sync" if rate else "Where worker-counts are compared"
            held = f"the upstream was held to {rate or ladder:,} transactions/s"
            said.append(f"{where} {held}: jobs at that rate are what DM was asked for, and not all that it can do.")
        rows, size = asked.get("split_rows") or ROWS, asked.get("statement_size") or STATEMENT_SIZE
        if (rows, size) != (ROWS, STATEMENT_SIZE) and any(table not in SYNC for table in tables):
            printed = f"({ROWS:,} and {STATEMENT_SIZE:,} in the report)"
            said.append(
                f"Dumps are cut into chunks of {rows:,} rows and statements of {size:,} bytes {printed}, where a table "
                "does not vary them: small tables have few as large as those."
            )
        return said

    def record_checks(self, record: Record) -> list[Check]:
        """Is the target the source, by checksum; and for a sync, the errors upstream."""
        tables = record.proof["tables"]
        rows = sum(table["source_rows"] for table in tables)
        proved = f"{len(tables)} tables, {rows:,} rows"
        return [
            Check(record.id, "source = target by checksum", bool(record.proof["same"]), proved),
            *([_errors(record)] if record.table in SYNC else []),
        ]

    def scaled(self, parameters: ReplicationParameters, profile: Profile) -> tuple[str, ...]:
        """None: worker-counts and pool sizes are transactions in flight, most of which wait, and do not go with cores.

        What the report says of them is seen on 2 cores at the printed levels: from 16 to 1,024 workers batches get
        thinner, so that TiDB's statements per row and its durations grow. Nine workers in place of 1,024 do not show
        it.
        """
        return ()


class DmReplicationKind(DmKind):
    """A DM report of incremental replication alone, which varies neither workers nor pools and dumps no table."""

    Parameters = ReplicationParameters
