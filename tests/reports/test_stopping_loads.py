"""Loads that end early, and repetitions that are added: the watcher, the account of machine time, the added blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from in_memory import InMemory
from kit import Home
from records import SUMMARY

from benchbook import published
from benchbook.analysis import machine_time
from benchbook.analysis.results import JudgedClaim, MachineTime
from benchbook.campaign import store as campaigns
from benchbook.campaign.allotment import OpenClaim, RepetitionCost, allot, cost
from benchbook.campaign.design import Block, Cell, Trial, another_block, plan
from benchbook.campaign.early_stop import EarlierLoads, RateWatcher, both, rule
from benchbook.campaign.environment import Environment, RunTimes
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.held import RunStopped
from benchbook.campaign.repetitions import run_until_decided
from benchbook.campaign.store import Campaign
from benchbook.claims import ledger_check
from benchbook.claims.more import open_claims
from benchbook.display import time_spent
from benchbook.errors import BadInput, TrialFailed
from benchbook.probes.samples import empty
from benchbook.profiles import Repeating, Stopping, load_profile
from benchbook.reports.dm.dm_kind import DmKind
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.stats.stopping import StopRule

CELLS = [Cell(table=t, system="x", levels={"workload": t, "threads": 2}) for t in ("a", "b", "c")]
ASKED = {"inventory": "lab_test", "profile": "tiny"}
ALLOWED = Repeating(most_repetitions=4, budget_min=10)


def watched(rates: Sequence[float], **changes: float) -> tuple[RateWatcher, list[int]]:
    """A watcher after these rates, and after how many of them it asked for an end."""
    asked: list[int] = []
    seen = 0
    watcher = RateWatcher(StopRule(**{"minimum_s": 16, "maximum_s": 64, **changes}), lambda: asked.append(seen))
    for rate in rates:
        seen += 1
        watcher.seen(rate)
    return watcher, asked


def test_a_steady_load_is_asked_to_end_once_at_the_second_look() -> None:
    # Looks at 16, 20, 25, ... s; two in a row must agree, so 20 s is the earliest end.
    watcher, asked = watched([100 + (-1) ** i for i in range(64)])
    assert asked == [20]
    proof = watcher.proof()
    assert (proof["precise"], proof["judged_s"], proof["steady"]) == (True, 20, "flat")
    assert proof["tps"] == pytest.approx(100, abs=1)
    assert proof["half_width"] <= 0.02


def test_a_ramp_is_never_asked_to_end() -> None:
    watcher, asked = watched([100.0 + 5 * i for i in range(64)])
    assert asked == []
    assert watcher.proof()["precise"] is False
    assert watcher.proof()["judged_s"] == 64


def test_a_load_that_ends_before_the_first_look_has_a_proof_too() -> None:
    watcher, asked = watched([100.0, 101.0, 99.0])
    assert asked == []
    assert watcher.proof()["precise"] is False


def test_the_rate_reaches_the_page_whether_or_not_anybody_watches() -> None:
    told: list[tuple[float, float]] = []
    both(lambda t, rate: told.append((t, rate)), None)(1, 5.0)
    watcher, _ = watched([])
    both(lambda t, rate: told.append((t, rate)), watcher)(2, 6.0)
    assert told == [(1, 5.0), (2, 6.0)]
    assert watcher.proof()["judged_s"] == 1


def test_no_load_is_longer_than_the_published_one() -> None:
    asked = Stopping(minimum_s=30, maximum_s=120)
    assert (rule(asked, 1200).minimum_s, rule(asked, 1200).maximum_s) == (30, 120)
    assert (rule(asked, 60).minimum_s, rule(asked, 60).maximum_s) == (30, 60)
    assert (rule(asked, 20).minimum_s, rule(asked, 20).maximum_s) == (20, 20)
    assert rule(asked, None).maximum_s == 120


def test_a_profile_whose_minimum_is_above_its_maximum_is_refused(home: Home) -> None:
    text = (home.path / "env/profiles/tiny.yaml").read_text()
    (home.path / "env/profiles/odd.yaml").write_text(f"{text}\nstopping: {{minimum_s: 90, maximum_s: 60}}\n")
    with pytest.raises(BadInput, match="minimum_s is above maximum_s"):
        load_profile("odd")


def begun(repetitions: int = 2) -> Campaign:
    return campaigns.start_or_continue("r", ASKED, plan(CELLS, repetitions, seed=1, asked=ASKED), seed=1)


def needs(*cells: Cell, more: int = 1) -> list[OpenClaim]:
    """One claim about these cells that so many more repetitions would surely decide, and fewer would not."""
    return [OpenClaim(f"about-{'-'.join(cell.table for cell in cells)}", cells, (*[0.0] * (more - 1), 1.0))]


def added(made: Campaign, looks: Sequence[Sequence[OpenClaim]], allowed: Repeating = ALLOWED) -> list[str]:
    """What runs when these claims are open one look after the other; the trials in their order."""
    left, experiment = list(looks), InMemory()
    run_until_decided(made, experiment, lambda _: None, allowed, lambda: left.pop(0) if left else [])
    assert experiment.calls.count("up") <= 1, "the hosts stay connected while the claims are looked at"
    return experiment.measured


def test_blocks_of_the_open_cells_are_added_and_not_looked_at_in_between(home: Home) -> None:
    made = begun()
    ran = added(made, [needs(*CELLS[:2], more=2)])
    assert sorted(ran[6:8]) == ["r03-x-a-threads2", "r03-x-b-threads2"]
    assert sorted(ran[8:]) == ["r04-x-a-threads2", "r04-x-b-threads2"]
    again = Campaign(made.folder)
    assert [t.order for t in again.trials] == list(range(10))
    assert again.plan.planned == 6
    assert [(block.repetition, block.claims) for block in again.plan.added] == [(3, ["about-a-b"]), (4, ["about-a-b"])]
    assert [r.id for r in again.records()] == ran
    assert "4 repetitions" in again.environment().repetitions_ended


def test_the_claims_are_looked_at_once_before_blocks_are_added(home: Home) -> None:
    made, looks = begun(), []

    def undecided() -> list[OpenClaim]:
        looks.append(len(made.records()))
        return needs(*CELLS)

    run_until_decided(made, InMemory(), lambda _: None, ALLOWED, undecided)
    assert looks == [6]
    assert len(made.records()) == 3 * 3, "one more repetition was enough by its chance"
    assert "was likely to decide a claim" in made.environment().repetitions_ended


def test_blocks_that_were_decided_on_at_the_look_follow_also_in_another_run(home: Home) -> None:
    made, a, b = begun(1), CELLS[0], CELLS[1]
    added(made, [])
    ahead = [Block(cells=[a, b], claims=["ab"]), Block(cells=[a], claims=["a"])]
    made.extend(another_block(made.trials, [b], seed=1, asked=ASKED), ["b"], ahead)
    assert added(begun(1), [needs(*CELLS)])[1:] == ["r03-x-a-threads2", "r03-x-b-threads2", "r04-x-a-threads2"]
    again = Campaign(made.folder)
    assert [block.claims for block in again.plan.added] == [["b"], ["ab"], ["a"]]
    assert again.plan.ahead == []


def test_who_asks_for_the_end_in_the_last_trial_of_the_plan_waits_for_no_other(home: Home) -> None:
    made, experiment = begun(), InMemory()

    def stop() -> bool:
        return len(made.records()) == 6

    with pytest.raises(RunStopped, match="3 trials are left"):
        run_until_decided(made, experiment, lambda _: None, ALLOWED, lambda: needs(*CELLS), stop)
    assert len(experiment.measured) == 6
    assert [t.repetition for t in begun().missing()] == [3, 3, 3], "they are the next run's"


def test_nothing_is_added_where_no_claim_is_open(home: Home) -> None:
    made = begun()
    assert len(added(made, [])) == 6
    assert made.environment().repetitions_ended.startswith("no open claim")


def test_blocks_are_added_only_as_long_as_there_is_time(home: Home) -> None:
    made = begun()
    added(made, [])
    again = Block(cells=CELLS[:2], claims=["about-a-b"])
    made.extend(another_block(made.trials, CELLS[:2], seed=1, asked=ASKED), ["about-a-b"], [again])
    spread_out(made, 10.0)
    # Two more trials would take 20 s, and 18 s of ten minutes are left.
    made.note(Environment(runs=[RunTimes(began=0.0, ended=582.0)]))
    assert len(added(made, [])) == 2
    assert "0.3 min would exceed the budget of 10 min" in made.environment().repetitions_ended
    assert made.environment().looks is None


def test_no_block_is_added_beyond_the_budget(home: Home) -> None:
    made = begun()
    added(made, [])
    made.note(Environment(runs=[RunTimes(began=0.0, ended=500.0)]))
    spread_out(made, 80.0)
    # A trial takes 80 s and a block no more than its trials: 240 s; with 10 min, 100 s are left.
    assert len(added(made, [needs(*CELLS)] * 9)) == 0
    assert "4.0 min would exceed the budget of 10 min" in made.environment().repetitions_ended
    assert made.environment().looks is None, "the claims were looked at"


def test_a_plan_that_took_longer_than_the_budget_has_used_it_up(home: Home) -> None:
    """It said that another 0.1 min would exceed the budget of 3.65 min, after 4.6 min."""
    made = begun()
    added(made, [])
    made.note(Environment(runs=[RunTimes(began=0.0, ended=660.0)]))
    spread_out(made, 10.0)
    assert len(added(made, [needs(*CELLS)])) == 0
    assert made.environment().repetitions_ended == "the budget of 10 min was used up"


def test_claims_are_not_looked_at_where_no_block_would_fit(home: Home) -> None:
    made, looks = begun(), []
    added(made, [])
    made.note(Environment(runs=[RunTimes(began=0.0, ended=530.0)]))
    spread_out(made, 80.0)
    run_until_decided(made, InMemory(), lambda _: None, ALLOWED, lambda: looks.append(1) or needs(*CELLS))
    assert looks == []
    assert made.environment().looks == 1
    assert "1.3 min would exceed the budget of 10 min" in made.environment().repetitions_ended


@pytest.mark.parametrize(
    ("rule", "noted", "looks"),
    [
        ({}, None, 1),
        ({"repeat": {"most_repetitions": 5}}, None, 4),  # as campaigns were that looked after every block
        ({"stopping": {"most_repetitions": 4}}, None, 3),
        ({"repeat": {"most_repetitions": 5, "looks": 2}}, None, 2),
        ({"repeat": {"most_repetitions": 5, "looks": 2}, "stopping": {"most_repetitions": 5}}, None, 2),
        ({"repeat": {"most_repetitions": 5, "looks": 3}}, None, 3),
        ({"repeat": {"most_repetitions": 3, "looks": 3}}, None, 2),  # how many are added is not chosen
        ({"repeat": {"most_repetitions": 2, "looks": 2}}, None, 1),  # no block could be added
        ({"repeat": {"most_repetitions": 5, "looks": 2}}, 1, 1),  # there was no time for one
    ],
)
def test_the_error_rate_is_shared_among_the_looks(
    home: Home, rule: dict[str, object], noted: int | None, looks: int
) -> None:
    asked = {**ASKED, **rule}
    made = campaigns.start_or_continue("r", asked, plan(CELLS, 2, seed=1, asked=asked), seed=1)
    if noted:
        made.note(Environment(looks=noted))
    assert made.shares == looks


def test_no_block_is_added_after_a_failed_trial(home: Home) -> None:
    made = begun()
    experiment = InMemory(**{made.trials[0].id: TrialFailed("it broke")})
    run_until_decided(made, experiment, lambda _: None, ALLOWED, lambda: needs(*CELLS))
    assert made.environment().repetitions_ended == "trials have failed"
    assert len(made.trials) == 6


def test_an_interrupted_block_is_finished_by_the_next_run(home: Home) -> None:
    made = begun()
    added(made, [])
    made.extend(another_block(made.trials, CELLS, seed=1, asked=ASKED), ["about-a"])
    assert begun().id == made.id
    assert [t.repetition for t in begun().missing()] == [3, 3, 3]


def spread_out(made: Campaign, seconds: float) -> None:
    """Let the trials of this campaign have ended so many seconds one after the other."""
    for index, record in enumerate(made.records()):
        file = made.folder / "trials" / record.id / "record.json"
        ended = 1000.0 + seconds * index
        file.write_text(record.model_copy(update={"started": ended - 1, "ended": ended}).model_dump_json())


def test_what_a_repetition_costs_is_taken_from_what_it_did_cost(home: Home) -> None:
    made = begun()
    added(made, [])
    spread_out(made, 10.0)
    costs = cost(made.trials, made.records())
    assert (costs.block_s, costs.trial_s, costs.of(CELLS)) == (0.0, 10.0, 30.0)
    # The second block began 25 s later than its first trial takes.
    later = [
        record.model_copy(update={"ended": record.ended + 25.0 * (i > 2)}) for i, record in enumerate(made.records())
    ]
    assert cost(made.trials, later).block_s == 25.0


def test_a_night_between_two_runs_is_no_part_of_what_a_repetition_costs(home: Home) -> None:
    """What failed in the evening is measured in the morning: it took 12 hours, and the next one less than none."""
    made = begun()
    failing = made.trials[1].id
    run_until_decided(made, InMemory(**{failing: TrialFailed("it broke")}), lambda _: None, ALLOWED, list)
    assert added(made, []) == [failing]
    spread_out(made, 10.0)
    file = made.folder / "trials" / failing / "record.json"
    (late,) = (record for record in made.records() if record.id == failing)
    file.write_text(late.model_copy(update={"started": 43_999.0, "ended": 44_000.0}).model_dump_json())
    made.note(Environment(runs=[RunTimes(began=990.0, ended=1060.0), RunTimes(began=43_990.0, ended=44_000.0)]))
    costs = cost(made.trials, made.records(), made.environment().runs)
    # The others ended 10 s one after the other, those of the second block too.
    assert (costs.block_s, costs.trial_s, costs.of(CELLS)) == (0.0, 10.0, 30.0)


def test_repetitions_go_to_what_they_decide_most_of_in_a_second() -> None:
    a, b, c = CELLS
    costs = RepetitionCost(5.0, 10.0)

    def blocks(left_s: float, *claims: OpenClaim, most: int = 5, claim_s: float = math.inf) -> list[tuple[str, str]]:
        found = allot(claims, costs, left_s, most, claim_s)
        return [("".join(cell.table for cell in block.cells), " ".join(block.claims)) for block in found]

    dear, cheap = OpenClaim("dear", (a, b, c), (0.0, 1.0)), OpenClaim("cheap", (a,), (0.6, 0.9))
    # cheap: 0.6 for 15 s, then 0.3 for 15 s more; dear: 1 for two blocks of all three cells, 70 s, or 40 s more.
    assert blocks(14, dear, cheap) == []
    assert blocks(20, dear, cheap) == [("a", "cheap")]
    assert blocks(69, dear, cheap) == [("a", "cheap"), ("a", "cheap")]
    assert blocks(70, dear, cheap) == [("abc", "dear cheap"), ("abc", "dear cheap")]
    assert blocks(500, dear, cheap) == blocks(70, dear, cheap), "nothing is worth a third block"
    assert blocks(500, dear, cheap, most=1) == [("a", "cheap")]
    # A claim costs 25 s at first; after that both of dear's blocks, with cheap's second, decide 1.3 in 55 s: 42 s each.
    assert blocks(500, dear, cheap, claim_s=24) == []
    assert blocks(500, dear, cheap, claim_s=26) == blocks(500, dear, cheap, claim_s=42) == [("a", "cheap")]
    assert blocks(500, dear, cheap, claim_s=43) == blocks(70, dear, cheap)


def test_a_cell_that_is_repeated_for_one_claim_counts_for_the_others() -> None:
    a, b, _ = CELLS
    whole, part = OpenClaim("whole", (a, b), (0.3, 0.5)), OpenClaim("part", (b,), (0.0, 0.5))
    # Alone, two blocks of b decide half a claim for 30 s; of a and b, with both claims, a whole one for 50 s.
    found = allot([whole, part], RepetitionCost(5.0, 10.0), 50.0, 5)
    assert [block.claims for block in found] == [["whole", "part"]] * 2
    assert allot([OpenClaim("hopeless", (a,), (0.01,) * 5)], RepetitionCost(5.0, 10.0), 500.0, 5) == []


def test_systems_of_a_block_are_started_one_after_the_other() -> None:
    here = CELLS[0]
    there = here.model_copy(update={"system": "y"})
    both_of_them = OpenClaim("both", (here, there), (1.0,))
    # Each of the two begins for 5 s and runs for 10.
    assert allot([both_of_them], RepetitionCost(5.0, 10.0), 29.0, 5) == []
    assert len(allot([both_of_them], RepetitionCost(5.0, 10.0), 30.0, 5)) == 1


def test_only_the_cells_that_a_claim_speaks_of_are_repeated() -> None:
    ga = published.load("dm_1_0_ga")
    asked = {"inventory": "lab_dm_ga", "profile": "smoke"}
    cells = DmKind().cells(ga, DmKind.Parameters.model_validate(asked))
    trials = plan(cells, 2, seed=1, asked=asked)
    ledger = ledger_check.load(ga)
    verdicts = [verdict("load-falls-at-64", 4), verdict("falls-behind", 3), verdict("dump-split-faster", 9)]
    found = open_claims(ledger, verdicts, trials, ga, None, most=5)
    assert [(claim.id, claim.chances, sorted(cell.slug for cell in claim.cells)) for claim in found] == [
        ("load-falls-at-64", (0.0, 0.8, 0.8), ["mysql57-pool_size32", "mysql57-pool_size64"]),
        # Upstream and DM are two rows of one run.
        ("falls-behind", (0.8, 0.8, 0.8), ["mysql57-result-oltp_insert-threads32-worker_count32-batch100"]),
    ]


def verdict(claim: str, needed: int) -> JudgedClaim:
    """An open claim after two repetitions."""
    said = {"id": claim, "statement": "s", "where": "w", "system": "mysql57", "hypothesis": "h", "sentence": "s"}
    ahead = tuple(0.8 * (2 + more >= needed) for more in range(1, 31))
    return JudgedClaim.model_validate({**said, "verdict": "inconclusive", "decide": "", "n": 2, "chances": ahead})


def test_an_added_block_is_the_same_whoever_adds_it() -> None:
    trials = plan(CELLS, 2, seed=1, asked=ASKED)
    one, two = (another_block(trials, CELLS, seed=1, asked=ASKED) for _ in range(2))
    assert one == two
    assert [t.order for t in one] == [6, 7, 8]
    assert {t.identity for t in one} == {t.identity for t in plan(CELLS, 3, seed=9, asked=ASKED) if t.repetition == 3}


def test_published_durations_come_from_the_design_or_the_table() -> None:
    tidb, alpha = published.load("tidb_v7_1_3_sysbench"), published.load("dm_1_0_alpha")
    assert tidb.duration_s("oltp_insert") == 1200
    assert alpha.duration_s("result") == 900
    assert published.load("ddt_full_scale").duration_s("cache_32") is None


def test_the_account_in_words() -> None:
    spent = MachineTime(
        trials=80, load_s=1800, wall_s=2400, published_s=96_000, share=1800 / 96_000, judged=80, precise=60, planned=75
    )
    said = machine_time.in_words(spent)
    assert "30.0 min of load in 40.0 min of wall time" in said
    assert "26.7 h: 1.9% of that was spent, 26.2 h saved" in said
    assert "60 of 80 loads ended because" in said
    assert "5 trials were added to the 75" in said


def test_a_load_shorter_than_the_periods_of_its_system_runs_to_its_end_and_says_why() -> None:
    lab = rule(Stopping(target=0.02, minimum_s=15, maximum_s=45), 1200, period_s=60)
    asked: list[int] = []
    watcher = RateWatcher(lab, lambda: asked.append(1))
    for i in range(45):
        watcher.seen(100 + (-1) ** i)
    proof = watcher.proof()
    assert asked == []
    assert proof["reason"] == "maximum reached; shorter than 5 periods of 60 s of the system's background work"
    assert machine_time.too_short(proof)
    assert not machine_time.too_short({**proof, "maximum_s": 400})
    spent = MachineTime(trials=5, load_s=225, wall_s=300, judged=5, planned=5, too_short=5)
    assert "5 could not end early: that takes several periods" in machine_time.in_words(spent)


def test_what_a_load_shows_counts_for_the_next_of_its_cell() -> None:
    earlier, asked = EarlierLoads(), rule(Stopping(maximum_s=600), None)
    earlier.keep("a", [100.0 + (-1) ** i for i in range(400)])
    known = earlier.rule("a", asked, period_s=30).background
    assert (known.period_s, known.seen_s, known.stalls) == (30, 400, 0)
    assert earlier.rule("b", asked, period_s=30).background.seen_s == 0


def test_a_second_of_load_is_not_said_to_save_the_hours_that_it_does_not_replace() -> None:
    # 2 s where 1,200 s were published, as the smoke profile does.
    spent = MachineTime(
        trials=45, load_s=90, wall_s=300, published_s=54_000, share=90 / 54_000, judged=0, precise=0, planned=45
    )
    assert machine_time.in_words(spent) == "1.5 min of load in 5.0 min of wall time."


def test_the_forecast_spans_the_earliest_and_the_latest_end(home: Home) -> None:
    asked = {**ASKED, "stopping": Stopping(minimum_s=16, maximum_s=60).model_dump()}
    trials: list[Trial] = plan(CELLS, 20, seed=1, asked=asked)
    made = campaigns.start_or_continue("r", asked, trials, seed=1)
    # 60 trials: two looks at 16 and 20 s make 20 min at least, 60 s each make 60 min at most.
    assert machine_time.forecast(made) == "20 to 60 min of load; repetitions may be added"


def test_the_page_says_in_words_where_a_rate_has_no_interval() -> None:
    short = "shorter than 5 periods of 60 s of the system's background work"
    none = {"reason": f"maximum reached; {short}"}
    assert time_spent.without_interval([none, none, {"reason": "within 2.0%", "half_width": 0.01}]) == (
        f"none for 2 of 3: {short}"
    )
    assert time_spent.without_interval([{"reason": "maximum reached; within 4%", "half_width": 0.04}]) == "known"


class OneLoad:
    """Drives nothing: a load that stalled from second 3 to 8 while `stopped` says who was."""

    def __init__(self, stopped: list[dict[str, object]]):
        self.proof = {"stopped": stopped} if stopped else {}

    def measure(
        self, system: object, levels: object, on_rate: Callable[[float, float], None], _: object
    ) -> Measurement:
        for second, rate in enumerate([100.0] * 3 + [0.0] * 5 + [100.0] * 2, 1):
            on_rate(second, rate)
        return Measurement("load", "executor", 1000, 1010, 0, SUMMARY, [], empty(), "", self.proof)


STOPPED = {"host": "db1", "job": "mariadb", "what": "command", "began": 1003.0, "ended": 1008.0}


@pytest.mark.parametrize(("stopped", "stalls"), [([], 1), ([STOPPED], 0)])
def test_a_disturbed_load_teaches_nothing_about_the_next_ones(stopped: list[dict[str, object]], stalls: int) -> None:
    """A stall of the system's own makes later loads last longer; one that somebody made does not."""
    asked = rule(Stopping(maximum_s=600), None)
    trials = LoadTrials(cast(Any, None), cast(Any, None), ["x"], cast(Any, None), 10, 0, asked)
    trials._systems, trials._driver = {"x": cast(Any, SimpleNamespace(period_s=0.0))}, cast(Any, OneLoad(stopped))
    (trial,) = plan(CELLS[:1], 1, seed=1, asked={})
    trials.measure(trial, lambda second, rate: None)
    learned = trials._earlier.rule(f"{trial.cell.table} {trial.cell.slug}", asked, period_s=0.0)
    assert learned.background.stalls == stalls
