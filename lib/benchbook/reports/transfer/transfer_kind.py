"""The DDT report as data: its parameters, its cells, the experiment that runs them, and what its records answer for."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from benchbook.analysis import measured
from benchbook.analysis.checks import Check
from benchbook.analysis.results import Row, Table
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.given.bounds import Count, RowsOrNone
from benchbook.grouping import grouped
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import Parameters, Words
from benchbook.profiles import Profile, Repeating
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.reports import stated
from benchbook.reports.driving import check_probes
from benchbook.reports.kind import Kind, common
from benchbook.reports.transfer import engines
from benchbook.reports.transfer.copying import Transfer
from benchbook.reports.transfer.engines import KNOBS, PEER
from benchbook.systems import mongo
from mongo_transfer.dataset import COLLECTIONS, DOCUMENT_BYTES

PEER_TABLE = "peer"
# Of the peer's run: its own defaults.
PEER_LEVELS: dict[str, str | int | float] = {"parallel_collections": 4, "data_batch_size": 1000}
# The tables that sum up; `single_tests` prints the same eleven points again.
REPEATED = ("single_tests",)
SCALED = ("source_threads", "target_threads", "cache_bucket_size", "cache_bucket_num")
PEER_METRICS = {
    "qps": "1/s",
    "wall_qps": "1/s",
    "cpu_percent": "%",
    "cpu_s_per_million": "s",
    "memory_mb": "MB",
    "peak_memory_mb": "MB",
}


class TransferParameters(Parameters):
    """`engines`: pymongo, mongodump, ddt; `server`: mongod, ferret, endpoint; `caches` and `threads` (5/15) narrow.

    `levels`: the published threads and caches, or `scaled` ones; "" = as the profile says.
    """

    engines: list[Words] = Field(default=[])
    ddt_jar: Words = ""
    server: Words = ""
    caches: list[Count] = Field(default=[])
    threads: list[Words] = Field(default=[])
    documents: RowsOrNone = 0
    levels: Literal["", "published", "scaled"] = ""

    def names(self) -> list[str]:
        return engines.names(self.engines, self.ddt_jar)


def _levels(published: Published, experiment: TableDesign) -> list[dict[str, str | int | float]]:
    """The thread pairs of one published experiment with its cache; each pair is a row of its table."""
    names = ("cache_bucket_size", "cache_bucket_num", "data_batch_size")
    cache = {name: stated.fixed(published, experiment, name) for name in names}
    table = published.table(experiment.table)
    pairs = (stated.numbers(published, table, name) for name in ("source_threads", "target_threads"))
    return [{"source_threads": a, "target_threads": b, **cache} for a, b in zip(*pairs, strict=True)]


def _wanted(levels: dict[str, Any], parameters: TransferParameters) -> bool:
    return (not parameters.caches or levels["cache_bucket_size"] in parameters.caches) and (
        not parameters.threads or _pair(levels) in parameters.threads
    )


def _refuse_unpublished(parameters: TransferParameters, points: Sequence[dict[str, Any]]) -> None:
    """Raises BadInput for a cache or a pair that no published combination has: it would silently be left out."""
    caches = {levels["cache_bucket_size"] for levels in points}
    pairs = {_pair(levels) for levels in points}
    for key, asked, known in (("caches", parameters.caches, caches), ("threads", parameters.threads, pairs)):
        if unknown := [value for value in asked if value not in known]:
            fix = f"{key} are {', '.join(map(str, sorted(known)))}"
            raise BadInput("it is none of the published ones", key=key, value=unknown, fix=fix)


def _pair(levels: dict[str, Any]) -> str:
    return f"{levels['source_threads']}/{levels['target_threads']}"


def _levels_from(parameters: TransferParameters, profile: Profile) -> str:
    """`published` or `scaled`: as asked for, else as the profile says, but never scaled for DDT unasked."""
    unasked = "published" if "ddt" in parameters.names() else profile.levels
    return parameters.levels or unasked


def documents(parameters: TransferParameters, profile: Profile) -> int:
    return parameters.documents or profile.transfer.documents


def peer_table(records: Sequence[Record]) -> Table:
    """Each engine over all its combinations: the mean of each repetition is one figure."""
    rows = [
        Row.model_validate(
            {
                "system": system,
                "metric": metric,
                "unit": unit,
                "measured": measured.interval([fmean(r.summary[metric].value for r in one) for one in repeated]),
            }
        )
        for system, mine in grouped(records, lambda r: r.system).items()
        for repeated in [whole_repetitions(mine)]
        for metric, unit in PEER_METRICS.items()
    ]
    columns = ["system", "metric", "unit", "measured"]
    return Table(id=PEER_TABLE, title="The engines, each over all its combinations", columns=columns, rows=rows)


def whole_repetitions(records: Sequence[Record]) -> list[list[Record]]:
    """The records of one engine by repetition; those that lack a combination are left out, or its mean would be off."""
    repeated = list(grouped(records, lambda r: r.repetition).values())
    most = max(map(len, repeated), default=0)
    return [one for one in repeated if len(one) == most]


class TransferKind(Kind[TransferParameters]):
    """The DDT report: every published combination for each engine that has these knobs, and one cell for the peer."""

    Parameters = TransferParameters

    def cells(self, published: Published, parameters: TransferParameters) -> list[Cell]:
        """Every published combination for each engine that has these knobs, and one cell for the peer."""
        points = [(e.table, levels) for e in stated.design(published) for levels in _levels(published, e)]
        _refuse_unpublished(parameters, [levels for _, levels in points])
        chosen = [(table, levels) for table, levels in points if _wanted(levels, parameters)]
        if not chosen:
            raise BadInput(
                "no published combination is left",
                key="caches, threads",
                value=[parameters.caches, parameters.threads],
                fix="take a cache and threads that were published together",
            )
        knobs = [name for name in parameters.names() if name in KNOBS]
        found = [Cell(table=table, system=name, levels=levels) for name in knobs for table, levels in chosen]
        peers = [Cell(table=PEER_TABLE, system=PEER, levels=PEER_LEVELS)] if PEER in parameters.names() else []
        return [*found, *peers]

    def asked(
        self, published: Published, parameters: TransferParameters, profile: Profile, inventory: Inventory
    ) -> dict[str, object]:
        """The conditions that all trials share, as they stand in every record."""
        return {
            **common(parameters.names(), parameters, profile, inventory),
            "documents": documents(parameters, profile),
            "collections": COLLECTIONS,
            "document_bytes": DOCUMENT_BYTES,
            "cache_size_gb": f"{profile.transfer.cache_gb:g} for a mongod; FerretDB has none to set",
            "server": parameters.server,
            "ddt_jar": parameters.ddt_jar,
            "levels": _levels_from(parameters, profile),
            **dict.fromkeys(SCALED[2:], "scaled" if self.scaled(parameters, profile) else "as published"),
            "data_batch_size": "as published",
            "reset": "the copy dropped before each trial",
        }

    def experiment(
        self, published: Published, parameters: TransferParameters, profile: Profile, inventory: Inventory
    ) -> Transfer:
        """Raises BadInput for an unknown engine, a role that no host has, or a second client."""
        inventory.require_one("client")
        mongo.check(inventory, parameters.server)
        check_probes(profile, [])
        if documents(parameters, profile) < COLLECTIONS:
            fix = f"give at least {COLLECTIONS}: one for each collection"
            raise BadInput("too few to copy", key="documents", value=parameters.documents, fix=fix)
        return Transfer(
            inventory=inventory,
            profile=profile,
            names=parameters.names(),
            server=parameters.server,
            ddt_jar=parameters.ddt_jar,
            documents=documents(parameters, profile),
            seed=parameters.seed,
        )

    def scaled(self, parameters: TransferParameters, profile: Profile) -> tuple[str, ...]:
        """Threads, and with them the cache that they read ahead into.

        The report's caches hold 131,072 documents and more, of a data set whose size it does not print. As published
        they hold all of a small data set, so that no cache is better than another. DDT takes no fewer threads than a
        small machine's share, so where it is among the engines the levels are those published.
        """
        return SCALED if _levels_from(parameters, profile) == "scaled" else ()

    def check_cells(self, cells: Sequence[Cell]) -> None:
        """Raises BadInput for a level in place of which DDT would quietly use another one."""
        for cell in cells:
            engines.check_levels(cell.system, cell.levels)

    def repetitions(self, profile: Profile) -> int:
        """Of the profile's transfer section, where it says."""
        return profile.transfer.repetitions or profile.repetitions

    def repeating(self, profile: Profile) -> Repeating | None:
        """Of the profile's transfer section, where it says."""
        return profile.transfer.repeat or profile.repeat

    def builds(self, published: Published, parameters: TransferParameters) -> list[str]:
        """The small server and the peer's tools come from one module."""
        return ["mongo"]

    def tables(self, published: Published, records: Sequence[Record], trials: Sequence[Trial]) -> list[Table]:
        """The published summary tables beside the engines that have their knobs; then all engines beside the peer."""
        knobs = [trial for trial in trials if trial.cell.system in KNOBS]
        beside = [table for table in measured.beside(published, records, knobs) if table.id not in REPEATED]
        return [*beside, peer_table(records)]

    def record_checks(self, record: Record) -> list[Check]:
        """Is the copy proved, and did the engine count what the source holds?"""
        proved, counted = record.proof["documents"], record.summary["documents"].value
        compared = f"{len(record.proof['collections'])} collections, {proved} documents, counts and hashes equal"
        return [
            Check(record.id, "target equals source", record.proof["agrees"], compared),
            Check(record.id, "documents counted by the engine", counted == proved, f"{counted:.0f} of {proved}"),
        ]
