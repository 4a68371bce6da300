"""What is said of a run before it runs: by hand, by the rule that judges it, and beside what came out."""

from __future__ import annotations

import io
import math
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kit import ROOT, Home
from rich.console import Console
from scipy import stats

from benchbook import published
from benchbook.analysis.results import JudgedClaim
from benchbook.campaign.design import ClaimForecast, RunForecast
from benchbook.campaign.scaled_levels import of_plan, trials_as_published
from benchbook.campaign.store import Campaign
from benchbook.claims import judge, ledger
from benchbook.hosts import capacity
from benchbook.overview import lists
from benchbook.parameters import defaults
from benchbook.reports import forecast as forecasts
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest

TIDB, ETCD = "tidb_v7_1_3_sysbench", "etcd_3_2_performance"


def asked(report: str, **said: Any) -> RunRequest:
    there = ROOT / "env" / "hosts" / f"{defaults(report)['inventory']}.yaml"
    return planning.request_for(report, {"inventory": str(there), **said})


def forecast(request: RunRequest, budget_s: float | None = None) -> RunForecast:
    found = planning.as_run_here(request)
    return forecasts.forecast(request, found.asked, planning.trials(request, found), budget_s)


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(capacity, "page_reporting", lambda: "off")
    return lambda count: monkeypatch.setattr(capacity.os, "sched_getaffinity", lambda _: set(range(count)))


def test_by_hand(home: Home, cores: Any) -> None:
    cores(2)
    made = forecast(asked(TIDB, workloads=["oltp_point_select"], repetitions=4, levels="published"))
    # 30 s before the first of 12 trials, 4 blocks of 5 s, each trial 2 s of load and 4 s beside it.
    assert made.wall_s == 30 + 4 * 5 + 12 * 6
    claim = next(each for each in made.claims if each.claim == "rises-point-select")
    # 50 clients fill 2 cores: a rise would be larger on more. 200 / 0.9 are 222.2. 5 x 16 cores served.
    assert (claim.speaks, claim.reason) == ("confirm only", "100% of 2 cores may be busy at 200 threads")
    enough = "with 200 clients that keep one busy each, 223 are enough; the report's servers had 80"
    assert claim.needs.startswith(
        f"more cores, so that less than 90% are busy ({enough}), or a host of its own for the"
    )
    assert claim.at_best == "both ways"
    free = sum(each.speaks != "not run" for each in made.claims)
    assert f"if not, they decide {free} more both ways." in forecasts.sentence(made)
    # Of a ratio of two figures that vary by 15% the interval must be narrower than what is printed is above 1.2. Holm
    # begins with 2 x 5% over all claims that this plan measures.
    tables = published.load(TIDB).tables["oltp_point_select"].frame.set_index("threads").tps
    gap = math.log(tables[200] / tables[50] / 1.2)
    tested = sum(each.speaks != "not run" for each in made.claims)
    level = 2 * 0.05 / tested
    needed = next(n for n in range(2, 50) if stats.t.ppf(1 - level / 2, n - 1) * 0.15 * math.sqrt(2 / n) < gap)
    assert claim.repetitions == needed
    # Three cells of 6 s and a block of 5 s each time.
    assert claim.minutes == pytest.approx(needed * 23 / 60)


def test_loads_before_the_first_trial_are_counted_where_free_memory_is_given_away(
    home: Home, cores: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores(2)
    monkeypatch.setattr(capacity, "page_reporting", lambda: "on")
    monkeypatch.setattr(capacity.os, "geteuid", lambda: 1000)
    # As by hand above; smoke's 20 s, and a block of 5 s anew.
    made = forecast(asked(TIDB, workloads=["oltp_point_select"], repetitions=4, levels="published"))
    assert made.wall_s == 30 + 20 + 5 + 4 * 5 + 12 * 6


def test_scaled_levels_are_said_to_say_nothing(home: Home, cores: Any) -> None:
    cores(2)
    claims = forecast(asked(TIDB, workloads=["oltp_point_select"])).claims
    (rises,) = [each for each in claims if each.claim == "rises-point-select"]
    assert (rises.speaks, rises.repetitions) == ("nothing", None)
    assert rises.reason == "threads were scaled to the cores here: 1 for 50 and 4 for 200"
    assert rises.needs.startswith("the published levels (-p levels=published)")


def test_cores_that_the_report_had_not_show_what_its_own_did_not(home: Home, cores: Any) -> None:
    """200 clients may use more of 1,000 cores than the published 80: only what does not even rise there refutes."""
    cores(1000)
    says = {each.claim: each for each in forecast(asked(TIDB, workloads=["oltp_point_select"])).claims}
    rises, of = says["rises-point-select"], "100% of the 80 cores that the report's servers had"
    assert (rises.speaks, rises.reason) == ("refute only", f"{of} may be in use at 200 threads")
    assert rises.needs.startswith("servers with 80 cores")
    assert says["rises-insert"].speaks == "not run", "its workload was left out"


@pytest.mark.parametrize(("count", "says"), [(2, "nothing"), (64, "both ways")])
def test_each_host_of_a_machine_may_keep_a_core_busy_for_one_client(
    home: Home, cores: Any, count: int, says: str
) -> None:
    """Three members of etcd and the load at work on one put fill 2 cores, and not 64 (4 of 64 are 6%)."""
    cores(count)
    made = forecast(asked(ETCD))
    alone = [each for each in made.claims if each.claim in ("order-alone", "quorum-costs-alone")]
    assert [each.speaks for each in alone] == [says] * 2
    assert all((each.at_best or each.speaks) == "both ways" for each in alone)


def test_a_run_never_says_less_than_its_forecast(home: Home, cores: Any) -> None:
    """However busy the cores are below the bound, the rule that judges the run says as much, or more."""
    cores(2)
    request = asked(ETCD, levels="published")
    before = {(each.claim, each.system): each.speaks for each in forecast(request).claims}
    found = planning.as_run_here(request)
    trials = trials_as_published(planning.trials(request, found), of_plan(found.asked))
    planned = forecasts.planned(request, trials)
    known = ledger.load(request.published)
    assert known is not None
    most = forecasts._busy(request, found.asked, found.cells, None)
    rng, said_more = np.random.default_rng(1), 0
    for _ in range(20):
        busy = [
            replace(c, machines=[replace(m, share=m.share * rng.uniform(0.5, 1)) for m in c.machines]) for c in most
        ]
        system = judge.JudgedSystem("etcd", asked=found.asked)
        for after in judge.judge(known, request.published, planned, system, busy=busy, scaling=of_plan(found.asked)):
            promised = before[after.id, after.system]
            if promised == "not run":
                assert after.verdict == "not run"
            elif promised != "nothing":
                assert after.speaks in (promised, "both ways")
            said_more += promised not in ("not run", after.speaks)
    assert said_more


def test_a_recorded_campaign_takes_the_place_of_what_is_usual(home: Home, cores: Any) -> None:
    cores(2)
    sample = min((ROOT / "data" / "sample" / TIDB).iterdir())
    campaign = Campaign(shutil.copytree(sample, home.path / "data" / "runs" / TIDB / sample.name))
    request = asked(TIDB)
    made = forecasts.forecast(request, campaign.asked, campaign.trials)
    assert made.sources[0].endswith(f"campaign {campaign.id}.")
    came = judge.of_campaign(campaign, request.published, request.kind)
    lines = forecasts.beside_outcome(made, came)
    assert len(lines) == len(came)
    assert [line["could say"] for line in lines] == [line["said"] for line in lines]


def test_a_budget_goes_to_what_it_decides(home: Home, cores: Any) -> None:
    cores(2)
    request = asked(TIDB, workloads=["oltp_point_select", "oltp_read_write"], levels="published")
    plan_s = forecast(request).wall_s
    made = forecast(request, budget_s=plan_s + 120)
    within = [each for each in made.claims if each.budgeted]
    assert within
    assert made.claims[: len(within)] == within
    assert all(each.repetitions and each.speaks not in ("nothing", "not run") for each in within)
    # Beside the plan there is time for five repetitions of one claim's three cells (23 s each), or for three of both
    # claims' six (41 s).
    most = max(each.budgeted or 0 for each in within)
    assert 3 <= most <= 5
    repetitions = request.profile.repetitions
    assert f"most_repetitions: {repetitions + most}, " in made.sources[-1]
    none = forecast(request, budget_s=plan_s)
    assert not any(each.budgeted for each in none.claims)
    assert none.sources[-1] == forecasts.NONE_ADDED


def test_repetitions_that_are_added_share_the_error_rate(home: Home, cores: Any) -> None:
    """A plan of so many repetitions is looked at once; what a budget adds is looked at again, as the run will."""
    cores(2)
    request = asked(TIDB, workloads=["oltp_point_select"], repetitions=4, levels="published")
    once, looked_at = forecast(request), forecast(request, budget_s=3600)
    needed = [{each.claim: each.repetitions or 0 for each in made.claims} for made in (once, looked_at)]
    assert needed[1]["rises-point-select"] > needed[0]["rises-point-select"]


def test_why_no_more_can_be_said_is_printed_once_for_claims_alike_and_fits_a_page() -> None:
    needs = (
        "the published levels (-p levels=published), on a machine with all the cores for them, and hosts of their own"
    )
    why = {"reason": "threads were scaled to the cores here: 1 for 50 and 4 for 200", "needs": needs}
    made = RunForecast(
        claims=[
            ClaimForecast(claim="decided", system="s", speaks="both ways", repetitions=4, minutes=0.9),
            *(ClaimForecast(claim=f"claim-{n}", system="s", speaks="nothing", **why) for n in range(9)),
        ],
        wall_s=90.0,
        sources=["word " * 40],
    )
    out = io.StringIO()
    # As the command's: a console that wraps nothing.
    lists.print_plan("mine", made, Console(file=out, soft_wrap=True))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= 100
    assert sum("4 for 200" in line for line in lines) == 1
    said = " ".join(" ".join(lines).split())
    assert "These hosts say nothing of claim-0, claim-1, claim-2" in said
    assert "claim-8: threads were scaled" in said
    assert f"what would help: {needs}" in said
    assert "decided both ways 4 0.9" in said, said


def test_what_is_planned_already_is_no_gain_of_a_budget(home: Home, cores: Any) -> None:
    """25 repetitions decide a rise of which 5 decide half: a budget is left to what needs 14, and 68."""
    cores(2)
    request = asked(TIDB, workloads=["oltp_point_select"], repetitions=25, levels="published")
    made = forecast(request, budget_s=24 * 3600)
    chosen = {each.claim for each in made.claims if each.budgeted}
    assert "latency-flat-point-select" in chosen
    assert "rises-point-select" not in chosen, "it has the same cells"


@pytest.mark.parametrize(
    ("given", "budget_s", "said"),
    [
        ({"levels": "published"}, 60, forecasts.TOO_LONG),
        # Chances are known of 30 repetitions beside the first two: to 33 nothing is added, however long the budget is.
        ({"levels": "published", "repetitions": 33}, 24 * 3600, forecasts.NONE_ADDED),
        # At levels that are full here, repetitions decide nothing.
        ({}, 3600, forecasts.NONE_ADDED),
    ],
)
def test_why_a_budget_adds_nothing(home: Home, cores: Any, given: dict[str, Any], budget_s: float, said: str) -> None:
    cores(2)
    made = forecast(asked(TIDB, workloads=["oltp_point_select"], **given), budget_s=budget_s)
    assert not any(each.budgeted for each in made.claims)
    assert made.sources[-1] == said


def test_a_spread_goes_by_the_load_and_not_by_the_trial(home: Home, cores: Any) -> None:
    """A trial of DM's with a load of 10 s takes 12 + 2 x 10 = 32 s; loads of 30 s and more vary by 5% alone."""
    cores(64)
    request = asked("dm_1_0_alpha", profile="lab")
    assert request.profile.dm.time_s == 10
    assert any("varied by 15% from one repetition" in source for source in forecast(request).sources)


def test_what_came_out_stands_beside_it() -> None:
    before = ClaimForecast(claim="c", system="s", speaks="confirm only", repetitions=5, minutes=2.0)
    made = RunForecast(claims=[before, before.model_copy(update={"claim": "left-out"})], wall_s=90.0, sources=[])
    after = JudgedClaim(id="c", statement="", verdict="holds", here="holds", speaks="both ways", system="s", n=4)
    assert forecasts.beside_outcome(made, [after]) == [
        {
            "claim": "c",
            "system": "s",
            "could say": "confirm only",
            "said": "both ways",
            "repetitions forecast": "5",
            "measured": "4",
            "here": "holds",
            "state": "holds",
        }
    ]
    assert forecasts.sentence(made) == "Of 2 claims these hosts can only confirm 2. The run takes about 1.5 min."
    left_out = made.model_copy(update={"claims": [before, before.model_copy(update={"speaks": "not run"})]})
    said = "Of 2 claims these hosts can only confirm 1. 1 is not run. The run takes about 1.5 min."
    assert forecasts.sentence(left_out) == said


def test_a_plan_that_takes_long_is_repeated_less_unless_the_user_says_how_often(home: Home) -> None:
    usual = asked("dm_1_0_alpha")
    assert usual.profile.repetitions == 4
    # Its one cell is a sync of 12 s and twice the 2 s of its load: 16 s, of which three fit into 50 s.
    for minutes, said, repetitions in ((64 / 60, 0, 4), (50 / 60, 0, 3), (0.1, 0, 2), (0.1, 6, 6)):
        parameters = usual.parameters.model_copy(update={"repetitions": said})
        profile = usual.profile.model_copy(update={"plan_min": minutes})
        request = replace(usual, parameters=parameters, profile=profile)
        assert len(planning.trials(request, planning.as_run_here(request))) == repetitions


def test_of_a_smoke_run_only_dm_s_ladders_are_too_long_for_four_repetitions(home: Home) -> None:
    def most(report: str) -> int:
        request = asked(report)
        return max(trial.repetition for trial in planning.trials(request, planning.as_run_here(request)))

    assert {report for report in published.known_reports() if most(report) != 4} == {"dm_1_0_ga"}
    assert most("dm_1_0_ga") == 2
