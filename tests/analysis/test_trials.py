"""A campaign's trials, figures and cells, against numbers worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from records import record, with_values

import benchbook
from benchbook.analysis import samples
from benchbook.analysis.trials import FILE, cells, figures_of, trials_of
from benchbook.campaign import store
from benchbook.campaign.design import Cell, plan
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign

SCALED = {"cores_here": 2, "cores_published": 80, "levels": {"oltp_insert": {"threads": {"50": 1, "100": 2}}}}
ASKED = {"scaled": SCALED}
AT = [Cell(table="oltp_insert", system="tidb", levels={"workload": "oltp_insert", "threads": n}) for n in (1, 2)]
# Transactions/s of three repetitions: mean 2,000, standard deviation 100; t(0.975, 2) = 4.302653.
TPS = {1: (100.0, 100.0, 100.0), 2: (1900.0, 2000.0, 2100.0)}
CPU = [("cpu.user", 1.2), ("cpu.idle", 0.8)]


def series() -> pd.DataFrame:
    rows = [(1000.0 + s, "executor", "host", metric, value, "cores") for s in range(11) for metric, value in CPU]
    return pd.DataFrame(rows, columns=["t", "host", "source", "metric", "value", "unit"])


@pytest.fixture
def campaign(home: object) -> Campaign:
    """Three repetitions of two cells, run at 1 and 2 threads for 50 and 100; one measurement was disturbed."""
    made = store.start_or_continue("r", ASKED, plan(AT, 3, seed=1, asked=ASKED), seed=1)
    for trial in made.trials:
        value = TPS[int(trial.cell.levels["threads"])][trial.repetition - 1]
        made.keep(_record(made, trial.id, value), series(), "")
    first = made.trials[0]
    made.keep(_record(made, first.id, 1.0, status="disturbed", disturbed=["a backup ran"]), series(), "")
    return made


def _record(campaign: Campaign, name: str, tps: float, **changes: object) -> Record:
    trial = next(trial for trial in campaign.trials if trial.id == name)
    asked = {"identity": trial.identity, "repetition": trial.repetition, "order": trial.order, **changes}
    about = {"campaign": campaign.id, "levels": trial.cell.levels, "proof": {"others": 0.1, "stolen": 0.02}}
    return record(name, summary=with_values(tps=tps), **about, **asked)


def test_a_trial_is_a_row_with_both_levels_units_and_the_cpu_of_the_run_itself(campaign: Campaign) -> None:
    found = trials_of(campaign)
    assert list(found.order) == [0, 1, 2, 3, 4, 5]
    assert set(zip(found.threads, found.threads_published, strict=True)) == {(1, 50), (2, 100)}
    assert found.attrs["units"]["tps"] == "1/s"
    assert found.attrs["units"]["p95_ms"] == "ms"
    # 1.2 of 2 cores, of which others used 0.1 x 2.
    assert found.busy_share.tolist() == pytest.approx([0.6] * 6)
    assert found.own_share.tolist() == pytest.approx([0.5] * 6)
    assert set(found.cores) == {2.0}
    assert set(found.stolen_share) == {0.02}


def test_what_was_disturbed_is_shown_to_who_asks_and_never_counted(campaign: Campaign) -> None:
    assert not trials_of(campaign).disturbed.any()
    every = trials_of(campaign, disturbed=True)
    assert every[every.disturbed][["tps", "why"]].values.tolist() == [[1.0, "a backup ran"]]
    assert figures_of(trials_of(campaign), ["tps"]).value.min() == 100.0


def test_a_cell_is_the_mean_of_its_repetitions_at_the_published_level(campaign: Campaign) -> None:
    found = cells(figures_of(trials_of(campaign), ["tps"])).set_index("threads")
    assert found.loc[100, ["measured", "sd", "n", "unit"]].tolist() == [2000.0, 100.0, 3, "1/s"]
    half = 4.302653 * 100 / 3**0.5
    assert found.loc[100, ["low", "high"]].tolist() == pytest.approx([2000 - half, 2000 + half], rel=1e-6)
    assert found.loc[50, ["measured", "low", "high"]].tolist() == [100.0, 100.0, 100.0]


def test_the_kept_frame_is_the_one_that_was_made_until_a_record_changes(campaign: Campaign) -> None:
    made = trials_of(campaign)
    kept = campaign.folder / FILE
    before = kept.stat().st_ino
    read = trials_of(campaign)
    pd.testing.assert_frame_equal(made, read)
    assert read.attrs == made.attrs
    assert kept.stat().st_ino == before
    changed = campaign.trials[0]
    campaign.keep(_record(campaign, changed.id, 777.0), series(), "")
    assert trials_of(campaign).tps[0] == 777.0
    assert len(trials_of(campaign)) == 6


def test_disturbances_have_their_trial_try_and_reason(campaign: Campaign) -> None:
    (found,) = samples.disturbances(campaign).to_dict("records")
    assert (found["trial"], found["try"], found["why"]) == (campaign.trials[0].id, 1, "a backup ran")


def test_percentiles_go_as_deep_as_ten_requests_beyond(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    # 1,000 requests: 990 of 1 ms, ten of 50 ms. Of the 99th percentile ten lie beyond, of the 99.9th one.
    monkeypatch.setattr(campaign, "records", lambda: [record(histogram=[(1.0, 990), (50.0, 10)])])
    found = samples.percentiles(campaign, (50, 99, 99.9))
    assert found[["percentile", "latency_ms", "requests"]].values.tolist() == [[50.0, 1.0, 1000], [99.0, 1.0, 1000]]


def test_what_a_user_may_call_is_what_dir_shows_and_the_frames_are_listed() -> None:
    assert {"open_campaign", "catalogue", "cells", "tables"} <= set(dir(benchbook))
    assert all(callable(getattr(benchbook, name)) for name in dir(benchbook))
    assert "report.trials(*names, disturbed=False)" in set(benchbook.tables().call)
