"""Loads of which nothing is kept: until the servers of a system have the memory that they will use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.campaign.design import Cell, Trial, plan
from benchbook.errors import WorkloadFailed
from benchbook.hosts.host_models import HostFacts
from benchbook.reports.load import load_trials
from benchbook.reports.load.load_trials import LoadTrials, rehearse

MIB = 1 << 20
CELLS = [Cell(table="a", system="x", levels={"threads": n}) for n in (1, 3)]


class Host:
    """It has so many MiB left before the first load, after it, and so on."""

    name = "db1"

    def __init__(self, *left_mib: int) -> None:
        self.left = list(left_mib)

    def facts(self) -> HostFacts:
        return HostFacts(memory_available_bytes=MIB * (self.left.pop(0) if len(self.left) > 1 else self.left[0]))


@pytest.fixture(autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_trials, "gather", Host.facts)


@dataclass
class Loads:
    """A driver that notes what it ran, and for how long."""

    time_s: int = 30
    may_overrun: bool = False
    ran: list[tuple[int, Any]] = field(default_factory=list)

    def warm(self, system: object, levels: Mapping[str, Any]) -> None:
        self.ran.append((self.time_s, levels["threads"]))


def rehearsed(*left_mib: int, most_s: float = 60.0, driver: Loads | None = None) -> list[tuple[int, Any]]:
    driver = driver or Loads()
    system = SimpleNamespace(hosts=[Host(*left_mib)])
    block = [
        one.model_copy(update={"cell": cell}) for one, cell in zip(plan(CELLS, 1, seed=1, asked={}), CELLS, strict=True)
    ]
    rehearse(cast(Any, driver), block, lambda trial: cast(Any, system), most_s)
    return driver.ran


def test_a_system_is_loaded_in_turn_until_two_loads_in_a_row_take_no_more_memory() -> None:
    # 300, 200, 64 (no more than a server may take), 65 (more), 10, 0.
    assert rehearsed(1000, 700, 500, 436, 371, 361, 361) == [(2, n) for n in (1, 3, 1, 3, 1, 3)]
    assert rehearsed(1000, 1001, 999) == [(2, 1), (2, 3)]
    assert rehearsed(1000, 1000, 1000, driver=Loads(time_s=1)) == [(1, 1), (1, 3)]


def test_it_is_loaded_no_longer_than_the_profile_says(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(load_trials.time, "monotonic", lambda: float(next(clock)))
    assert len(rehearsed(*range(100_000, 0, -500), most_s=9.0)) == 4


def trials_of(
    *, reset: str, rehearse_s: float, can_reset: bool = True, timed: bool = True, ends: bool = False
) -> tuple[LoadTrials, Loads]:
    """Of one system whose servers take no memory; with `ends` its loads fail."""
    driver = Loads()

    def warm(system: object, levels: object) -> None:
        raise WorkloadFailed("no such table")

    if ends:
        driver.warm = warm  # type: ignore[method-assign]
    profile = SimpleNamespace(reset=reset, rehearse_s=rehearse_s)
    generator = SimpleNamespace(timed=timed)
    trials = LoadTrials(cast(Any, None), cast(Any, profile), ["x"], cast(Any, generator), 2, 0)
    system = SimpleNamespace(name="x", hosts=[Host(1000)], can_reset=can_reset)
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
    assert trials._rehearse(block(), lambda text: None) is done
    assert trials._rehearse(block(), lambda text: None) is False


def test_each_load_of_it_has_the_options_of_its_own_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """All had those of the block's first trial, so that what took no memory was loaded."""
    trials, _ = trials_of(reset="restore", rehearse_s=20.0)
    given: list[list[str]] = []
    monkeypatch.setattr(Loads, "warm", lambda self, system, levels: given.append(trials.generator.options))
    trials.options = {("a", "reads"): ["--reads"], ("a", "writes"): ["--writes"]}
    cells = [Cell(table="a", system="x", levels={"workload": name}) for name in ("reads", "writes")]
    assert trials._rehearse(plan(cells, 1, seed=1, asked={}), lambda text: None) is True
    assert sorted(given) == [["--reads"], ["--writes"]]


def test_a_load_that_fails_in_it_is_left_to_its_own_trial() -> None:
    trials, _ = trials_of(reset="restore", rehearse_s=20.0, ends=True)
    assert trials._rehearse(block(), lambda text: None) is True
