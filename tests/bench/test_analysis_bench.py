"""The made-up campaign that the analysis is measured on is one that the analysis accepts."""

from __future__ import annotations

import pytest
from kit import Home

from benchbook.analysis import checks, cpu_use
from benchbook.bench import analysis_bench, phases


@pytest.mark.slow
def test_a_made_up_campaign_is_whole_and_all_of_it_is_analysed(home: Home) -> None:
    made = analysis_bench.make(repetitions=2)
    assert len(made.records()) == len(made.trials) == 15 * 2 * 2
    series = made.series(made.trials[0].id)
    assert series.groupby(["host", "source", "metric"]).ngroups == 3 * 25 + 6 + 2
    with cpu_use.of_campaign(made) as use:
        assert checks.all_checks(made.records(), use, made.environment(), checks.of_sysbench).ok.all()
    found = analysis_bench.analyse()
    assert (found["trials"], (made.folder / "results.json").exists()) == (60, True)
    assert any("every_trial" in cell for cell in found["cells"])
    # Each is entered by some cell; of none is it known how long it takes.
    assert set(found["phases"]) == {
        *(name for name, *_ in analysis_bench.PHASES),
        analysis_bench.IMPORTING,
        phases.REST,
    }
