"""Campaigns: planned once, resumed, retried, and never counted twice; on an experiment that lives in memory."""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from in_memory import ASKED, CELLS, InMemory, begun, run
from kit import Home
from rendered import Rendered

from benchbook.analysis import samples
from benchbook.campaign import run as campaign_run
from benchbook.campaign import store as campaigns
from benchbook.campaign.design import Cell, Trial, another_block, blocks, plan
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.origin import Origin
from benchbook.campaign.run import RunStopped
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import TrialSamples
from benchbook.display import differences
from benchbook.errors import (
    BadInput,
    ConnectionLost,
    HostUnreachable,
    HostUnusable,
    NotWritten,
    RemoteFailed,
    SystemFailed,
    WorkloadFailed,
)
from benchbook.probes.samples import COLUMNS, empty


def test_a_plan_says_how_many_cells_are_measured_less_often_than_others(home: Home) -> None:
    trials = plan(CELLS, 3, seed=1, asked=ASKED, fewer={CELLS[0].key: 1})
    shown = differences.plan(campaigns.start_or_continue("r", ASKED, trials, seed=1)).data
    assert f"1 of {len(CELLS)} cells are measured once: they decide no claim that can be tested here" in shown
    rows = Rendered(shown).table("Campaign")
    # Of system x, one of two cells is measured once: 1 + 3 trials.
    assert [(row["system"], row["repetitions"], row["trials"]) for row in rows] == [
        ("x", "1 to 3", "4"),
        ("y", "3", "6"),
    ]
    assert "measured once" not in differences.plan(begun(seed=2)).data


def test_the_plan_is_on_disk_before_anything_runs(home: Home) -> None:
    made = begun()
    written = json.loads((made.folder / "plan.json").read_text())
    assert [t["id"] for t in written["trials"]] == [t.id for t in made.trials]
    assert (written["seed"], written["asked"]) == (1, ASKED)
    assert made.missing() == made.trials
    assert (made.records(), made.failures(), made.environment()) == ([], [], Environment())


def test_a_campaign_runs_every_trial_once_in_the_planned_order(home: Home) -> None:
    made, experiment = begun(), InMemory()
    told = run(made, experiment)
    assert experiment.measured == [t.id for t in made.trials] == [r.id for r in made.records()]
    assert experiment.calls[0] == "up"
    assert experiment.calls[-1] == "down"
    assert [c for c in experiment.calls if c.startswith("begin")] == [
        f"begin {part[0].cell.system} 2" for part in blocks(made.trials)
    ]
    about = json.loads((made.folder / "environment.json").read_text())
    assert about["hosts"] == {"db1": {"cores": 2}}
    assert {name: about["systems"][name] for name in "xy"} == {"x": {"version": "1"}, "y": {"version": "1"}}
    assert len(about["runs"]) == len(made.environment().runs) == 1
    assert told[-1].finished
    assert (told[-1].done, told[-1].failed, told[-1].left) == (8, 0, 0)
    assert {r.identity for r in made.records()} == {t.identity for t in made.trials}
    assert (made.folder / "trials" / made.trials[0].id / "output.txt").read_text() == "printed"


def test_the_unit_of_a_rate_is_the_experiment_s_word(home: Home) -> None:
    lines = [p.line() for p in run(begun(), InMemory()) if p.rate is not None]
    assert len(lines) == 8
    assert all(line.endswith(" 100 MiB/s now, 100 so far") for line in lines), lines


def like(settings: dict[str, Any], **trouble: BaseException) -> InMemory:
    made = InMemory(**trouble)
    vars(made).update(settings)
    return made


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({}, {"cores": 4}, r"db1\.cores: .* begun on another host \(2\) \(got 4\)"),
        ({}, {"version": "2"}, r"version: .* begun on another system \('1'\)"),
        (
            {"facts": {"governor": "performance"}},
            {"facts": {"governor": "powersave"}},
            r"db1\.governor: .* on another host \('performance'\) \(got 'powersave'\)",
        ),
        (
            {"loads": "sysbench 1.0.20"},
            {"loads": "sysbench 1.1.0"},
            r"load_generator: .* another load generator \('sysbench 1\.0\.20'\)",
        ),
        (
            {"facts": {"memory_bytes": 67_433_664_512}},
            {"facts": {"memory_bytes": 33_433_664_512}},
            r"db1\.memory_bytes: .* another host \(67433664512\) \(got 33433664512\)",
        ),
        # What the kernel leaves of 64 GB after a reboot is not the same to the byte.
        ({"facts": {"memory_bytes": 67_433_664_512}}, {"facts": {"memory_bytes": 67_433_648_128}}, ""),
    ],
)
def test_an_interrupted_campaign_runs_what_is_left_where_it_was_begun_and_nowhere_else(
    home: Home, before: dict[str, Any], now: dict[str, Any], said: str
) -> None:
    made = begun()
    with pytest.raises(KeyboardInterrupt):
        run(made, like(before, **{made.trials[2].id: KeyboardInterrupt()}))
    assert (len(made.records()), made.failures()) == (2, [])
    kept = {path: path.stat().st_mtime_ns for path in made.folder.glob("trials/*/record.json")}
    if said:
        with pytest.raises(BadInput, match=said):
            run(begun(), like(now))
        assert len(made.records()) == 2
    again = like(before if said else now)
    run(begun(), again)
    assert again.measured == [trial.id for trial in made.trials[2:]]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_nothing_is_connected_when_nothing_is_missing(home: Home) -> None:
    made = begun()
    run(made, InMemory())
    again = InMemory()
    assert run(made, again)[-1].finished
    assert again.calls == []


def test_the_same_request_continues_what_is_unfinished_and_begins_anew_after_its_end(home: Home) -> None:
    first = begun()
    assert begun().id == first.id
    assert begun(profile="lab").id != first.id
    run(first, InMemory())
    second = begun()
    assert second.id != first.id
    assert begun().id == second.id


def test_a_campaign_is_gone_on_with_and_not_its_copy(home: Home) -> None:
    """Of the two only the original is shown: what was measured into the copy would be lost."""
    made = begun()
    shutil.copytree(made.folder, made.folder.with_name(f"backup-{made.id}"))
    assert begun().id == made.id


def test_what_another_notebook_added_to_the_plan_counts_and_stays(home: Home) -> None:
    """Two notebooks hold one campaign: a repetition that one added and measured is no less the other's."""
    here = begun()
    elsewhere = Campaign(here.folder)
    run(elsewhere, InMemory())
    assert (len(here.records()), here.missing()) == (8, [])
    for holder, trials in ((elsewhere, 9), (here, 10)):
        holder.extend(another_block(holder.trials, CELLS[:1], seed=1, asked=ASKED))
        run(holder, InMemory())
        assert [len(each.records()) for each in (here, elsewhere, Campaign(here.folder))] == [trials] * 3
    assert [trial.repetition for trial in here.trials[8:]] == [3, 4]


def test_what_is_finished_stays_finished_unless_it_is_asked_for_again(home: Home) -> None:
    def opened() -> Campaign:
        return campaigns.start_or_continue("r", ASKED, plan(CELLS, 2, seed=1, asked=ASKED), seed=1, again=False)

    first = opened()
    assert opened().id == first.id, "unfinished: gone on with"
    run(first, InMemory())
    assert (opened().id, opened().missing()) == (first.id, [])
    second = begun()
    assert second.id != first.id
    assert opened().id == second.id, "one that was begun anew is gone on with"


def test_a_name_that_is_not_resolved_today_begins_no_other_campaign(home: Home) -> None:
    """Which systems run alike is asked of DNS when a run is planned."""
    alike = {**ASKED, "alike": {"endpoint:b": "endpoint:a"}}
    first = campaigns.start_or_continue("r", alike, plan(CELLS, 2, seed=1, asked=alike), seed=1)
    then = campaigns.start_or_continue("r", ASKED, plan(CELLS, 2, seed=1, asked=ASKED), seed=1)
    assert (then.id, then.asked) == (first.id, alike)


def test_a_new_campaign_is_the_latest_whatever_the_clock_says(home: Home) -> None:
    """A clock that had been ahead was set right: for as long as it had been ahead, the older run was the latest one."""
    made = campaigns.start_or_continue("r", ASKED, plan(CELLS, 1, seed=1, asked=ASKED), seed=1)
    ahead = made.folder.rename(made.folder.with_name("29991231T235959999999-0123456789ab"))
    (ahead.parent / "notes").mkdir()
    names = [ahead.name]
    for which in ("a", "b"):
        asked = {**ASKED, "which": which}
        names.append(campaigns.start_or_continue("r", asked, plan(CELLS, 1, seed=1, asked=asked), seed=1).id)
    assert names == sorted(names)
    assert [name.partition("-")[0] for name in names[1:]] == ["30000101T000000000000", "30000101T000000000001"]


def test_a_run_that_is_asked_to_stop_ends_after_the_trial(home: Home) -> None:
    made, experiment = begun(), InMemory()
    asked = iter([False, True])
    with pytest.raises(RunStopped, match=r"stopped after r01-.*; 6 trials are left: .* goes on from there"):
        campaign_run.run(made, experiment, lambda _: None, stop=lambda: next(asked))
    assert experiment.measured == [trial.id for trial in made.trials[:2]]
    assert experiment.calls[-1] == "down"
    assert (len(made.records()), made.failures(), len(made.environment().runs)) == (2, [], 1)
    again = InMemory()
    run(begun(), again)
    assert again.measured == [trial.id for trial in made.trials[2:]]


def test_the_last_trial_ends_the_run_whatever_was_asked(home: Home) -> None:
    made = begun()
    run(made, InMemory())
    (made.folder / "trials" / made.trials[-1].id / "record.json").unlink()
    (made.folder / "trials" / made.trials[-1].id).rename(made.folder / "moved")
    campaign_run.run(begun(), InMemory(), lambda _: None, stop=lambda: True)
    assert made.missing() == []


def test_the_time_of_a_run_counts_however_it_ended(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(campaign_run, "time", SimpleNamespace(time=lambda: now[0], monotonic=time.monotonic))
    kits = iter(["1", "2"])
    monkeypatch.setattr(campaign_run, "of_this_checkout", lambda: Origin(next(kits), "abc", ""))
    made = begun()

    class TakesTime(InMemory):
        """Every trial takes ten seconds; `spent` is what a driver that is killed in it leaves."""

        def __init__(self, **trouble: BaseException):
            super().__init__(**trouble)
            self.spent: list[float] = []

        def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
            self.spent.append(Campaign(made.folder).spent_s)
            now[0] += 10
            return super().measure(trial, on_rate)

    first = TakesTime(**{made.trials[4].id: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run(made, first)
    # Blocks of two trials: 20 s each. The fifth trial was interrupted after its ten seconds.
    assert (first.spent, made.spent_s) == ([0, 0, 20, 20, 40], 50)
    now[0] = 9000.0
    run(begun(), TakesTime())
    assert [(one.began, one.ended) for one in made.environment().runs] == [(1000, 1050), (9000, 9040)]
    assert made.environment().measured_by == ["1 (commit abc)", "2 (commit abc)"]
    assert made.spent_s == 90


def test_only_the_trial_that_is_missing_is_run_again(home: Home) -> None:
    made = begun()
    run(made, InMemory())
    gone = made.trials[5]
    (made.folder / "trials" / gone.id).rename(made.folder / "trials" / f"{gone.id}.partial")
    again = InMemory()
    run(begun(), again)
    assert again.measured == [gone.id]
    assert sorted(p.name for p in (made.folder / "trials").iterdir()) == sorted(t.id for t in made.trials)


def test_a_record_of_another_request_does_not_count(home: Home) -> None:
    made = begun()
    run(made, InMemory())
    path = made.folder / "trials" / made.trials[0].id / "record.json"
    path.write_text(path.read_text().replace(made.trials[0].identity, "f" * 12))
    assert [t.id for t in made.missing()] == [made.trials[0].id]


@pytest.mark.parametrize(
    "problem",
    [
        WorkloadFailed("sysbench: FATAL", output="one\nFATAL: two\n"),
        SystemFailed("tidb has died", output="one\nFATAL: two\n"),
        HostUnreachable("gone"),
        RemoteFailed("db1", "cp", 1, "No space left on device"),
        ConnectionLost("broke"),
    ],
)
def test_a_failed_trial_is_recorded_with_its_reason_and_retried_alone(home: Home, problem: Exception) -> None:
    made = begun()
    third = made.trials[2].id
    told = run(made, InMemory(**{third: problem}))
    assert (told[-1].done, told[-1].failed) == (7, 1)
    assert any(p.news == f"FAILED {third}: {problem}" for p in told)
    (kept,) = made.failures()
    assert (kept.id, kept.status, kept.summary) == (f"{third}.1", "failed", {})
    assert kept.failure is not None
    assert (kept.failure.kind, kept.failure.message) == (type(problem).__name__, str(problem))
    assert kept.failure.tail == getattr(problem, "output", "").splitlines()
    again = InMemory()
    run(begun(), again)
    assert again.measured == [third]
    assert made.failures() == []
    assert len(made.records()) == 8
    assert (made.folder / "failed" / f"{third}.1" / "record.json").exists(), "the failed attempt stays on record"


def test_after_a_failure_the_rest_of_its_block_begins_anew(home: Home) -> None:
    made = begun()
    first = made.trials[0]
    experiment = InMemory(**{first.id: SystemFailed("died")})
    run(made, experiment)
    system = first.cell.system
    assert experiment.calls[1:5] == [f"begin {system} 2", first.id, f"begin {system} 1", made.trials[1].id]


def series(*stolen: float) -> pd.DataFrame:
    """Two cores of one host over a load from 1000 to 1010, with this much of them stolen in each of ten seconds.

    The last share holds for all further seconds; before the load everything was stolen.
    """
    shares = [1.0, *stolen, *[stolen[-1]] * (10 - len(stolen))]
    rows = [
        (1000.0 + i, "db1", "host", f"cpu.{state}", value, "cores")
        for i, share in enumerate(shares)
        for state, value in (("user", 2 - 2 * share), ("steal", 2 * share))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


class Stolen(InMemory):
    """Other machines take CPU from the first tries of every trial: `shares` of the tries, the last one ever after."""

    def __init__(self, *shares: float):
        super().__init__()
        self.shares = shares

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        made, tries = super().measure(trial, on_rate), self.calls.count(trial.id)
        return replace(made, series=series(self.shares[min(tries, len(self.shares)) - 1]), output=f"try {tries}")


@pytest.mark.parametrize(
    ("shares", "kept", "share"),
    # Up to a fiftieth counts as none; of three disturbed tries the first one counts, whatever the others were like.
    [((0.02,), 1, 0.02), ((0.1, 0.0), 2, 0.0), ((0.1, 0.04, 0.3), 1, 0.1)],
)
def test_a_trial_from_which_cpu_was_stolen_is_run_again(
    home: Home, shares: tuple[float, ...], kept: int, share: float
) -> None:
    made, experiment = begun(), Stolen(*shares)
    told = run(made, experiment)
    record = made.records()[0]
    assert experiment.calls.count(record.id) == len(shares)
    assert record.proof["stolen"] == pytest.approx(share)
    assert record.proof["tries"] == pytest.approx(list(shares))
    assert (made.folder / "trials" / record.id / "output.txt").read_text().startswith(f"try {kept}")
    assert len(made.records()) == len(made.trials)
    again = [p.step for p in told if "taken by other virtual machines" in p.step]
    disturbed = sum(one > 0.02 for one in shares)
    # A machine that others use all day is no quieter for a second try: each further trial is tried once.
    chronic = disturbed == len(shares)
    assert len(again) == (disturbed + len(made.trials) - 1 if chronic else disturbed * len(made.trials))


def test_a_busy_machine_is_tried_again_once_it_has_been_quiet(home: Home) -> None:
    """Of eight trials the first and the second are disturbed for as long as they are tried, the fourth once."""
    made = begun()

    class Busy(Stolen):
        def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
            place, tried = made.trials.index(trial), self.calls.count(trial.id)
            self.shares = (0.1,) if place < 2 or (place == 3 and not tried) else (0.0,)
            return super().measure(trial, on_rate)

    run(made, Busy())
    assert [len(record.proof["tries"]) for record in made.records()] == [3, 1, 1, 2, 1, 1, 1, 1]


def test_a_profile_says_how_often_a_trial_is_tried_from_which_others_took_cpu(home: Home) -> None:
    made, experiment = begun(), Stolen(0.1, 0.0)
    campaign_run.run(made, experiment, lambda _: None, tries=1)
    assert sorted(experiment.measured) == sorted(trial.id for trial in made.trials), "each once"
    assert [record.proof["tries"] for record in made.records()] == [[0.1]] * 8


def test_what_other_programs_use_disturbs_however_idle_the_machine_is(home: Home) -> None:
    made = begun()
    used = [(1000.0 + i, "db1", "others", name, 0.5, "cores") for i in range(11) for name in ("cpu", "cpu.make")]
    busy = pd.concat([series(0.0), pd.DataFrame(used, columns=COLUMNS)])

    class Beside(InMemory):
        def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
            made, first = super().measure(trial, on_rate), self.calls.count(trial.id) == 1
            return replace(made, series=busy if first else series(0.0))

    told = run(made, Beside())
    why = "25% of the CPU was used by programs that are no part of the run, most of it by make"
    assert [p.step for p in told if p.step.startswith("disturbed")] == [f"disturbed: {why}"] * 8
    assert made.records()[0].proof["tries"] == [0.25, 0.0]
    assert made.records()[0].proof["lost"] == 0.0


def test_stolen_cpu_is_that_of_the_most_affected_host_during_the_load() -> None:
    later = series(0.9).assign(t=lambda rows: rows.t + 1000)
    both = pd.concat([series(0.0, 0.1), series(0.3).assign(host="db2"), later])

    def stolen(seen: pd.DataFrame) -> float:
        return TrialSamples(1000, 1010, seen, {}, {}).cpu_taken.stolen

    assert stolen(both) == pytest.approx(0.3)
    assert stolen(series(0.0, 0.0, 0.0, 0.0, 0.0, 0.1)) == pytest.approx(0.05)
    assert stolen(empty()) == 0


# -- what passes the gate -------------------------------------------------------------------------------------------


def test_a_try_that_may_count_is_kept_where_the_next_one_fails(home: Home) -> None:
    class Dies(Disturbed):
        def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
            made = super().measure(trial, on_rate)
            if self.calls.count(trial.id) == 2:
                raise SystemFailed("the server died")
            return made

    made = begun()
    run(made, Dies(shares=(0.1,)))
    first = made.trials[0].id
    assert [f.failure.message for f in made.failures() if f.failure and f.id.startswith(first)] == ["the server died"]
    assert [r.disturbed for r in made.disturbed() if r.id.startswith(first)] == [
        ["10% of the CPU was taken by other virtual machines"]
    ]


STOPPED = {"stopped": [{"host": "db1", "job": "mariadb", "what": "command", "began": 1003.0, "ended": 1006.5}]}
WHY = "mariadb on db1 was stopped (SIGSTOP) for 3.5 of 10.0 s"


class Disturbed(InMemory):
    """The first tries of every trial are disturbed as `proofs` say, one after the other; then nothing interferes."""

    def __init__(self, *proofs: dict[str, Any], shares: Sequence[float] = (0.0,)):
        super().__init__()
        self.proofs, self.shares = proofs, shares

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        made, tries = super().measure(trial, on_rate), self.calls.count(trial.id)
        found = self.proofs[tries - 1] if tries <= len(self.proofs) else {}
        taken = series(self.shares[min(tries, len(self.shares)) - 1])
        return replace(made, proof=found, series=taken, output=f"try {tries}")


def test_a_disturbed_measurement_is_kept_with_its_reason_and_run_again_at_once(home: Home) -> None:
    made, experiment = begun(), Disturbed(STOPPED)
    told = run(made, experiment)
    first = made.trials[0].id
    assert experiment.calls[2:4] == [first, first]
    assert (told[-1].done, told[-1].failed, made.missing(), made.failures()) == (8, 0, [], [])
    assert [p.step for p in told if p.step.startswith("disturbed")] == [f"disturbed: {WHY}"] * 8
    kept = made.disturbed()
    assert {(r.id.rpartition(".")[0], r.id.rpartition(".")[2]) for r in kept} == {(t.id, "1") for t in made.trials}
    assert {(r.status, *r.disturbed) for r in kept} == {("disturbed", WHY)}
    folder = made.folder / "disturbed" / f"{first}.1"
    assert sorted(path.name for path in folder.iterdir()) == ["output.txt", "record.json", "series.parquet"]
    assert (folder / "output.txt").read_text() == "try 1"
    assert (made.folder / "trials" / first / "output.txt").read_text() == "try 2"
    assert all("stopped" not in record.proof for record in made.records()), "only what passed is counted"


def test_a_trial_that_is_disturbed_every_time_has_no_record_and_is_run_again_later(home: Home) -> None:
    made, experiment = begun(), Disturbed(STOPPED, STOPPED, STOPPED)
    told = run(made, experiment)
    assert (told[-1].done, told[-1].failed, len(made.missing())) == (0, 8, 8)
    assert all(experiment.calls.count(trial.id) == 3 for trial in made.trials)
    assert len(made.disturbed()) == 24
    (why,) = {record.failure.message for record in made.failures() if record.failure}
    assert why == f"disturbed 3 times, at last: {WHY}"
    again = run(begun(), Disturbed())
    assert (again[-1].done, made.missing(), made.failures()) == (8, [], [])
    assert len(made.disturbed()) == 24, "they stay on disk"


def test_of_tries_that_may_count_the_first_one_does(home: Home) -> None:
    """Stopped, then a tenth stolen, then a twentieth: the second counts, the others are kept beside it."""
    made = begun()
    run(made, Disturbed(STOPPED, shares=(0.0, 0.1, 0.05)))
    first = made.records()[0]
    assert (first.proof["stolen"], first.proof["tries"]) == (0.1, [0.0, 0.1, 0.05])
    kept = {r.id: r.disturbed for r in made.disturbed() if r.id.startswith(first.id)}
    assert kept == {
        f"{first.id}.1": [WHY],
        f"{first.id}.2": ["5% of the CPU was taken by other virtual machines"],
    }


def test_a_defect_ends_the_campaign_and_stops_everything(home: Home) -> None:
    made = begun()
    experiment = InMemory(**{made.trials[2].id: ZeroDivisionError("a defect")})
    with pytest.raises(ZeroDivisionError):
        run(made, experiment)
    assert experiment.calls[-1] == "down"
    assert len(made.records()) == 2
    assert made.failures() == []


class Refused(InMemory):
    """What a load needs is missing: said before it begins."""

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        if trial.id in self.trouble:
            raise self.trouble.pop(trial.id)
        return super().measure(trial, on_rate)


def test_bad_input_ends_the_campaign_before_any_load_and_fails_a_trial_after_it(home: Home) -> None:
    made = begun()
    with pytest.raises(HostUnusable):
        run(made, Refused(**{made.trials[0].id: HostUnusable("too little disk")}))
    assert (made.records(), made.failures()) == ([], [])
    told = run(made, Refused(**{made.trials[1].id: HostUnusable("too little disk")}))
    assert (told[-1].done, told[-1].failed) == (7, 1)
    assert [p.loaded for p in told[:2]] == [False, False]
    assert told[-1].loaded
    (kept,) = made.failures()
    assert kept.failure is not None
    assert (kept.failure.kind, kept.failure.message) == ("HostUnusable", "too little disk.")


class ComesUp(InMemory):
    """Its system does not come up at first: `tries` say when begin fails, in the order of its calls."""

    def __init__(self, *tries: Exception | None, **trouble: BaseException):
        super().__init__(**trouble)
        self.tries = list(tries)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        found = super().begin(block, say)
        if self.tries and (problem := self.tries.pop(0)):
            raise problem
        return found


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between two tries to bring a system up, which take no time here."""
    found: list[float] = []
    # Of this module alone: threads that other tests have left sleep as they do.
    monkeypatch.setattr(
        campaign_run, "time", SimpleNamespace(sleep=found.append, time=time.time, monotonic=time.monotonic)
    )
    return found


@pytest.mark.parametrize(
    "problem", [HostUnreachable("host db1 is unreachable"), SystemFailed("it died"), ConnectionLost("it broke")]
)
def test_what_breaks_while_a_system_comes_up_costs_no_trial(
    home: Home, waited: list[float], problem: Exception
) -> None:
    made, experiment = begun(), ComesUp(problem, problem)
    told = run(made, experiment)
    assert (told[-1].done, told[-1].failed) == (8, 0)
    assert experiment.measured == [t.id for t in made.trials]
    assert waited == [5, 30]
    assert [p.step for p in told if "again" in p.step] == [f"trying again in {s} s: {problem}" for s in (5, 30)]
    attempts = sorted(path.name for path in (made.folder / "failed").iterdir())
    assert attempts == [f"{made.trials[0].id}.1", f"{made.trials[0].id}.2"], "what went wrong stays on record"


def test_a_fault_in_a_load_and_in_the_begin_after_it_costs_one_trial(home: Home, waited: list[float]) -> None:
    made = begun()
    lost = made.trials[0].id
    experiment = ComesUp(None, HostUnreachable("away"), **{lost: HostUnreachable("away")})
    run(made, experiment)
    assert [r.id for r in made.failures()] == [f"{lost}.1"]
    assert len(made.records()) == 7


def test_a_system_that_does_not_come_up_ends_the_campaign_with_one_failed_trial(
    home: Home, waited: list[float]
) -> None:
    made, experiment = begun(), ComesUp(*[HostUnreachable("host db1 is unreachable")] * 3)
    system = made.trials[0].cell.system
    with pytest.raises(campaign_run.CampaignStopped) as caught:
        run(made, experiment)
    assert str(caught.value) == (
        f"{system} did not come up 3 times in a row: host db1 is unreachable. Once that is mended, run the same again: "
        "only what is missing is run"
    )
    assert experiment.calls[-1] == "down"
    (kept,) = made.failures()
    assert kept.id == f"{made.trials[0].id}.3"
    assert waited == [5, 30]


def test_a_record_that_cannot_be_written_is_a_sentence_and_leaves_the_others(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = begun()
    third = made.trials[2].id
    write = pd.DataFrame.to_parquet

    def full(frame: pd.DataFrame, path: Path, **options: Any) -> None:
        if third in str(path):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(frame, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(NotWritten, match=rf"the record of {third} cannot be written: No space left on device .* Fix:"):
        run(made, InMemory())
    assert [r.id for r in made.records()] == [t.id for t in made.trials[:2]]
    assert len(list((made.folder / "trials").iterdir())) == 2, "the part that was written makes room"
    monkeypatch.setattr(pd.DataFrame, "to_parquet", write)
    again = InMemory()
    run(begun(), again)
    assert again.measured == [t.id for t in made.trials[2:]]


def test_replay_takes_the_latest_that_has_a_record_or_the_one_that_is_named(home: Home) -> None:
    nothing = r"nothing has been recorded of r\. Fix: run it first: benchbook report r$"
    with pytest.raises(BadInput, match=nothing):
        campaigns.latest("r")
    first = begun()
    with pytest.raises(BadInput, match=nothing):
        campaigns.latest("r")
    with pytest.raises(BadInput, match=rf"no recorded campaign to replay \(got 'x'\)\. Fix: name one of {first.id}$"):
        campaigns.latest("r", "x")
    run(first, InMemory())
    second = begun()
    assert campaigns.latest("r").id == first.id, "the second has a plan and no record"
    assert campaigns.latest("r", second.id).id == second.id
    run(second, InMemory())
    assert campaigns.latest("r").id == second.id
    with pytest.raises(BadInput, match=first.id):
        campaigns.latest("r", "nowhere")


def test_every_attempt_is_kept_whatever_a_level_is_called_and_the_last_one_is_shown(home: Home) -> None:
    """A word in brackets is a pattern of file names; and as text, attempt 10 comes before attempt 9."""
    cells = [Cell(table="t", system="x", levels={"mix": "[YCSB B]"})]
    made = campaigns.start_or_continue("r", ASKED, plan(cells, 1, seed=1, asked=ASKED), seed=1)
    for attempt in range(1, 12):
        run(made, InMemory(**{made.trials[0].id: WorkloadFailed(f"attempt {attempt}")}))
    assert {one.id for one in made.attempts()} == {f"r01-x-[YCSB B].{number}" for number in range(1, 12)}
    (shown,) = made.failures()
    assert shown.failure is not None
    assert shown.failure.message == "attempt 11"
    # One that was removed leaves its number to nobody.
    shutil.rmtree(made.folder / "failed" / "r01-x-[YCSB B].1")
    run(made, InMemory(**{made.trials[0].id: WorkloadFailed("attempt 12")}))
    assert (made.folder / "failed" / "r01-x-[YCSB B].12").is_dir()


def test_what_was_disturbed_stands_nowhere_but_in_its_own_table(home: Home) -> None:
    made = begun()
    run(made, Disturbed(STOPPED))
    rows = samples.disturbances(made)
    assert len(rows) == 8
    assert {*rows.trial} == {trial.id for trial in made.trials}
    assert {*zip(rows["try"], rows.why, strict=True)} == {(1, WHY)}
    assert {record.status for record in made.records()} == {"done"}
