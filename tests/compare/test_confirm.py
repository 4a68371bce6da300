"""`compare --confirm`: both sides again in turns, looks that are settled before they are taken, and what is refused."""

from __future__ import annotations

import io
import itertools
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from in_memory import InMemory
from kit import Home
from rich.console import Console

from benchbook import confirm, pipeline
from benchbook.campaign import run, store
from benchbook.campaign.design import Cell, PlannedFrom, Trial, plan
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.record import Quantity
from benchbook.campaign.run import RunInterrupted
from benchbook.campaign.store import Campaign
from benchbook.compare.pair import CompareParameters, Comparison, compare
from benchbook.errors import BadInput, TrialFailed
from benchbook.hosts.inventory import load_inventory
from benchbook.reports import planning
from benchbook.reports.kind import RunRequest
from benchbook.reports.planning import Design

REPORT = "tidb_v7_1_3_sysbench"
CELLS = [Cell(table="oltp_insert", system="tidb", levels={"threads": threads}) for threads in (1, 2)]
ASKED: dict[str, Any] = {"inventory": "lab_test", "profile": "smoke", "hosts": {"tidb1": "127.0.71.11"}}
ORIGIN = PlannedFrom(parameters={"inventory": "lab_test", "systems": ["tidb"]}, settings={})


class Loads(InMemory):
    """Trials of 1000 tps, 1% apart, times `speed`."""

    def __init__(self, speed: float = 1.0, seed: int = 0, **trouble: BaseException) -> None:
        super().__init__(**trouble)
        self.speed, self.random = speed, np.random.default_rng(seed)

    def measure(self, trial: Trial, on_rate: Any) -> Measurement:
        tps = 1000 * self.speed * float(np.exp(self.random.normal(0, 0.01)))
        return replace(super().measure(trial, on_rate), summary={"tps": Quantity(value=tps, unit="1/s")})


def recorded(loads: Loads, *, origin: PlannedFrom | None = ORIGIN, **asked: Any) -> Campaign:
    said = {**ASKED, **asked}
    trials = plan(CELLS, 2, seed=1, asked=said)
    made = store.start_or_continue(REPORT, said, trials, seed=1, planned_from=origin)
    run.run(made, loads, lambda progress: None)
    return made


@pytest.fixture
def again(home: Home, monkeypatch: pytest.MonkeyPatch) -> list[Loads]:
    """What A and B run on, again: no host is asked for anything."""
    loads: list[Loads] = []
    monkeypatch.setattr(pipeline, "check_run", lambda request: [])
    monkeypatch.setattr(pipeline, "wait_until_free", lambda *_, **__: None)
    monkeypatch.setattr(pipeline, "hosts_up", lambda *_: nullcontext())
    monkeypatch.setattr(planning, "at_published_levels", lambda request: Design(CELLS, ASKED))
    numbers = itertools.count()

    def as_then(campaign: Campaign) -> RunRequest:
        mine = loads[next(numbers) % 2]
        kind = SimpleNamespace(experiment=lambda *_: mine, builds=lambda *_: [])
        profile = SimpleNamespace(tries=1)
        return RunRequest(*cast(Any, (kind, None, None, profile, None)))

    monkeypatch.setattr(confirm, "_as_then", as_then)
    return loads


def confirmed(a: Campaign, b: Campaign, budget_s: float = 1800) -> CompareParameters:
    asked = CompareParameters(a=a.id, b=b.id, metric=["tps"])
    return confirm.confirm(asked, budget_s, Console(file=io.StringIO()))


def undecided(again: list[Loads], monkeypatch: pytest.MonkeyPatch) -> tuple[Campaign, Campaign, Comparison]:
    """Two campaigns 3% apart, run again in two rounds, after which the budget is spent."""
    a, b = recorded(Loads()), recorded(Loads(0.97, seed=1))
    again[:] = Loads(seed=2), Loads(0.97, seed=3)
    monkeypatch.setattr(confirm, "MOST_ROUNDS", 2)
    return a, b, compare(confirmed(a, b))


def test_looks_are_few_and_end_with_the_last_round() -> None:
    assert confirm.schedule(1) == [1]
    assert confirm.schedule(7) == [3, 7]
    assert confirm.schedule(20) == [5, 10, 20]
    assert confirm.schedule(100) == [3, 6, 12, 25, 50, 100]


def test_a_loss_is_decided_at_the_first_look_though_there_is_no_history(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    assert compare(CompareParameters(a=a.id, b=b.id, metric=["tps"])).verdict == "differs"
    again[:] = Loads(seed=2), Loads(0.85, seed=3)
    found = compare(confirmed(a, b))
    assert (found.verdict, found.exit_status) == ("regression", 1)
    assert found.interleaved
    assert found.effects == {}
    assert set(found.cells.n_a) == set(found.cells.n_b) == {3}
    assert found.a.plan.looks_after == found.b.plan.looks_after
    assert found.a.environment().repetitions_ended == "compare --confirm: decided after 3 rounds"
    assert found.a.folder.is_relative_to(a.folder)
    assert [folder.name for folder in store.recorded(REPORT)] == [a.id, b.id], "a pair is no campaign of its own"


def test_equal_sides_are_no_regression_and_intervals_hold_for_all_looks(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(seed=1))
    again[:] = Loads(seed=2), Loads(seed=3)
    asked = confirmed(a, b)
    found = compare(asked)
    assert (found.verdict, found.exit_status) == ("no regression", 0)
    [looks] = found.a.plan.looks_after or []
    assert f"hold with {1 - 0.05 * 0.8 / len(looks):.1%}" in found.history_note()
    for campaign in (found.a, found.b):
        campaign.keep_looks([[3]])
    once = compare(asked)
    assert (once.cells.high < found.cells.high).all(), "one look has all that the first run spends"


def test_an_undecided_pair_goes_on_with_what_is_left_of_the_error_rate(
    again: list[Loads], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, first = undecided(again, monkeypatch)
    assert (first.verdict, first.a.plan.looks_after) == ("undecided", [[2]])
    assert first.a.environment().repetitions_ended == "compare --confirm: the budget was spent after 2 rounds"
    assert first.confidence == "96.0%"
    monkeypatch.setattr(confirm, "MOST_ROUNDS", 12)
    then = compare(confirmed(a, b))
    assert then.a.folder == first.a.folder
    assert then.a.plan.looks_after == then.b.plan.looks_after == [[2], [3, 6, 12]]
    assert then.confidence == f"{1 - 0.05 * 0.8 * 0.2 / 3:.1%}", "the second run has 80% of the fifth that was left"
    assert then.verdict in {"regression", "no regression"}
    rounds = len(then.a.records())
    assert compare(confirmed(a, b)).verdict == then.verdict
    again_asked = CompareParameters(a=a.id, b=b.id, metric=["tps"], margin=0.0001)
    confirm.confirm(again_asked, 1800, Console(file=io.StringIO()))
    assert len(then.a.records()) == rounds, "a decided pair is not run again, whatever is asked of it then"


def test_a_gate_that_closes_in_the_pair_ends_it_after_the_first_round(
    again: list[Loads], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    again[:] = Loads(seed=2), Loads(0.85, seed=3)
    begin = confirm._begin

    def otherwise(*said: Any) -> tuple[Campaign, Campaign]:
        one, other = begin(*said)
        plan = json.loads((other.folder / "plan.json").read_text())
        plan["asked"]["time_s"] = 7
        (other.folder / "plan.json").write_text(json.dumps(plan))
        return one, Campaign(other.folder)

    monkeypatch.setattr(confirm, "_begin", otherwise)
    found = compare(confirmed(a, b))
    assert (found.verdict, found.exit_status) == ("refused", 3)
    assert "asked.time_s" in found.sentence()
    assert set(found.cells.n_a) == {1}
    assert found.a.plan.looks_after == [], "nothing of the error rate is spent"
    assert found.a.environment().repetitions_ended == "compare --confirm: refused after 1 round"
    monkeypatch.setattr(confirm, "_begin", begin)
    then = compare(confirmed(a, b))
    assert then.a.folder != found.a.folder, "the round of other settings counts in no later pair"
    assert (then.verdict, set(then.cells.n_b)) == ("regression", {3})


def test_a_gate_that_closes_after_looks_were_taken_ends_the_pair_for_good(
    again: list[Loads], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, first = undecided(again, monkeypatch)
    plan = json.loads((first.b.folder / "plan.json").read_text())
    plan["asked"]["time_s"] = 7
    (first.b.folder / "plan.json").write_text(json.dumps(plan))
    monkeypatch.setattr(confirm, "MOST_ROUNDS", 12)
    found = compare(confirmed(a, b))
    assert (found.a.folder, found.verdict) == (first.a.folder, "refused")
    assert len(list(first.a.folder.parent.parent.iterdir())) == 1, "no other pair begins with an error rate of its own"


def test_a_failed_trial_is_not_tried_again_in_later_rounds(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    failing = Loads(0.85, seed=3)
    failing.trouble["r01-tidb-threads2"] = TrialFailed("no answer")
    again[:] = Loads(seed=2), failing
    found = compare(confirmed(a, b))
    assert [record.id for record in found.b.attempts()] == ["r01-tidb-threads2.1"]
    assert dict(zip(found.cells.levels, found.cells.n_b, strict=True)) == {"threads 1": 3, "threads 2": 2}


def test_a_side_without_a_figure_ends_after_the_first_round(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    failing = Loads()
    failing.trouble |= {f"r01-tidb-threads{threads}": TrialFailed("no answer") for threads in (1, 2)}
    again[:] = Loads(seed=2), failing
    with pytest.raises(confirm.NotConfirmed, match="B has no figure after round 1: no answer"):
        confirmed(a, b)
    failing.trouble.clear()
    found = compare(confirmed(a, b))
    assert set(found.cells.n_a) == set(found.cells.n_b), "once mended, the round that did not come up is run again"
    assert found.b.missing() == []


def test_an_interrupted_pair_is_gone_on_with(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    stopping = Loads(0.85, seed=3)
    stopping.trouble["r02-tidb-threads2"] = KeyboardInterrupt()
    again[:] = Loads(seed=2), stopping
    with pytest.raises(RunInterrupted, match="the same command goes on from there"):
        confirmed(a, b)
    first = confirm._latest(a, b, {"tidb": "tidb"})
    assert first is not None
    assert {trial.id for trial in first[1].missing()} >= {"r02-tidb-threads2"}
    stopping.trouble.clear()
    found = compare(confirmed(a, b))
    assert (found.a.folder, found.verdict) == (first[0].folder, "regression")
    assert found.a.missing() == found.b.missing() == []


def test_every_second_round_begins_with_b(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    again[:] = Loads(seed=2), Loads(0.85, seed=3)
    found = compare(confirmed(a, b))
    began = sorted(
        (times.began, side) for side, one in (("a", found.a), ("b", found.b)) for times in one.environment().runs
    )
    assert "".join(side for _, side in began) == "abbaab"


def test_sides_on_other_hosts_are_refused(home: Home) -> None:
    a, b = recorded(Loads()), recorded(Loads(seed=1), hosts={"tidb1": "10.0.0.7"})
    with pytest.raises(BadInput, match="A and B differ by their hosts") as refused:
        confirmed(a, b)
    assert refused.value.key == "--confirm"


def test_a_campaign_that_does_not_say_how_it_was_run_is_refused(home: Home) -> None:
    a, b = recorded(Loads(), origin=None), recorded(Loads(seed=1))
    with pytest.raises(BadInput, match="does not say how to run this campaign again"):
        confirmed(a, b)


def test_what_changed_since_is_named(home: Home) -> None:
    a, b = recorded(Loads(), time_s=7), recorded(Loads(seed=1), time_s=7)
    with pytest.raises(BadInput, match=r"cannot be run again as it was: .*time_s was 7, is ") as refused:
        confirmed(a, b)
    assert refused.value.file == a.folder / "plan.json"
    assert "asked.time_s" in str(refused.value.key)


def test_what_the_inventory_sets_otherwise_since_is_named_with_both_values() -> None:
    then = {"settings": {"hosts": {"db1": {"cpus": [0, 1]}}}, "repeat": {"budget_s": 60}, "systems": ["mariadb"]}
    today = {"settings": {"hosts": {"db1": {"cpus": [0]}}}, "systems": ["mariadb"]}
    assert confirm._changed(then, today) == {"settings.hosts.db1.cpus": "settings.hosts.db1.cpus was [0, 1], is [0]"}
    assert confirm._changed(then, {"systems": ["mariadb"]}) == {
        "settings.hosts.db1.cpus": "settings.hosts.db1.cpus was [0, 1], is not set"
    }


def test_a_budget_below_two_rounds_is_refused(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(seed=1))
    path = a.folder / "environment.json"
    times = json.loads(Path(path).read_text())
    times["runs"] = [{"began": 0, "ended": 1200}]
    path.write_text(json.dumps(times))
    again[:] = Loads(), Loads()
    with pytest.raises(BadInput, match=r"A and B take 10\.0 min a repetition") as refused:
        confirmed(a, b, budget_s=600)
    assert (refused.value.key, refused.value.value) == ("--budget", "10min")


def test_settings_are_those_that_a_campaign_had(home: Home) -> None:
    now = load_inventory("lab_test")
    then = confirm._set_as(now, {"mariadb": {"settings": {"innodb_flush_log_at_trx_commit": 2}}})
    assert then.settings("mariadb").settings == {"innodb_flush_log_at_trx_commit": 2}
    assert then.port("mariadb") == now.port("mariadb")
    assert then.hosts == now.hosts
