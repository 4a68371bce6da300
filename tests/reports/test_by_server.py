"""Reports whose rows name the system that they are about: each is put beside its own rows, and beside no other's."""

from __future__ import annotations

import pytest
import tabled
from records import record, with_values

from benchbook.campaign.design import plan
from benchbook.claims import judge, ledger
from benchbook.claims.judge import JudgedSystem
from benchbook.published import load
from benchbook.reports.load.load_kind import ByServerKind, ByServerParameters

KIND = ByServerKind()
REPORT = load("pgcat_pgbench")
RATES = {"postgresql": (150, 150, 151, 150), "pgbouncer": (100, 110, 90, 80)}
CLIENTS = (16, 32, 64, 128)


def parameters(*systems: str) -> ByServerParameters:
    return ByServerParameters(profile="smoke", inventory="lab_postgresql", systems=list(systems))


def records() -> list:
    """Three repetitions, 1% apart."""
    return [
        record(
            f"r{repetition}-{system}-{threads}", table="select_only", system=system, repetition=repetition,
            levels={"workload": "select_only", "server": system, "threads": threads},
            summary=with_values(tps=1000 * rate * (1 + repetition / 100), latency_mean_ms=threads / rate),
        )
        for repetition in (1, 2, 3)
        for system, rates in RATES.items()
        for threads, rate in zip(CLIENTS, rates, strict=True)
    ]  # fmt: skip


def test_a_cell_has_the_levels_of_its_own_rows() -> None:
    cells = KIND.cells(REPORT, parameters("postgresql", "pgbouncer"))
    assert [(cell.system, cell.levels) for cell in cells] == [
        (system, {"workload": "select_only", "threads": threads, "server": system})
        for system in ("postgresql", "pgbouncer")
        for threads in CLIENTS
    ]


def test_rows_may_name_their_workload_too() -> None:
    """Dolt's two tables have four and five tests by one client."""
    asked = ByServerParameters(profile="smoke", inventory="lab_dolt", systems=["mysql8", "dolt"], workloads=["writes"])
    cells = KIND.cells(load("dolt_vs_mysql_sysbench"), asked)
    of_dolt = [cell.levels for cell in cells if cell.system == "dolt"]
    assert of_dolt[0] == {"workload": "oltp_insert", "threads": 1, "server": "dolt"}
    assert (len(cells), len({levels["workload"] for levels in of_dolt})) == (10, 5)


def test_every_published_row_stands_once_beside_what_was_measured_of_its_system() -> None:
    trials = plan(KIND.cells(REPORT, parameters("postgresql", "pgbouncer")), 3, seed=1, asked={})
    found = tabled.beside(KIND, REPORT, records(), trials)
    rows = found.set_index(["system", "server", "threads", "metric"])
    assert len(rows) == len(set(rows.index)) == 12 * 3
    assert {key[:2] for key in rows.index} == {(name, name) for name in ("postgresql", "pgbouncer", "pgcat")}
    assert rows.measured["pgbouncer", "pgbouncer", 128, "tps"] == pytest.approx(80_000 * 1.02)
    assert {*found.dropna(subset="measured").system} == {"postgresql", "pgbouncer"}
    assert rows.published["pgcat", "pgcat", 16, "tps"] == 97872.216045


def test_claims_about_two_systems_are_judged_once_and_those_of_an_absent_one_are_not_run() -> None:
    trials = plan(KIND.cells(REPORT, parameters("postgresql", "pgbouncer")), 3, seed=1, asked={})
    found = tabled.measured(KIND, REPORT, records(), trials)
    held = ledger.load(REPORT)
    assert held
    claims = [claim for name in found.systems for claim in judge.judge(held, REPORT, found, JudgedSystem(name))]
    verdicts = {claim.id: (claim.system, claim.here or claim.verdict) for claim in claims}
    assert len(claims) == len(held.claims) == len(verdicts)
    assert verdicts["pgbouncer-costs"] == ("postgresql", "holds")
    assert verdicts["pgbouncer-falls"] == ("pgbouncer", "holds")
    assert verdicts["pgcat-above-pgbouncer"] == ("pgcat", "not run")
    assert verdicts["pgcat-holds"] == ("pgcat", "not run")
