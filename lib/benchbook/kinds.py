"""Which code restages which report: for each, its parameters, its cells, its conditions and its experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from benchbook import checks, measured
from benchbook.design import Cell
from benchbook.errors import BadInput
from benchbook.experiments import dm_report, saga_report, sysbench_report, transfer_report
from benchbook.parameters import Parameters
from benchbook.profiles import Profile
from benchbook.record import Record
from benchbook.results import Table


class Kind(NamedTuple):
    """Functions of (published, parameters, profile, inventory), as each experiment module has them.

    `tables(published, records, trials)` puts records beside the published tables, and `record_checks(record)` asks what
    every record must answer for; a module without them takes the ones of sysbench's reports.
    `repetitions(profile)` is how many a report takes when its parameters do not say. `compared(records)` leaves out
    records that `tables` would leave out for what the others are, so that each repetition can be tabled by itself.
    """

    Parameters: type[Parameters]
    cells: Callable[..., list[Cell]]
    asked: Callable[..., dict[str, Any]]
    experiment: Callable[..., Any]
    builds: Callable[..., list[str]]
    tables: Callable[..., list[Table]]
    record_checks: Callable[[Record], list[checks.Check]]
    repetitions: Callable[[Profile], int]
    compared: Callable[[Sequence[Record]], Sequence[Record]]


def _kind(module: ModuleType, parameters: type[Parameters]) -> Kind:
    tables = getattr(module, "tables", measured.beside)
    record_checks = getattr(module, "record_checks", checks.of_sysbench)
    repetitions = getattr(module, "repetitions", lambda profile: profile.repetitions)
    compared = getattr(module, "compared", list)
    return Kind(
        parameters, module.cells, module.asked, module.experiment, module.builds, tables, record_checks, repetitions,
        compared,
    )  # fmt: skip


KINDS = {
    "ddt_full_scale": _kind(transfer_report, transfer_report.TransferParameters),
    "dm_1_0_alpha": _kind(dm_report, dm_report.DmParameters),
    "dm_1_0_ga": _kind(dm_report, dm_report.DmParameters),
    "dtm_mysql": _kind(saga_report, saga_report.SagaParameters),
    "tidb_v7_1_3_sysbench": _kind(sysbench_report, sysbench_report.SysbenchParameters),
}


def kind_of(report: str) -> Kind:
    """Raises BadInput for a report that nothing restages yet."""
    if report not in KINDS:
        raise BadInput("no notebook restages this report", key="report", value=report, fix=f"one of {', '.join(KINDS)}")
    return KINDS[report]
