"""What is repeated and what counts does not depend on what the system under test did."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import gate
from records import record

from benchbook.analysis.summary import first_tries_in_words
from benchbook.campaign.record import Quantity, Record


@pytest.mark.parametrize("others", ["8%", "0 to 12%"])
def test_a_slow_regime_counts_as_often_as_it_is_there(others: str) -> None:
    """It was 55% of what counted where it was 30% of the loads: it left idle what others then used.

    Of 120 trials a share of 30% has a standard error of 4.2 points; 55% is six of them away.
    """
    found = gate.counted(0.3, gate.OTHERS[others], 120, np.random.default_rng(7))
    assert abs(found["counts"] - 0.3) < 0.12


def test_what_counts_is_compared_with_first_tries_from_which_others_took_cpu() -> None:
    """Of 100 and 100 in the first tries 110 and 121 count: 1.1 x 1.21 have the geometric mean 1.154."""

    def tried(name: str, rate: float, **proof: object) -> Record:
        summary = {"tps": Quantity(value=rate, unit="1/s")}
        disturbed = ["others took CPU"] if "." in name else []
        return record(
            name, status="disturbed" if disturbed else "done", disturbed=disturbed, summary=summary, proof=proof
        )

    kept = [tried("a.1", 100, stolen=0.1), tried("b.1", 100, others=0.2), tried("c.1", 5, stopped=[{}], stolen=0.1)]
    counted = [tried("a", 110), tried("b", 121), tried("c", 100), tried("d", 100)]
    said = first_tries_in_words(counted, kept)
    assert said.startswith("Of 2 trials that were run again because others took CPU or disk, what counts is 1.15x ")
    assert first_tries_in_words(counted, []) == ""
