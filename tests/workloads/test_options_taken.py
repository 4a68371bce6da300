"""What a report would have a load generator do is asked of the real program before anything is prepared."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from fabric import Result
from kit import Home

from benchbook.build import programs
from benchbook.campaign.design import Cell, Trial
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import SysbenchSize, load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.workloads.base import LoadGenerator
from benchbook.workloads.etcd_benchmark import EtcdBenchmark
from benchbook.workloads.go_tpc import GoTpc
from benchbook.workloads.pgbench import Pgbench
from benchbook.workloads.sysbench import Sysbench

pytestmark = [pytest.mark.real, pytest.mark.slow]


@dataclass(frozen=True)
class Here:
    """This machine as a client host: programs are run as they are."""

    name: str = "executor"

    def run(self, argv: Sequence[object], *, timeout: float = 60.0, check: bool = True) -> Result:
        done = subprocess.run([*map(str, argv)], capture_output=True, text=True, timeout=timeout, check=check)
        return Result(connection=None, stdout=done.stdout, stderr=done.stderr, exited=done.returncode)

    def push(self, file: Path, *, executable: bool = False) -> str:
        return str(file)


def program(load: type[LoadGenerator[Any]]) -> str:
    if load.builds:
        return str(programs.artefact(load.builds[0]) / load.program)
    (*_, newest) = [load.program, *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{load.program}")))]
    return newest


def checked(load: type[LoadGenerator[Any]], workload: str, options: list[str]) -> None:
    here = cast(Any, Here())
    generator = load(cast(Any, None), options, 1)
    generator.programs[here.name] = program(load)
    generator.check_options(here, workload)


@pytest.mark.parametrize(
    ("load", "workload", "options"),
    [
        (Sysbench, "oltp_read_only", []),
        (
            Sysbench,
            "oltp_read_write",
            ["--db-ps-mode=disable", "--skip-trx", "--rand-type=uniform", "--mysql-ignore-errors=1213,1020"],
        ),
        (
            Sysbench,
            "oltp_read_write",
            ["--rand-pareto-h=0.20", "--range_size=0x10", "--mysql-ignore-errors=all", "--index-updates=1e1"],
        ),
        (Sysbench, "bulk_insert", ["--percentile=99"]),
        (Pgbench, "select_only", ["--protocol=extended", "--jobs=2"]),
        (GoTpc, "tpcc", ["--ignore-error", "--wait"]),
        (EtcdBenchmark, "put", ["--key-size=8", "--val-size=256"]),
    ],
)
def test_options_that_a_program_has_are_taken(
    load: type[LoadGenerator[Any]], workload: str, options: list[str]
) -> None:
    checked(load, workload, options)


@pytest.mark.parametrize(
    ("load", "workload", "options", "said"),
    [
        # An option of later versions than 1.0.20; it is among those that a report may name.
        (Sysbench, "oltp_read_only", ["--warmup-time=3"], r"invalid option: --warmup-time=3"),
        (Sysbench, "oltp_read_only", ["--rand-type=even"], r"Invalid random numbers distribution: even"),
        (Sysbench, "/no/such.lua", [], r"cannot open /no/such.lua"),
        # Values that `help` does not look at.
        (Sysbench, "bulk_insert", ["--db-ps-mode=foo"], r"Invalid value for db-ps-mode: foo"),
        (Pgbench, "select_only", ["--protocol=fast"], r'invalid query mode \(-M\): "fast"'),
        (Pgbench, "select_only", ["--connect=3"], r"option '--connect' doesn't allow an argument"),
        (GoTpc, "tpcc", ["--weight=many"], r'invalid argument "many" for "--weight" flag'),
        (EtcdBenchmark, "put", ["--val-size=big"], r'invalid argument "big" for "--val-size" flag'),
    ],
)
def test_options_that_it_does_not_take_are_refused_in_its_words(
    load: type[LoadGenerator[Any]], workload: str, options: list[str], said: str
) -> None:
    with pytest.raises(BadInput, match=rf"design, options of {workload}: .* on executor refuses this: .*{said}"):
        checked(load, workload, options)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--range_size=2K", r"reads --range_size=2K as 2"),
        ("--rand-pareto-h=high", r"reads --rand-pareto-h=high as 0"),
        ("--mysql-ignore-errors=1213,deadlock", r"has no server error 'deadlock' to ignore"),
    ],
)
def test_values_that_sysbench_would_take_for_others_are_refused(option: str, said: str) -> None:
    with pytest.raises(BadInput, match=rf"design, options of oltp_read_write: .* on executor {said}"):
        checked(Sysbench, "oltp_read_write", ["--skip-trx", option])


def test_a_report_s_options_are_refused_before_a_table_is_filled(lab: Inventory, lab_home: Home) -> None:
    size = SysbenchSize(tables=1, table_size=10, time_s=1, prepare_threads=1)
    cell = Cell(table="reads", system="mariadb", levels={"workload": "oltp_read_only", "threads": 1})
    trial = Trial(id="one", identity="x", cell=cell, repetition=1, order=0)
    load = Sysbench(size, ["--warmup-time=3"], 1)
    trials = LoadTrials(lab, load_profile("tiny"), ["mariadb"], load, time_s=1, rate=0)
    with trials.running():
        with pytest.raises(BadInput, match=r"invalid option: --warmup-time=3"):
            trials.begin([trial], lambda said: None)
        assert not [*lab_home.path.glob(".lab/**/jobs/prepare-*")]
        assert not [*lab_home.path.glob(".lab/**/jobs/mariadb-*")]
