"""What the page says of the repetitions of a campaign, from its records."""

from __future__ import annotations

import numpy as np
from kit import REPORT
from records import record, with_values

from benchbook import published
from benchbook.analysis import checks
from benchbook.campaign.record import Quantity, Record

PUBLISHED = published.load(REPORT)


def campaign(rates: np.ndarray) -> list[Record]:
    """A record per number of threads (rows) and repetition (columns), with these transactions/s."""
    return [
        record(
            f"r{j + 1}-{i}",
            table="oltp_insert",
            levels={"workload": "oltp_insert", "threads": i + 1},
            repetition=j + 1,
            summary=with_values(tps=rate),
        )
        for i, row in enumerate(rates)
        for j, rate in enumerate(row)
    ]


def noisy(cells: int, repetitions: int, seed: int = 1) -> np.ndarray:
    return 1000 * np.exp(0.01 * np.random.default_rng(seed).standard_normal((cells, repetitions)))


def test_a_drift_that_one_cell_hardly_shows_is_told_of_all_together() -> None:
    """Exactly -2% a repetition, and ripples that are the same forwards and backwards."""
    rates = np.outer([100.0, 1000.0, 50.0], 0.98 ** np.arange(5) * np.array([1.001, 1, 0.999, 1, 1.001]))
    drift, farthest = checks.repetitions_in_words(PUBLISHED, campaign(rates))
    assert drift.startswith("Rates fall by 2.0% from one repetition to the next (95% interval 1.")
    assert drift.endswith("over 3 cells): intervals and verdicts do not cover that.")
    assert "1 of oltp_insert tidb" in farthest


def test_cells_that_were_measured_once_or_twice_hide_no_drift() -> None:
    """As of a profile with `repetitions_unjudged`: 20 cells beside 3 that fall by 2% a repetition."""
    rates = np.outer([100.0] * 23, 0.98 ** np.arange(5) * np.array([1.001, 1, 0.999, 1, 1.001]))
    records = [one for one in campaign(rates) if one.levels["threads"] <= 3 or one.repetition <= 2]
    drift, _ = checks.repetitions_in_words(PUBLISHED, records)
    assert drift.startswith("Rates fall by 2.0% from one repetition to the next")
    assert "over 3 cells" in drift
    once = [one for one in campaign(noisy(3, 3)) if one.levels["threads"] == one.repetition]
    assert len(checks.repetitions_in_words(PUBLISHED, once)) == 1


def test_repetitions_that_differ_as_a_whole_are_no_drift() -> None:
    """Up and down by 10%, every cell alike: the five repetitions are the units, not the fifty trials."""
    rates = noisy(10, 5) * np.exp([0.1, -0.1, 0.05, -0.1, 0.0])
    (farthest,) = checks.repetitions_in_words(PUBLISHED, campaign(rates))
    assert farthest.startswith("In 10 cells, no repetition is farther from its cell's median than ")


def test_the_repetition_that_stands_apart_is_named_with_its_cell() -> None:
    rates = np.full((12, 5), 1000.0)
    rates[3, 2] = 500.0
    (said,) = checks.repetitions_in_words(PUBLISHED, campaign(rates))
    assert said.endswith("-50.0%: repetition 3 of oltp_insert tidb (workload oltp_insert, threads 4).")


def test_two_repetitions_can_tell_none_of_it_and_the_page_says_so() -> None:
    (said,) = checks.repetitions_in_words(PUBLISHED, campaign(noisy(12, 2)))
    assert said.startswith("Fewer than three repetitions")
    assert checks.repetitions_in_words(PUBLISHED, []) == []


def test_a_time_counts_as_a_rate_and_tpmc_is_one() -> None:
    """12 s against a median of 10 s: a sixth slower. tpmC is all that the TPC-C report has."""
    times = [record(f"r{i}", table="own", repetition=i, summary={"load_s": Quantity(value=v, unit="s")})
             for i, v in enumerate((10, 10, 10, 12), 1)]  # fmt: skip
    assert (
        "In 1 cell, no repetition is farther from its cell's median than -16.7%: repetition 4 of own "
        in checks.repetitions_in_words(PUBLISHED, times)[0]
    )
    done = record("r1", table="tpcc", summary={"tpmc": Quantity(value=7.0, unit="1/min")})
    assert checks.speed(published.load("tidb_v7_1_3_tpcc"), done) == 7.0
