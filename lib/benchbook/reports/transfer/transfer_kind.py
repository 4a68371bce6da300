"""The DDT report as data: its parameters, its cells, the experiment that runs them, and what its records answer for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from benchbook.analysis.checks import Check
from benchbook.analysis.schema import FIGURES, typed
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.parameters import Parameters, Words
from benchbook.profiles import Profile
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.reports import design_values
from benchbook.reports.driving import check_probes
from benchbook.reports.kind import Kind, RunRequest, common
from benchbook.reports.transfer import engines
from benchbook.reports.transfer.copying import Transfer
from benchbook.reports.transfer.engines import KNOBS, PEER
from benchbook.systems import mongo
from benchbook.user_input.bounds import Count, RowsOrNone
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
    """Return the thread pairs of one published experiment with its cache; each pair is a row of its table."""
    names = ("cache_bucket_size", "cache_bucket_num", "data_batch_size")
    cache = {name: design_values.fixed(published, experiment, name) for name in names}
    table = published.table(experiment.table)
    pairs = (design_values.numbers(published, table, name) for name in ("source_threads", "target_threads"))
    return [{"source_threads": a, "target_threads": b, **cache} for a, b in zip(*pairs, strict=True)]


def _wanted(levels: dict[str, Any], parameters: TransferParameters) -> bool:
    return (not parameters.caches or levels["cache_bucket_size"] in parameters.caches) and (
        not parameters.threads or _pair(levels) in parameters.threads
    )


def _refuse_unpublished(parameters: TransferParameters, points: Sequence[dict[str, Any]]) -> None:
    """Raise BadInput for a cache or a pair that no published combination has: it would silently be left out."""
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


def over_combinations(figures: pd.DataFrame) -> pd.DataFrame:
    """Return a row per engine, repetition and metric of PEER_METRICS: the mean over all its combinations.

    figures : schema.FIGURES. A repetition that lacks a combination is left out: its mean would be off.
    """
    mine = figures[figures.metric.isin([*PEER_METRICS])]
    keys = ["system", "metric", "unit", "repetition"]
    means = mine.groupby(keys, sort=False, observed=True).value.agg(["mean", "size"]).reset_index()
    whole = means[means["size"] == means.groupby("system", observed=True)["size"].transform("max")]
    return typed(whole.rename(columns={"mean": "value"}).assign(table=PEER_TABLE), FIGURES)


class TransferKind(Kind[TransferParameters]):
    """The DDT report: every published combination for each engine that has these knobs, and one cell for the peer."""

    Parameters = TransferParameters

    def cells(self, published: Published, parameters: TransferParameters) -> list[Cell]:
        """Return every published combination for each engine that has these knobs, and one cell for the peer."""
        points = [(e.table, levels) for e in design_values.design(published) for levels in _levels(published, e)]
        _refuse_unpublished(parameters, [levels for _, levels in points])
        chosen = [(table, levels) for table, levels in points if _wanted(levels, parameters)]
        if not chosen:
            said = "no published combination is left"
            fix = "take a cache and threads that were published together"
            raise BadInput(said, key="caches, threads", value=[parameters.caches, parameters.threads], fix=fix)
        knobs = [name for name in parameters.names() if name in KNOBS]
        found = [Cell(table=table, system=name, levels=levels) for name in knobs for table, levels in chosen]
        peers = [Cell(table=PEER_TABLE, system=PEER, levels=PEER_LEVELS)] if PEER in parameters.names() else []
        return [*found, *peers]

    def asked(self, request: RunRequest) -> dict[str, object]:
        parameters: TransferParameters = request.parameters
        profile = request.profile
        return {
            **common(request),
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

    def experiment(self, request: RunRequest) -> Transfer:
        """Raise BadInput for an unknown engine, a role that no host has, or a second client."""
        parameters: TransferParameters = request.parameters
        profile, inventory = request.profile, request.inventory
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
        """Raise BadInput for a level in place of which DDT would quietly use another one."""
        for cell in cells:
            engines.check_levels(cell.system, cell.levels)

    def builds(self, request: RunRequest) -> list[str]:
        """The small server and the peer's tools come from one module."""
        return ["mongo"]

    def systems(self, published: Published, trials: Sequence[Trial]) -> list[str]:
        """Return the engines that have the report's knobs."""
        return [name for name in super().systems(published, trials) if name in KNOBS]

    def beside(self, published: Published, figures: pd.DataFrame, trials: Sequence[Trial]) -> pd.DataFrame:
        """Return the published summary tables beside the engines that have their knobs."""
        every = super().beside(published, figures, trials)
        return every[~every.table.isin(REPEATED)].reset_index(drop=True)

    def record_checks(self, record: Record) -> list[Check]:
        """Is the copy proved, and did the engine count what the source holds?"""
        proved, counted = record.proof["documents"], record.summary["documents"].value
        compared = f"{len(record.proof['collections'])} collections, {proved} documents, counts and hashes equal"
        return [
            Check(record.id, "target equals source", record.proof["agrees"], compared),
            Check(record.id, "documents counted by the engine", counted == proved, f"{counted:.0f} of {proved}"),
        ]
