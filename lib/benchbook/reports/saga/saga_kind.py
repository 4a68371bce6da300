"""The DTM report as data: its parameters, its cells, the experiment that runs them, and what its records answer for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import pandas as pd
from pydantic import Field, StrictBool

from benchbook import paths, systems
from benchbook.analysis.checks import Check
from benchbook.campaign.design import Cell
from benchbook.campaign.record import Record
from benchbook.parameters import OnSystems, Words
from benchbook.profiles import load_profile
from benchbook.published.tables import Published
from benchbook.reports import design_values
from benchbook.reports.driving import check_probes
from benchbook.reports.kind import Kind, RunRequest, common
from benchbook.reports.saga.ladder import KILLED, ROLES, SYSBENCH, SagaLadder
from benchbook.reports.saga.rungs import CEILING, FAILING, LADDER, Rung, figures_at_knee
from benchbook.stats.latency import little
from benchbook.systems import mysql
from benchbook.systems.dtm import Dtm
from benchbook.user_input.bounds import SecondsOrNone, Threads
from benchbook.workloads import option_allowlist
from benchbook.workloads.sysbench import Sysbench


class SagaParameters(OnSystems):
    """`rungs` (MODE:SQL) and `concurrency` replace the ladder and the profile's sweep; `fail` is a share of TransIn."""

    system: Words = "mysql57"
    rungs: list[Words] = Field(default=[])
    concurrency: list[Threads] = Field(default=[])
    fail: Annotated[float, Field(ge=0, le=1)] = 0.2
    kill_dtm: StrictBool = False
    sysbench: StrictBool = True
    time_s: SecondsOrNone = 0


def rungs(published: Published, parameters: SagaParameters) -> list[Rung]:
    """The ladder: the service's ceiling, then the published rungs in their order; or those that `rungs` names."""
    if parameters.rungs:
        return list(dict.fromkeys(map(Rung.parse, parameters.rungs)))
    table = published.table(LADDER)
    modes, sql = (
        design_values.column(published, table, "mode"),
        design_values.numbers(published, table, "sql_per_branch", least=0),
    )
    return [CEILING, *(Rung(str(mode), number) for mode, number in zip(modes, sql, strict=True))]


def _sysbench(published: Published, store: str) -> list[Cell]:
    threads = design_values.of_table(published, published.table(SYSBENCH), "threads")
    return [Cell(table=SYSBENCH, system=store, levels={"workload": "oltp_write_only", "threads": threads})]


def _cell(table: str, store: str, rung: Rung, concurrency: int, **more: int) -> Cell:
    levels = {"mode": rung.mode, "sql_per_branch": rung.sql_per_branch, "concurrency": concurrency, **more}
    return Cell(table=table, system=store, levels={**levels, **({"fail": rung.fail} if rung.fail else {})})


# Of the clients' time, what may pass outside a global transaction: connecting, and ab itself (one process).
OUTSIDE = 0.25


def _inside(record: Record) -> Check:
    """Little's law over the service: throughput x mean latency there, against the clients that ab holds.

    The ceiling is that of client and service together, and a killed server keeps nobody inside: there it is only shown.
    """
    s, clients = record.summary, float(record.levels["concurrency"])
    names = ("", "rolled_back_")
    counts = (1 - s["rolled_back_share"].value, s["rolled_back_share"].value)
    means = [s[f"{n}latency_mean_ms"].value if f"{n}latency_mean_ms" in s else 0.0 for n in names]
    mean = sum(m * c for m, c in zip(means, counts, strict=True))
    law = little(clients, s["global_tps"].value, mean, tolerance=OUTSIDE)
    limited = Rung.of(record.levels) == CEILING or "killed" in record.proof
    ok = limited or law.ratio >= 1 - OUTSIDE
    found = f"{law.in_flight:.1f} of {clients:g} clients inside a transaction, the others connecting or in ab"
    return Check(record.id, "clients inside a transaction", ok, found)


class SagaKind(Kind[SagaParameters]):
    """The DTM report: sysbench alone, the ladder of rungs, and what happens when things fail."""

    Parameters = SagaParameters

    def cells(self, published: Published, parameters: SagaParameters) -> list[Cell]:
        """sysbench alone, every rung at every concurrency, and the scenarios at the lowest concurrency."""
        return [cell for store in parameters.names() for cell in self._on(store, published, parameters)]

    def _on(self, store: str, published: Published, parameters: SagaParameters) -> list[Cell]:
        sweep = parameters.concurrency or load_profile(parameters.profile).saga.concurrency
        ladder = [_cell(LADDER, store, rung, c) for rung in rungs(published, parameters) for c in sweep]
        failing = [Rung(mode, 2, parameters.fail) for mode in ("dtm", "dtm_barrier")]
        scenarios = [_cell(FAILING, store, rung, min(sweep)) for rung in failing]
        # A trial is known by its levels: the one with the kill must not be taken for the rung that it kills on.
        killed = [_cell(KILLED, store, Rung("dtm_barrier", 2), min(sweep), kill=1)]
        return [
            *(_sysbench(published, store) if parameters.sysbench else []),
            *ladder,
            *(scenarios if parameters.fail else []),
            *(killed if parameters.kill_dtm else []),
        ]

    def asked(self, request: RunRequest) -> dict[str, object]:
        parameters: SagaParameters = request.parameters
        published, profile = request.published, request.profile
        size, alone = profile.saga, published.table(SYSBENCH)
        return {
            **common(request),
            "tables": design_values.of_table(published, alone, "tables"),
            "table_size": size.table_size,
            "time_s": parameters.time_s or size.time_s,
            "threads": design_values.of_table(published, alone, "threads"),
            "branches": 2,
            "report_interval_s": 1,
            "accounts": size.accounts,
            "reset": profile.reset,
            "buffer_pool_mb": profile.buffer_pool_mb,
        }

    def experiment(self, request: RunRequest) -> SagaLadder:
        """Raise BadInput for a role that nobody has, or that two hosts have where one is meant."""
        parameters: SagaParameters = request.parameters
        published, profile, inventory = request.published, request.profile, request.inventory
        for role in ROLES:
            inventory.require_one(role)
            inventory.check_sshd_apart(role)
        check_probes(profile, mysql.check(parameters.names(), inventory))
        size = profile.sysbench.model_copy(
            update={
                "tables": design_values.of_table(published, published.table(SYSBENCH), "tables"),
                "table_size": profile.saga.table_size,
            }
        )
        self.check_load(published, parameters.allow)
        return SagaLadder(
            inventory=inventory,
            profile=profile,
            generator=Sysbench(size, design_values.design(published)[0].options, parameters.seed),
            time_s=parameters.time_s or profile.saga.time_s,
            accounts=profile.saga.accounts,
            stores=parameters.names(),
        )

    def check_load(self, published: Published, allow: Sequence[str]) -> None:
        """Raise BadInput for an option of sysbench alone, which is the first design, that it does not know."""
        alone = design_values.design(published)[0]
        file = paths.published_dir(published.report.name) / "report.yaml"
        option_allowlist.check_options(Sysbench, alone, alone.options, allow, file)

    def builds(self, request: RunRequest) -> list[str]:
        """DTM and the business service come from one module; their databases may be fetched."""
        return [*systems.builds(request.parameters.names(), request.inventory), *Dtm.builds]

    def figures(self, published: Published, figures: pd.DataFrame) -> pd.DataFrame:
        """Return the figures of the published tables, each rung at its knee."""
        return super().figures(published, figures_at_knee(figures))

    def record_checks(self, record: Record) -> list[Check]:
        """sysbench's own records answer as in its own reports; the others for clients, ends and books."""
        if record.table == SYSBENCH:
            return Sysbench.record_checks(record)
        about = record.proof["invariants"] if Rung.of(record.levels).keeps_books else {}
        return [_inside(record), *(Check(record.id, name, a["holds"], a["found"]) for name, a in about.items())]
