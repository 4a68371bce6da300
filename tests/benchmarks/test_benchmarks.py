"""What the benchmarks compute from what they measured, and how they are asked for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import __main__ as command
from benchmarks import fewer_cores, transfer, verdicts_simulation
from benchmarks.bare_command import ratios
from kit import Home
from rich.console import Console

from benchbook.campaign.record import Quantity
from benchbook.claims.contrasts import Contrast


def test_a_ratio_is_the_geometric_mean_of_the_pairs_with_students_interval() -> None:
    found = ratios([_pair(2.0, 1.0), _pair(24.0, 3.0)])["tps"]
    # ln 2 and ln 8: mean ln 4, standard error ln 2, and t(0.975, 1 degree of freedom) = 12.706.
    assert found["ratio"] == pytest.approx(4.0)
    assert found["high"] == pytest.approx(4.0 * math.exp(12.706 * math.log(2.0)), rel=1e-3)
    assert found["low"] == pytest.approx(4.0 / math.exp(12.706 * math.log(2.0)), rel=1e-3)
    assert found["pairs"] == 2


def _pair(kit: float, ssh: float) -> dict[str, dict[str, float]]:
    return {"kit": {"tps": kit, "p95_ms": 1.0}, "ssh": {"tps": ssh, "p95_ms": 1.0}}


def test_ratios_of_a_transfer_by_hand() -> None:
    def summary(rate: float, cpu: float) -> transfer.Summary:
        servers = {"source_cores": 1.2, "target_cores": 0.4, "total_time_s": 10, "documents": 100_000}
        figures = {"wall_qps": rate, "cpu_s_per_million": cpu, **servers}
        return {name: Quantity(value=value, unit="1") for name, value in figures.items()}

    pairs = [(summary(200, 10), summary(100, 20)), (summary(800, 20), summary(100, 40))]
    found = transfer.compared(pairs, machine=2)
    assert found["rate_ratio"]["ratio"] == pytest.approx(4)  # the geometric mean of 2 and 8
    assert found["cpu_ratio"] == pytest.approx({"ratio": 0.5, "low": 0.5, "high": 0.5, "pairs": 2})
    assert found["cpu_s_per_million"]["mongodump"]["value"] == 30
    # 16 s of CPU for 100,000 documents: on 2 cores 12,500 documents/s at most, where they had 100/s.
    assert found["servers_cpu_s_per_million"]["pymongo"]["value"] == pytest.approx(160)
    assert found["rate_ratio_bound"]["ratio"] == pytest.approx(125)


def test_benchmarks_are_listed_and_only_those_that_were_asked_for_are_run(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[str] = []

    def measure(console: Console) -> dict[str, float]:
        """the time of nothing"""
        ran.append("one")
        return {"seconds": 0.5}

    monkeypatch.setattr(command, "BENCHMARKS", {"one": measure, "two": measure})
    printed = tmp_path / "printed"
    with printed.open("w") as file:
        console = Console(file=file, width=120)
        assert command.main([], console) == 0
        assert command.main(["one", "three"], console) == 2
        assert ran == [], "names are looked at before anything is measured"
        assert command.main(["one"], console) == 0
    assert ran == ["one"]
    assert "unknown benchmark 'three'. Fix: choose among one, two" in printed.read_text()
    assert (home.path / "data" / "runs" / "bench.json").exists()


def test_what_two_cores_show_to_be_true_is_said_of_claims_beside_what_is_printed() -> None:
    tables = {
        name: pd.DataFrame({"threads": [1, 2, 4], "tps": [by, 1.6 * by, 1.6 * by], "ms": [1.0, 1.25, 2.5]})
        for name, by in zip(fewer_cores.TABLES, (1000.0, 100.0), strict=True)
    }
    claims = fewer_cores.claims_of(verdicts_simulation.printed(tables))
    # A rise by 1.6 is at least 1.6 / 1.05 and 1.6 / 1.3; from 2 to 4 threads the rate is level, within 20%.
    bounds = {round(c.at_least, 2) for c in claims if c.hypothesis == "increases" and c.metric == "tps"}
    assert bounds == {1.52, 1.23}
    assert [c.levels for c in claims if c.hypothesis == "flat"] == [[2, 4]] * 2
    # ln 2 +- 0.04: above ln 1.8 = 0.59, below ln 2.5 = 0.92, and on neither side of ln 2.
    effects = np.log(2) + 0.04 * np.array([-1.0, -0.5, 0.5, 1.0])
    known = [fewer_cores._known([Contrast("", effects, low=np.log(by))]) for by in (1.8, 2.5, 2.0)]
    assert known == [True, False, None]
