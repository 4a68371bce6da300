"""`compare --confirm`: both sides again in turns, looks that are settled before they are taken, and what is refused."""

from __future__ import annotations

import io
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
from benchbook.compare.pair import CompareParameters, compare
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.reports import planning
from benchbook.reports.planning import Asking, Design

REPORT = "tidb_v7_1_3_sysbench"
CELLS = [Cell(table="oltp_insert", system="tidb", levels={"threads": threads}) for threads in (1, 2)]
ASKED: dict[str, Any] = {"inventory": "lab_test", "profile": "smoke", "hosts": {"tidb1": "127.0.71.11"}}
ORIGIN = PlannedFrom(parameters={"inventory": "lab_test", "systems": ["tidb"]}, servers={})


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
    monkeypatch.setattr(pipeline, "check_run", lambda asking: [])
    monkeypatch.setattr(pipeline, "until_free", lambda *_, **__: None)
    monkeypatch.setattr(pipeline, "hosts_up", lambda *_: nullcontext())
    monkeypatch.setattr(planning, "at_published_levels", lambda asking: Design(CELLS, ASKED))
    numbers = iter(range(2))

    def as_then(campaign: Campaign) -> Asking:
        mine = loads[next(numbers) % 2]
        kind = SimpleNamespace(experiment=lambda *_: mine, builds=lambda *_: [])
        profile = SimpleNamespace(tries=1)
        return cast(
            "Asking",
            SimpleNamespace(kind=kind, published=None, parameters=None, profile=profile, inventory=None),
        )

    monkeypatch.setattr(confirm, "_as_then", as_then)
    return loads


def confirmed(a: Campaign, b: Campaign, budget_s: float = 1800) -> CompareParameters:
    asked = CompareParameters(a=a.id, b=b.id, metric=["tps"])
    return confirm.confirm(asked, budget_s, Console(file=io.StringIO()))


def test_looks_are_few_and_end_with_the_last_round() -> None:
    assert confirm.schedule(1) == [1]
    assert confirm.schedule(7) == [3, 7]
    assert confirm.schedule(20) == [5, 10, 20]
    assert confirm.schedule(100) == [3, 6, 12, 25, 50, 100]


def test_a_loss_is_decided_at_the_first_look_though_there_is_no_history(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    assert compare(a.id, b.id, metric=["tps"]).verdict == "differs"
    again[:] = Loads(seed=2), Loads(0.85, seed=3)
    found = compare(**confirmed(a, b).model_dump())
    assert (found.verdict, found.exit_status) == ("regression", 1)
    assert found.took_turns
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
    found = compare(**asked.model_dump())
    assert (found.verdict, found.exit_status) == ("no regression", 0)
    looks = len(found.a.plan.looks_after or [])
    assert f"hold with {1 - 0.05 / looks:.1%}" in found.history_note()
    for campaign in (found.a, found.b):
        campaign.keep_looks([3])
    once = compare(**asked.model_dump())
    assert (once.cells.high < found.cells.high).all(), "one look has the whole error rate"


def test_an_interrupted_pair_is_gone_on_with_and_a_finished_one_is_not(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    stopping = Loads(0.85, seed=3)
    stopping.trouble["r02-tidb-threads2"] = KeyboardInterrupt()
    again[:] = Loads(seed=2), stopping
    with pytest.raises(RunInterrupted, match="the same command goes on from there"):
        confirmed(a, b)
    first = confirm._unfinished(a, b)
    assert first is not None
    assert {trial.id for trial in first[1].missing()} >= {"r02-tidb-threads2"}
    sides = tuple(
        confirm.Side(cast("Asking", SimpleNamespace(
            kind=SimpleNamespace(experiment=lambda *_, mine=mine: mine), published=None, parameters=None,
            profile=SimpleNamespace(tries=1), inventory=None)), campaign, [])
        for mine, campaign in zip(again, first, strict=True)
    )  # fmt: skip
    turns = CompareParameters(a=str(first[0].folder), b=str(first[1].folder), metric=["tps"])
    before = compare(a.id, b.id, metric=["tps"])
    confirm._until_decided((sides[0], sides[1]), turns, before, 1800, Console(file=io.StringIO()))
    assert first[0].missing() == first[1].missing() == []
    assert compare(**turns.model_dump()).verdict == "regression"
    assert confirm._unfinished(a, b) is None


def test_every_second_round_begins_with_b(again: list[Loads]) -> None:
    a, b = recorded(Loads()), recorded(Loads(0.85, seed=1))
    again[:] = Loads(seed=2), Loads(0.85, seed=3)
    found = compare(**confirmed(a, b).model_dump())
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
    with pytest.raises(BadInput, match="cannot be run again as it was") as refused:
        confirmed(a, b)
    assert (refused.value.file, str(refused.value.key)[:6]) == (a.folder / "plan.json", "asked.")


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
