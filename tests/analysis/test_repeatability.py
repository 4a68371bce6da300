"""What the page says of the repetitions of a campaign, from its records."""

from __future__ import annotations

import numpy as np
from kit import REPORT
from records import record, with_values

from benchbook import published
from benchbook.analysis import repeatability
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


def test_a_campaign_without_any_says_so_and_how_often_it_would_not() -> None:
    (said,) = repeatability.in_words(PUBLISHED, campaign(noisy(12, 5)))
    assert said.startswith("The repetitions of 12 cells show no drift")
    assert "at most 5%" in said


def test_a_drift_is_said_with_what_it_means_for_the_intervals() -> None:
    (said,) = repeatability.in_words(PUBLISHED, campaign(noisy(12, 7) * 0.98 ** np.arange(7)))
    assert said.startswith(
        ("Rates fall by 2.0% from one", "Rates fall by 1.9% from one", "Rates fall by 2.1% from one")
    )
    assert said.endswith("over 12 cells): intervals and verdicts do not cover that.")


def test_with_three_repetitions_a_drift_may_be_chance_and_the_page_says_so() -> None:
    (said,) = repeatability.in_words(PUBLISHED, campaign(noisy(12, 3) * 0.95 ** np.arange(3)))
    assert said.endswith(repeatability.NO_TELLING)


def test_a_repetition_that_stands_apart_is_named_with_its_cell() -> None:
    rates = noisy(12, 5)
    rates[3, 2] *= 0.5
    (said,) = repeatability.in_words(PUBLISHED, campaign(rates))
    assert said.startswith("oltp_insert tidb (workload oltp_insert, threads 4): repetition 3 stands apart, -5")


def test_two_levels_are_named_with_their_distance() -> None:
    rates = noisy(12, 7)
    rates[3, [0, 2, 5]] *= 1.5
    (said,) = repeatability.in_words(PUBLISHED, campaign(rates))
    assert "threads 4): the repetitions lie at two levels, " in said


def test_two_repetitions_can_tell_none_of_it_and_the_page_says_so() -> None:
    (said,) = repeatability.in_words(PUBLISHED, campaign(noisy(12, 2)))
    assert said.startswith("Fewer than three repetitions")
    assert repeatability.in_words(PUBLISHED, []) == []


def test_a_last_digit_that_differs_is_no_outlier() -> None:
    rates = np.full((3, 3), 100.0)
    rates[0, 2] = 99.98
    (said,) = repeatability.in_words(PUBLISHED, campaign(rates))
    assert said.startswith("The repetitions of 3 cells show no drift that all share, no outlier")


def test_a_whole_second_more_is_no_outlier_and_no_second_level_and_two_are() -> None:
    """12, 12, 12, 13 s may be 12.4 and 12.6 s: one step of the last digit is as near as the record can tell."""

    def said_of(*seconds: float) -> list[str]:
        summary = [{"load_s": Quantity(value=value, unit="s")} for value in seconds]
        rows = [record(f"r{i}", table="own", repetition=i + 1, summary=each) for i, each in enumerate(summary)]
        return repeatability.in_words(PUBLISHED, rows)

    for seconds in ([12, 12, 12, 13], [12, 13, 12, 13, 12, 12, 13]):
        (said,) = said_of(*seconds)
        assert said.startswith("The repetitions of 1 cell show no drift that all share, no outlier")
    (said,) = said_of(12, 12, 12, 14)
    assert said.endswith("repetition 4 stands apart, -14% from the others.")


def test_tpmc_is_a_rate_a_minute_and_its_drift_is_told() -> None:
    """The one metric of the TPC-C report: without it its page said nothing of its repetitions."""
    report = published.load("tidb_v7_1_3_tpcc")
    rates = noisy(12, 7) * 0.98 ** np.arange(7)
    records = [
        record(
            f"r{j}-{i}",
            table="tpcc",
            levels={"threads": i + 1},
            repetition=j + 1,
            summary={"tpmc": Quantity(value=rate, unit="1/min")},
        )
        for i, row in enumerate(rates)
        for j, rate in enumerate(row)
    ]
    (said,) = repeatability.in_words(report, records)
    assert said.startswith("Rates fall by ")
