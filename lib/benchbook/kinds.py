"""Which code restages a report, by kind of experiment: its parameters, its cells, its conditions, its experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from benchbook import checks, measured, paths, published
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


# By the name that `restaged_by` of a report.yaml uses.
KINDS = {
    "dm": _kind(dm_report, dm_report.DmParameters),
    "saga": _kind(saga_report, saga_report.SagaParameters),
    "sysbench": _kind(sysbench_report, sysbench_report.SysbenchParameters),
    "transfer": _kind(transfer_report, transfer_report.TransferParameters),
}


def kind_of(report: str) -> Kind:
    """Raises BadInput for an unknown report, and for one that nothing restages."""
    name = published.facts(report).restaged_by
    if name in KINDS:
        return KINDS[name]
    raise BadInput(
        "nothing restages this report" if name is None else "no such kind of experiment",
        file=paths.published_dir(report) / "report.yaml", key="restaged_by", value=name,
        fix=f"write one of {', '.join(KINDS)}",
    )  # fmt: skip
