"""Loads of which nothing is kept, in which the servers of a system take the memory that they will use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.campaign.design import Cell, Trial, plan
from benchbook.errors import WorkloadFailed
from benchbook.reports.load import load_trials
from benchbook.reports.load.load_trials import LoadTrials

CELLS = [Cell(table="a", system="x", levels={"threads": n}) for n in (1, 3)]


@dataclass
class Loads:
    """A driver that notes what it ran, and for how long; each load moves the clock."""

    time_s: int = 30
    may_overrun: bool = False
    ran: list[tuple[int, Any]] = field(default_factory=list)

    def warm(self, system: object, levels: Mapping[str, Any]) -> None:
        self.ran.append((self.time_s, levels.get("threads")))
        Clock.now += self.time_s


class Clock:
    now = 0.0

    @classmethod
    def monotonic(cls) -> float:
        return cls.now


@pytest.fixture(autouse=True)
def _timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_trials, "time", Clock)
    monkeypatch.setattr(load_trials.systems, "find", lambda name, inventory: inventory.systems[name])


def trials_of(
    *, reset: str, rehearse_s: float, can_reset: bool = True, timed: bool = True, ends: bool = False
) -> tuple[LoadTrials, Loads]:
    """Of one system; with `ends` its loads fail."""
    driver = Loads()

    def warm(system: object, levels: object) -> None:
        raise WorkloadFailed("no such table")

    if ends:
        driver.warm = warm  # type: ignore[method-assign]
    profile = SimpleNamespace(reset=reset, rehearse_s=rehearse_s)
    generator = SimpleNamespace(timed=timed)
    system = SimpleNamespace(name="x", can_reset=can_reset)
    inventory = SimpleNamespace(systems={"x": system})
    trials = LoadTrials(cast(Any, inventory), cast(Any, profile), ["x"], cast(Any, generator), 2, 0)
    trials._systems, trials._driver = {"x": cast(Any, system)}, cast(Any, driver)
    return trials, driver


def block() -> list[Trial]:
    return plan(CELLS, 1, seed=1, asked={})


@pytest.mark.parametrize(
    ("reset", "rehearse_s", "can_reset", "timed", "done"),
    [
        ("restore", 20.0, True, True, True),
        # What it would leave in the data stays there.
        ("restart", 20.0, True, True, False),
        ("restore", 20.0, False, True, False),
        # A load that counts its requests cannot be asked for a short one.
        ("restore", 20.0, True, False, False),
        ("restore", 0.0, True, True, False),
    ],
)
def test_only_where_it_can_be_short_and_what_it_leaves_undone_and_once(
    reset: str, rehearse_s: float, can_reset: bool, timed: bool, done: bool
) -> None:
    trials, _ = trials_of(reset=reset, rehearse_s=rehearse_s, can_reset=can_reset, timed=timed)
    assert trials.rehearsed() == (["x"] if done else [])
    assert trials._rehearse(block(), lambda text: None) is done
    assert trials._rehearse(block(), lambda text: None) is False


def test_the_loads_of_a_block_take_turns_for_as_long_as_the_profile_says() -> None:
    trials, driver = trials_of(reset="restore", rehearse_s=5.0)
    assert trials._rehearse(block(), lambda text: None)
    first, second = (trial.cell.levels["threads"] for trial in block())
    assert driver.ran == [(2, first), (2, second), (2, first)]


def test_each_load_of_it_has_the_options_of_its_own_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """All had those of the block's first trial, so that what took no memory was loaded."""
    trials, _ = trials_of(reset="restore", rehearse_s=20.0)
    given: list[list[str]] = []

    def warm(self: Loads, system: object, levels: object) -> None:
        given.append(trials.generator.options)
        Clock.now += 10

    monkeypatch.setattr(Loads, "warm", warm)
    trials.options = {("a", "reads"): ["--reads"], ("a", "writes"): ["--writes"]}
    cells = [Cell(table="a", system="x", levels={"workload": name}) for name in ("reads", "writes")]
    assert trials._rehearse(plan(cells, 1, seed=1, asked={}), lambda text: None) is True
    assert sorted(given) == [["--reads"], ["--writes"]]


def test_a_load_that_fails_in_it_is_left_to_its_own_trial() -> None:
    trials, _ = trials_of(reset="restore", rehearse_s=20.0, ends=True)
    assert trials._rehearse(block(), lambda text: None) is True
