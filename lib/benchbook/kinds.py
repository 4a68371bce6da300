"""Which code restages which report: for each, its parameters, its cells, its conditions and its experiment."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from benchbook.design import Cell
from benchbook.errors import BadInput
from benchbook.experiments import sysbench_report
from benchbook.parameters import Parameters


class Kind(NamedTuple):
    """Functions of (published, parameters, profile, inventory), as each experiment module has them."""

    Parameters: type[Parameters]
    cells: Callable[..., list[Cell]]
    asked: Callable[..., dict[str, Any]]
    experiment: Callable[..., Any]
    builds: Callable[..., list[str]]


def _kind(module: ModuleType, parameters: type[Parameters]) -> Kind:
    return Kind(parameters, module.cells, module.asked, module.experiment, module.builds)


KINDS = {"tidb_v7_1_3_sysbench": _kind(sysbench_report, sysbench_report.SysbenchParameters)}


def kind_of(report: str) -> Kind:
    """Raises BadInput for a report that nothing restages yet."""
    if report not in KINDS:
        raise BadInput("no notebook restages this report", key="report", value=report, fix=f"one of {', '.join(KINDS)}")
    return KINDS[report]
