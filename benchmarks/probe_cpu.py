"""What the probes take from the machine that they watch."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from benchbook.reports.load.load_kind import LoadParameters
from benchmarks import lab


def measure(console: Console) -> dict[str, Any]:
    """CPU that each probe uses, in shares of one core, over a 30-s trial under load"""
    parameters = LoadParameters(
        inventory="lab_tidb",
        systems=["mariadb", "tidb"],
        workloads=["oltp_insert"],
        threads=[16],
        time_s=30,
        repetitions=1,
    )
    cores: dict[str, float] = {}
    _, trials = lab.plan(parameters)
    with lab.started(parameters) as experiment, experiment.running():
        for trial in trials:
            experiment.begin([trial], lambda step: None)
            proof = experiment.measure(trial, lambda into, rate: None).proof
            cores.update({f"{trial.cell.system}: {name}": value for name, value in proof["probe_cores"].items()})
    return {"cores": {name: round(value, 5) for name, value in cores.items()}, "highest": max(cores.values())}
