"""The search for the highest rate that keeps a latency: its decisions by hand, on known queues, and as trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from in_memory import InMemory
from kit import Home
from known_queue import on_simulated, searched, simulated, true_knee
from records import record, with_values

from benchbook import plots, published
from benchbook.analysis import checks
from benchbook.campaign import max_rate
from benchbook.campaign import max_rate as search
from benchbook.campaign import store as campaigns
from benchbook.campaign.design import Cell, Trial, plan
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.max_rate import KneeSearch, OfferedLoad, Searched, Slo, bracket, verdict
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput, WorkloadFailed
from benchbook.hosts.inventory import load_inventory
from benchbook.parameters import check, defaults
from benchbook.plots import output, values
from benchbook.plots import trials as trial_plots
from benchbook.plots.trials import knee_frame, knee_in_words
from benchbook.probes.samples import empty
from benchbook.profiles import load_profile
from benchbook.report import open_report
from benchbook.reports.kind import RunRequest
from benchbook.reports.load.load_kind import LoadKind, LoadParameters, VersionsKind, VersionsParameters
from benchbook.reports.load.load_trials import KneeTrials
from benchbook.workloads.pgbench import Pgbench
from benchbook.workloads.sysbench import Sysbench

NAME = "tidb_v7_1_3_sysbench"
TEN = Slo(p99_ms=10)
# Six loads of one rate that come to nothing.
APART = [8.0, 12.0, 9.0, 11.0, 10.0, 10.0]


def loads(rate: float, *p99: float | None, achieved: float | None = None) -> list[OfferedLoad]:
    return [OfferedLoad(rate, rate if achieved is None else achieved, 10, ms) for ms in p99]


# -- what loads at one rate decide ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p99", "said"),
    [
        ([4.9], "kept"),
        ([20.1], "broken"),
        ([9.0], "open"),
        ([4.9, 9.9], "open"),
        # Logarithms over 10 ms: -0.22, -0.36, -0.11; their mean -0.23 is 3.2 standard errors (0.072) below 0, and
        # Student's t for 2 degrees of freedom is 4.3.
        ([8.0, 7.0, 9.0], "open"),
        # -0.22, -0.29, -0.16: mean -0.22, standard error 0.036: 6.2 of them.
        ([8.0, 7.5, 8.5], "kept"),
        ([12.5, 13.3, 11.8], "broken"),
        ([8.0, 12.0, 9.0, 11.0, 10.0], "open"),
        (APART, "undecided"),
        ([None], "open"),
        # A load that was disturbed does not decide alone.
        ([3.0, 40.0], "open"),
    ],
)
def test_a_rate_is_decided_by_one_load_far_off_else_by_the_interval_of_several(
    p99: list[float | None], said: str
) -> None:
    assert verdict(loads(100, *p99), 10) == said


def test_what_does_not_answer_all_that_is_offered_breaks_it_however_fast_it_answers() -> None:
    # 1,000/s over 10 s: 4 standard errors of Poisson arrivals are 4 * sqrt(1000 / 10) = 40/s.
    assert verdict(loads(1000, 1.0, achieved=961), 10) == "kept"
    assert verdict(loads(1000, 1.0, achieved=959), 10) == "broken"


# -- where the search goes --------------------------------------------------------------------------------------------


def server(knee: float, capacity: float = 1000.0) -> Callable[[float], OfferedLoad]:
    """Its p99 is 1 ms up to the knee, and 100 ms beyond: nothing is left to chance."""
    return lambda rate: OfferedLoad(rate, rate or capacity, 10, 1.0 if rate <= knee else 100.0)


def test_a_closed_loop_comes_first_and_halves_follow() -> None:
    """Up to 1.1 times what a closed loop did: 550, 275, then between what kept it and what broke it."""
    seen: list[float] = []

    def measure(rate: float) -> OfferedLoad:
        seen.append(rate)
        return server(400)(rate)

    found = searched(measure, TEN)
    assert seen[:5] == [0, 550, 275, round(math.sqrt(275 * 550)), round(math.sqrt(389 * 550))]
    assert found.low <= 400 < (found.high or 0) <= 1.05 * found.low
    assert found.rate is not None
    assert found.low <= found.rate <= (found.high or 0)
    # Both ends of the bracket are decided by three loads.
    assert {seen.count(found.low), seen.count(found.high or 0)} == {3}


def test_a_search_that_needs_all_loads_that_are_allowed_has_not_ended_early() -> None:
    whole = searched(server(400), TEN)
    assert whole.ended == ""
    assert searched(server(400), Slo(p99_ms=10, most_trials=whole.loads)) == whole
    less = searched(server(400), Slo(p99_ms=10, most_trials=whole.loads - 1))
    assert less.ended == f"the {whole.loads - 1} loads that were allowed are over"


def test_a_load_that_was_disturbed_does_not_end_the_search_far_below_the_knee() -> None:
    """The first load at 550 is broken by chance: its confirmation finds that out, and the search goes on above."""
    steady, first = server(800), [True]

    def measure(rate: float) -> OfferedLoad:
        if rate == 550 and first:
            first.clear()
            return replace(steady(rate), p99_ms=30.0)
        return replace(steady(rate), p99_ms=1.0 if rate <= 800 else 100.0)

    found = searched(measure, Slo(p99_ms=10, most_trials=60))
    assert found.low <= 800 < (found.high or 0)


def test_nothing_keeps_it_and_nothing_breaks_it() -> None:
    never, always = searched(server(0), TEN), searched(server(5000), TEN)
    assert (never.rate, never.low, never.ended) == (None, 0, "it was broken at every rate that was offered")
    assert (always.rate, always.high, always.ended) == (
        None,
        None,
        "it was kept at every rate that a closed loop can do",
    )
    assert always.low * 1.05 >= 1100


def test_the_bracket_ends_below_what_broke_it() -> None:
    assert bracket({100: "kept", 200: "undecided", 300: "broken", 400: "kept"}) == (100, 300)
    assert bracket({}) == (0, None)


@pytest.mark.parametrize(
    ("p99", "said"),
    [
        (
            {400: [4.0], 500: APART, 600: APART},
            "loads at 500 to 600 requests/s differ",
        ),
        ({400: APART, 500: [30.0]}, "loads at 400 requests/s differ"),
        ({400: [4.0], 500: [4.0]}, "it was kept at every rate"),
        ({400: [30.0], 500: [40.0]}, "it was broken at every rate"),
    ],
)
def test_without_a_knee_it_says_what_the_loads_said(p99: dict[float, list[float]], said: str) -> None:
    every = [load for rate, found in p99.items() for load in loads(rate, *found)]
    found = search.knee(every, TEN, "")
    assert found.rate is None
    assert found.ended.startswith(said)


def test_a_low_rate_is_offered_for_as_long_as_a_p99_takes() -> None:
    assert [TEN.lasts_s(rate) for rate in (0, 1000, 100, 1)] == [10, 10, 21, 600]
    long = Slo(p99_ms=10, time_s=900)
    assert [long.lasts_s(rate) for rate in (0, 1000, 1)] == [900, 900, 900], "as long as was asked for"


# -- on queues whose knee is known ------------------------------------------------------------------------------------


def test_the_simulated_queue_is_the_textbook_s() -> None:
    """M/M/1 of 1,000/s at 770/s: ln(100) / 230 = 20.02 ms; at 769.74/s exactly 20 ms."""
    assert true_knee(1000, 20) == pytest.approx(769.74, abs=0.01)
    load = simulated(770, mu=1000, seconds=2000, rng=np.random.default_rng(1))
    assert load.p99_ms == pytest.approx(20.02, rel=0.03)
    assert load.achieved == pytest.approx(770, rel=0.01)
    assert not load.saturated
    assert simulated(1100, mu=1000, seconds=20, rng=np.random.default_rng(1)).saturated


def test_the_knee_of_simulated_servers_is_found_within_five_percent() -> None:
    """Twenty capacities."""
    found = [on_simulated(seed) for seed in range(20)]
    ratios = [one.rate / true if one.rate else math.nan for one, true in found]
    assert sum(abs(ratio - 1) <= 0.05 for ratio in ratios) >= 19
    assert sum(one.low <= true <= (one.high or 0) for one, true in found) >= 18


# -- as trials --------------------------------------------------------------------------------------------------------

CELLS = [Cell(table=t, system="x", levels={"workload": t, "threads": n}) for t in ("a", "b") for n in (2, 8)]
KNEES = {"a": 400.0, "b": 800.0}


class Steps(InMemory):
    """Loads on servers that break at these rates."""

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        super().measure(trial, on_rate)
        load = server(KNEES[trial.cell.table])(float(trial.cell.levels["rate"]))
        found = with_values(tps=load.achieved, total_time_s=10.0)
        return Measurement("load", "executor", 1000, 1010, 0, found, [(load.p99_ms or 0, 5000)], empty(), "", {})


@pytest.fixture
def main(home: Home) -> Campaign:
    asked = {"inventory": "lab_test", "profile": "tiny", "repeat": {"most_repetitions": 3}, "rate": 0, "time_s": 2}
    return campaigns.start_or_continue("r", asked, plan(CELLS, 1, seed=1, asked=asked), seed=1)


def test_a_search_is_a_campaign_of_its_own_whose_trials_are_recorded(main: Campaign) -> None:
    """Each table at its most threads; what the campaign itself measures, and what is listed, is as before."""
    before = campaigns.recorded("r")
    found, experiment = max_rate.begun(main, TEN), Steps()
    max_rate.run_search(found, experiment, lambda progress: None)
    assert {(t.cell.table, t.cell.levels["threads"]) for t in found.trials} == {("a", 8), ("b", 8)}
    assert [found.asked[name] for name in ("time_s", "rate", "profile")] == [10, 0, "tiny"]
    assert "repeat" not in found.asked
    searches = {one.cell.table: one for one in max_rate.searched(found)}
    for table, true in KNEES.items():
        done = searches[table].knee
        assert done.low <= true < (done.high or 0) <= 1.05 * done.low
        assert done.ended == ""
    # A round is a block: both tables' next loads follow one start of the system.
    assert experiment.calls.count("begin x 2") >= 5
    assert len({record.id for record in found.records()}) == len(found.trials)
    assert (campaigns.recorded("r"), main.records()) == (before, [])
    assert max_rate.latest(main) is not None


def test_a_search_that_was_interrupted_goes_on_where_it_was(main: Campaign) -> None:
    whole = max_rate.begun(main, TEN)
    broken = Steps(r02_x_b_threads8_rate550=WorkloadFailed("sysbench: FATAL"))
    max_rate.run_search(whole, broken, lambda progress: None)
    assert len(whole.records()) == 3
    assert {one.knee.ended for one in max_rate.searched(whole)} == {"a load failed"}
    again = Steps()
    max_rate.run_search(max_rate.begun(main, TEN), again, lambda progress: None)
    assert "r01-x-a-threads8-rate0" not in again.calls
    assert {one.knee.ended for one in max_rate.searched(max_rate.begun(main, TEN))} == {""}


def test_a_search_ends_when_its_minutes_are_over(main: Campaign) -> None:
    found = max_rate.begun(main, Slo(p99_ms=10, most_min=1e-9))
    max_rate.run_search(found, Steps(), lambda progress: None)
    assert len(found.records()) == 2
    assert {one.knee.ended for one in max_rate.searched(found)} == {"the 1e-09 min that were allowed are over"}


def test_what_was_found_is_shown_in_words_and_as_a_figure(main: Campaign, tmp_path: Path) -> None:
    found = max_rate.begun(main, TEN)
    max_rate.run_search(found, Steps(), lambda progress: None)
    searches = max_rate.searched(found)
    said = knee_in_words(searches[0])
    table = searches[0].cell.table
    assert said.startswith(f"x, {table}, 8 threads: 99% of the transactions take at most 10 ms up to ")
    assert "a closed loop does 1,000/s" in said
    frame = knee_frame(searches)
    assert set(frame.verdict) == {"kept", "broken"}
    assert len(frame) == len(found.records()) - 2
    figure = plots.knee(searches)
    assert [axis.get_title() for axis in figure.axes] == [trial_plots._knee_panel(one) for one in searches]


def test_the_search_that_is_asked_for_is_the_one_that_is_shown(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked for 10 ms once more, after a search for 20, was shown what keeps 20; one that failed was none."""
    monkeypatch.setitem(KNEES, "oltp_insert", 400.0)
    given = {"inventory": "lab_test", "profile": "tiny", "system": "mariadb", "levels": "published", "threads": [1]}
    asked = {**given, "workloads": ["oltp_insert"]}

    def shown(p99_ms: float, experiment: Steps) -> str:
        opened = open_report(NAME, **asked, slo={"p99_ms": p99_ms})
        opened._knee = KneeSearch(Slo(p99_ms=p99_ms), experiment)
        return opened.knee().data

    for p99_ms in (10, 20, 10):
        assert f"99% of the transactions take at most {p99_ms} ms" in shown(p99_ms, Steps())
    broken = Steps()
    broken.trouble["r01-mariadb-oltp_insert-threads1-rate0"] = WorkloadFailed("sysbench: FATAL")
    assert "a load failed" in shown(30, broken)


@pytest.mark.parametrize(("kept_ms", "named"), [(2.0, True), (50.0, False)])
def test_a_figure_without_a_knee_names_none(kept_ms: float, named: bool) -> None:
    searches = [Searched(CELLS[0], [*loads(100, kept_ms), *loads(200, 50.0)], TEN, "it was ended")]
    assert (trial_plots.KNEE_FOUND in output.words(plots.knee(searches))[1]) == named


def test_a_load_whose_p99_is_not_known_is_told_no_value() -> None:
    """It stands at the upper edge, 1.3 times the highest p99: that 65 ms was told as its own."""
    given = [*loads(100, 2.0), *loads(200, 50.0), *loads(400, None, achieved=210.0)]
    searches = [Searched(CELLS[0], given, TEN, "it was ended")]
    assert knee_frame(searches).p99_ms.isna().sum() == 1
    figure = plots.knee(searches)
    marks = [mark[2:] for each in values.values(figure) for mark in each["marks"]]
    assert sorted(marks) == [[100.0, 2.0], [200.0, 50.0]]
    # Where none is known there is nothing to draw, and the search is told in words.
    overloaded = plots.knee([Searched(CELLS[0], loads(400, None, achieved=210.0), TEN, "it was ended")])
    assert "no rate kept it" in output.words(overloaded)[0]


def test_a_level_of_rate_makes_a_record_one_of_an_open_loop() -> None:
    """2,000/s of 4 ms are 8 busy threads, of 64 in an open loop: as it is to be."""
    closed = record(levels={"workload": "a", "threads": 64})
    opened = record(levels={"workload": "a", "threads": 64, "rate": 2000})
    assert [checks.little(one).ok for one in (closed, opened)] == [False, True]


# -- as it is asked for -----------------------------------------------------------------------------------------------


def test_the_notebook_asks_for_no_search_and_a_dictionary_asks_for_one() -> None:
    given = defaults("tidb_v7_1_3_sysbench")
    assert not check(LoadParameters, "tidb_v7_1_3_sysbench", given).slo.asked
    assert check(LoadParameters, "tidb_v7_1_3_sysbench", {**given, "slo": {"p99_ms": 10}}).slo == TEN


def test_a_generator_that_keeps_to_no_rate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of the kit's own keep to one; what another drives is no open loop because somebody asked for a rate."""
    assert Sysbench.open_loop
    assert Pgbench.open_loop
    monkeypatch.setattr(Sysbench, "open_loop", False)
    asked = LoadParameters(inventory="lab_tidb", system="mariadb", slo=TEN)
    given = published.load("tidb_v7_1_3_sysbench"), load_profile("smoke"), load_inventory("lab_tidb")
    with pytest.raises(BadInput, match="slo"):
        RunRequest(LoadKind(), given[0], asked, *given[1:]).experiment()
    assert RunRequest(LoadKind(), given[0], asked.model_copy(update={"slo": Slo()}), *given[1:]).experiment()


def test_loads_of_a_search_are_those_of_the_report_at_a_rate_of_their_own() -> None:
    asked = LoadParameters(inventory="lab_tidb", system="mariadb", time_s=2, slo=TEN)
    given = published.load("tidb_v7_1_3_sysbench"), load_profile("lab"), load_inventory("lab_tidb")
    found = LoadKind().knee(RunRequest(LoadKind(), given[0], asked, *given[1:]))
    assert found is not None
    assert isinstance(found.experiment, KneeTrials)
    assert (found.slo, found.experiment.rate) == (TEN, 0)
    slow = Trial(id="t", identity="", cell=CELLS[0].model_copy(update={"levels": {"rate": 100}}), repetition=1, order=0)
    # 2,000 requests at 100/s are 20 s, and a whole second more; 2 s before it are not measured.
    assert found.experiment.expected_s(slow) == 2 + 21
    versions = VersionsParameters(inventory="lab_tidb", systems=["tidb:6.5", "tidb:7.1"], slo=TEN)
    of_versions = VersionsKind().knee(
        RunRequest(VersionsKind(), published.load("tidb_v6_2_vs_v6_1_sysbench"), versions, *given[1:])
    )
    assert of_versions is not None
    assert isinstance(of_versions.experiment, KneeTrials)
    assert of_versions.experiment.in_place_of == {"tidb:6.5": ("TiDB", "v6.1.0"), "tidb:7.1": ("TiDB", "v6.2.0")}
    without = asked.model_copy(update={"slo": Slo()})
    assert LoadKind().knee(RunRequest(LoadKind(), given[0], without, *given[1:])) is None


@pytest.mark.parametrize("slo", [{"p99_ms": -1}, {"p95_ms": 3}, {"p99_ms": "x"}, 10, {"p99_ms": 5, "within": 0.9}])
def test_a_slip_in_it_is_named_before_any_host_is_touched(slo: object) -> None:
    with pytest.raises(BadInput, match="slo"):
        check(LoadParameters, "tidb_v7_1_3_sysbench", {"inventory": "lab_tidb", "slo": slo})
