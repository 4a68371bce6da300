"""The simulation of verdicts: its networks and its truth by hand, and a small run through the claims engine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import verdicts_simulation as simulation
from benchmarks.verdicts_simulation import Site, Work
from rich.console import Console


def test_a_closed_network_by_hand() -> None:
    # Two cores, no other station: a client each until they are full.
    assert [Work(2.0).rate(n, 2) for n in (1, 2, 5)] == pytest.approx([0.5, 1.0, 1.0])
    # One core of 1 ms and a lock of 1 ms, 2 clients: exact MVA gives N / (N + 1) = 2 / 3.
    assert Work(1.0, lock=1.0).rate(2, 1) == pytest.approx(2 / 3)
    assert Work(1.0, lock=1.0).busy(2, 1) == pytest.approx(2 / 3)
    # Half of the CPU saved by batches of 4: 1 - 0.5 x 3 / 4.
    assert Work(1.0, saved=0.5).cpu_of(4, 8) == pytest.approx(0.625)
    # A delay of 300 ms before 128 cores: every client is served at once, and no power of e overflows.
    assert Work(1.0, delay=300).rate(400, 128) == pytest.approx(400 / 301, rel=1e-3)


def test_what_a_report_says_is_true_of_it_and_false_of_a_machine_without_the_cores() -> None:
    works, site = {name: Work(1.0, delay=50.0) for name in "abc"}, Site(2, simulation.PUBLISHED.clients)
    report = simulation.printed({name: simulation.frame(work, simulation.PUBLISHED) for name, work in works.items()})
    claims = simulation.claims_of(report)
    assert all(simulation.hold(claims, works, simulation.PUBLISHED, report))
    here = dict(zip([claim.id for claim in claims], simulation.hold(claims, works, site, report), strict=True))
    assert here["c0"] is False, "two cores are full at 50 clients"


@pytest.mark.parametrize("name", simulation.NOISES)
def test_noise_is_none_in_the_mean_of_a_contrast(name: str) -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([simulation.NOISES[name](rng, (4, *simulation.SIDE)) for _ in range(300)])
    along = (drawn[:, :, 0, 4] - drawn[:, :, 1, 0]).mean(axis=1)
    assert abs(along.mean()) < 4 * along.std(ddof=1) / math.sqrt(len(along))


def test_a_small_run_judges_reports_by_the_engine_itself() -> None:
    found = simulation.verdicts(1, 3, [place for place in simulation.sites() if place[0].cores in (8, 128)])
    assert set(found["limit"]) == {"cores", "locks and disks"}
    assert not found["wrong here"].any()
    # Whoever is on as many cores, which had room, says something of every claim.
    assert not (found[(found["cores"] == 128)]["speaks"] == "nothing").all()
    with Console(quiet=True) as console:
        simulation.show(console, "classes", simulation.by_class(found))
        simulation.show(console, "says", simulation.says(found))


def test_an_answer_on_a_bound_is_wrong_on_one_side() -> None:
    """Claims are true and false by a hair in turn: what lies clearly above its bound wrongs every other one."""
    above = np.arange(15.0).reshape(1, 3, 5) + 1e-3 * np.random.default_rng(0).normal(size=(4, 3, 5))
    claims = simulation.on_their_bounds(above)
    assert [claims[i][0].mean > 0 for i in (0, 1)] == [True, True]
    assert not simulation.wrong(claims[:1])
    assert simulation.wrong(claims[:2])


def test_ledgers_on_their_bounds_are_seldom_wrong() -> None:
    (line,) = simulation.errors({"8%": simulation.NOISES["8%"]}, [4], 20, seed=1).itertuples()
    assert line.wrong <= 0.15
    assert line.covered > 0.85
