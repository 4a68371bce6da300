"""Where the time around a load goes: counted by phase, kept in the record, shown by `benchbook runs --overhead`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import StringIO

import pytest
from in_memory import InMemory, begun, run
from kit import Home
from records import failed, record
from rich.console import Console

from benchbook.campaign import overhead as overheads
from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.overhead import Stopwatch
from benchbook.campaign.record import Record, load, save
from benchbook.errors import WorkloadFailed
from benchbook.overview.overhead_list import Overhead, print_overhead
from benchbook.probes.samples import empty


class Hands:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def watch(hands: Hands) -> Stopwatch:
    return Stopwatch(hands)


def test_a_lap_adds_up_to_the_wall_time_without_the_load(watch: Stopwatch, hands: Hands) -> None:
    with watch.phase("start"):
        hands.at += 0.25
    with watch.phase("load"):
        hands.at += 10.5
    hands.at += 0.125
    assert watch.lap(load_s=10.0) == {"start": 0.25, "wait": 0.5, "other": 0.125}


def test_of_two_phases_one_inside_the_other_the_inner_one_has_the_seconds(watch: Stopwatch, hands: Hands) -> None:
    with watch.phase("restart"):
        hands.at += 1
        with watch.phase("restore"):
            hands.at += 2
        hands.at += 4
    assert watch.lap() == {"restart": 5, "restore": 2, "other": 0}


def test_a_phase_that_comes_twice_is_counted_twice_and_every_lap_begins_anew(watch: Stopwatch, hands: Hands) -> None:
    for seconds in (1, 2):
        with watch.phase("prove"):
            hands.at += seconds
    assert watch.lap() == {"prove": 3, "other": 0}
    hands.at += 1
    assert watch.lap() == {"other": 1}


def test_a_phase_that_fails_has_its_seconds_all_the_same(watch: Stopwatch, hands: Hands) -> None:
    with suppress(WorkloadFailed), watch.phase("start"):
        hands.at += 2
        raise WorkloadFailed("no")
    assert watch.lap() == {"start": 2, "other": 0}


def test_where_no_run_counts_a_phase_is_nothing() -> None:
    with overheads.phase("start"):
        pass
    assert overheads.lap() == {}


class Slow(InMemory):
    """Its block takes 2 s to come up, its load 10 s and half a second to be told; the clock is set by hand."""

    def __init__(self, hands: Hands, **trouble: BaseException) -> None:
        super().__init__(**trouble)
        self.hands = hands

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, object]:
        self.hands.at += 2
        return super().begin(block, say)

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        with overheads.phase("load"):
            self.hands.at += 10.5
        return super().measure(trial, on_rate)


@pytest.fixture
def by_hand(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> Hands:
    monkeypatch.setattr(overheads, "Stopwatch", lambda: Stopwatch(hands))
    return hands


def test_a_run_keeps_the_phases_of_every_trial_in_its_record(home: Home, by_hand: Hands) -> None:
    made = begun()
    run(made, Slow(by_hand))
    first, second, *_ = made.records()
    assert (first.overhead_s["restart"], first.overhead_s["wait"]) == (2, 0.5)
    assert {"connect", "check"} <= first.overhead_s.keys()
    assert "restart" not in second.overhead_s, "the block's system is up"
    assert (second.overhead_s["wait"], second.overhead_s["write"]) == (0.5, 0)


def test_a_failed_attempt_keeps_what_it_took_and_the_next_trial_has_only_its_own(home: Home, by_hand: Hands) -> None:
    made = begun()
    name = made.trials[1].id.replace("-", "_")
    run(made, Slow(by_hand, **{name: WorkloadFailed("no")}))
    (attempt,) = made.failures()
    assert attempt.overhead_s["wait"] == 10.5, "nobody knows how much of it was load"
    assert made.records()[1].overhead_s["wait"] == 0.5


@pytest.mark.parametrize("version", [1, 2])
def test_a_record_of_before_has_no_trace_and_is_read_all_the_same(home: Home, version: int) -> None:
    folder = save(home.path, record(), empty(), "")
    written = json.loads((folder / "record.json").read_text())
    del written["overhead_s"]
    (folder / "record.json").write_text(json.dumps({**written, "version": version}))
    assert load(folder).overhead_s == {}


def traced(name: str, **overhead_s: float) -> Record:
    """A load of 10 s and its phases."""
    return record(name, overhead_s=overhead_s)


def test_shares_and_pauses_are_those_worked_out_by_hand() -> None:
    found = Overhead.of([
        traced("a", connect=5, restore=1, restart=2, start=0.5),
        traced("b", start=0.25, write=0.25),
        traced("c", start=0.75, write=0.25),
        record("old"),
        failed("d", overhead_s={"wait": 10.0}),
    ])  # fmt: skip
    assert found.wall_s == 30 + 8.5 + 0.5 + 1 + 10
    assert found.load_share == 30 / 50
    assert list(found.phases()) == [
        ("wait", 10, 10, 0.2), ("connect", 5, 5, 0.1), ("restart", 2, 2, 0.04), ("start", 0.5, 1.5, 0.03),
        ("restore", 1, 1, 0.02), ("write", 0.25, 0.5, 0.01),
    ]  # fmt: skip
    assert found.pauses(between_blocks=True) == [3.5], "connecting is no pause: it comes once"
    assert found.pauses(between_blocks=False) == [0.5, 1, 10]


def test_the_command_shows_phases_share_and_pauses(home: Home, by_hand: Hands) -> None:
    made = begun()
    run(made, Slow(by_hand))
    said = StringIO()
    print_overhead([], Console(file=said, width=200))
    lines = [line.strip() for line in said.getvalue().splitlines()]
    assert f"r {made.id}" in lines
    # Four blocks of two trials, each with a load of 10 s: 80 s of 80 + 8 x 0.5 + 4 x 2.
    assert "87.0% of 92.0 s under load, 8 trials" in lines
    assert "pause between two trials of a block: 0.50 s (median of 4)" in lines
    assert "pause between blocks: 2.50 s (median of 4)" in lines
    assert [line.split() for line in lines if line.startswith("wait")] == [["wait", "0.500", "s", "4.0", "s", "4.3%"]]


def test_campaigns_without_a_trace_are_counted(home: Home) -> None:
    made = begun()
    save(made.folder / "trials", record(made.trials[0].id, identity=made.trials[0].identity), empty(), "")
    said = StringIO()
    print_overhead([], Console(file=said, width=200))
    assert said.getvalue() == "1 campaign recorded before times around loads were kept\n"
