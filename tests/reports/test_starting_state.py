"""How a system comes to the state that trials start from: which of its verbs are called, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook import plugins
from benchbook.errors import BadInput, SystemFailed, WorkloadFailed
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.reports.starting_state import StartingState
from benchbook.systems.base import About, System
from benchbook.workloads.base import LoadGenerator
from benchbook.workloads.sysbench import Dataset


@dataclass
class Recorded:
    """Stands for a system and writes down what it is asked."""

    name: str
    can_reset: bool = True
    kept: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    dead: bool = False
    killed: bool = False
    identity: str = "as ever"

    def __getattr__(self, verb: str) -> Any:
        if verb not in ("start", "stop", "discard", "ready", "refresh", "reset"):
            raise AttributeError(verb)
        return lambda *_: self._do(verb)

    def _do(self, verb: str) -> None:
        self.asked.append(verb)
        self.dead = self.dead and verb != "start"
        if self.killed and verb == "stop":
            raise SystemFailed("had to be killed")

    def has(self, dataset: str) -> bool:
        return dataset in self.kept

    def keep(self, dataset: str) -> None:
        self.asked.append("keep")
        self.kept.add(dataset)

    def check_alive(self) -> None:
        if self.dead:
            raise SystemFailed("gone")

    def about(self) -> About:
        return About(self.name, "1", self.name)


class Filler:
    """Stands for a load generator that prepares."""

    dataset, seed = Dataset(4, 1000), 7

    def prepare(self, session: Session, client: Host, store: Recorded, say: object) -> None:
        store.asked.append("prepare")


def starting(reset: str, *systems: Recorded) -> StartingState:
    nobody = cast(Host, SimpleNamespace())
    known = cast("dict[str, System]", {system.name: system for system in systems})
    return StartingState(cast(Session, None), nobody, known, cast("LoadGenerator[Any]", Filler()), reset)


def bring(start: StartingState, system: Recorded) -> list[str]:
    """What the system is asked when it is brought to its starting state."""
    system.asked.clear()
    start.bring(system.name, lambda _: None)
    return list(system.asked)


@pytest.mark.parametrize(
    ("reset", "restored", "again"),
    [
        ("restore", ["reset"], ["discard", "reset", "start", "ready"]),
        ("restart", [], ["stop", "start", "ready"]),
        ("none", [], []),
    ],
)
def test_data_are_prepared_once_and_then_as_the_profile_s_reset_says(
    reset: str, restored: list[str], again: list[str]
) -> None:
    """Where repetitions start from a copy, the first one does so too."""
    system = Recorded("a")
    start = starting(reset, system)
    assert bring(start, system) == ["refresh", "prepare", "stop", "keep", *restored, "start", "ready"]
    assert bring(start, system) == again


def test_a_system_that_does_not_take_the_load_is_not_filled() -> None:
    system = Recorded("a")

    def refuse(found: System) -> None:
        raise BadInput("too many clients", key=found.name)

    for reset, can_reset in (("restore", True), ("none", False)):
        start = replace(starting(reset, system), check=refuse)
        system.can_reset = can_reset
        with pytest.raises(BadInput, match="too many clients"):
            bring(start, system)
        assert system.asked == (["refresh"] if can_reset else ["ready"])


def test_a_system_whose_data_are_there_is_asked_as_well() -> None:
    system, asked = Recorded("a"), list[str]()
    bring(starting("restore", system), system)
    bring(replace(starting("restore", system), check=lambda found: asked.append(found.name)), system)
    assert asked == ["a"]


def test_a_new_session_restores_what_an_earlier_one_has_kept_whatever_the_reset() -> None:
    system = Recorded("a")
    bring(starting("none", system), system)
    assert bring(starting("none", system), system) == ["discard", "reset", "start", "ready"]


@pytest.mark.parametrize("reset", ["restore", "restart", "none"])
def test_a_server_that_died_starts_from_the_prepared_data_whatever_the_reset(reset: str) -> None:
    system = Recorded("a")
    start = starting(reset, system)
    bring(start, system)
    system.dead = True
    assert bring(start, system) == ["discard", "reset", "start", "ready"]


def test_a_server_that_had_to_be_killed_starts_from_the_prepared_data() -> None:
    """Not from what a crash leaves, which `restart` would take for what a clean end left."""
    system = Recorded("a")
    start = starting("restart", system)
    bring(start, system)
    system.killed = True
    with pytest.raises(SystemFailed, match="had to be killed"):
        bring(start, system)
    system.killed = False
    assert bring(start, system) == ["discard", "reset", "start", "ready"]
    assert bring(start, system) == ["stop", "start", "ready"]


def test_data_of_a_server_that_had_to_be_killed_are_not_set_aside() -> None:
    system = Recorded("a", killed=True)
    with pytest.raises(SystemFailed, match="had to be killed"):
        bring(starting("restart", system), system)
    assert system.kept == set()


def test_a_server_that_dies_while_it_is_filled_is_named_and_not_whoever_noticed() -> None:
    system = Recorded("a")
    start = starting("none", system)

    def notice() -> None:
        system.dead = True
        raise WorkloadFailed("sysbench lost its connection")

    start.besides = notice
    with pytest.raises(SystemFailed, match="gone"):
        bring(start, system)


def test_another_system_ends_the_one_before() -> None:
    first, second = Recorded("a"), Recorded("b")
    start = starting("restart", first, second)
    bring(start, first)
    bring(start, second)
    assert first.asked[-1] == "discard"
    assert bring(start, first) == ["discard", "reset", "start", "ready"]


def test_somebody_else_s_server_is_filled_in_place_and_only_once() -> None:
    system = Recorded("endpoint:x", can_reset=False)
    start = starting("restore", system)
    assert bring(start, system) == ["ready", "prepare", "keep"]
    assert bring(start, system) == ["ready"]


def test_what_the_generator_does_not_fill_is_filled_after_it_and_set_aside_with_it() -> None:
    system = Recorded("a")
    start = starting("restore", system)
    start.besides = lambda: system.asked.append("besides")
    assert bring(start, system) == ["refresh", "prepare", "besides", "stop", "keep", "reset", "start", "ready"]


def test_the_environment_says_what_the_system_is_and_what_it_holds() -> None:
    system = Recorded("a")
    found = starting("restore", system).bring("a", lambda _: None)
    assert found["a"].version == "1"
    assert found["a"].model_dump()["dataset"] == {"tables": 4, "table_size": 1000, "database": "sbtest"}


SYSTEMS = [
    found for name in plugins.names("systems") if issubclass(found := plugins.find("systems", name, key=""), System)
]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_that_stops_in_its_own_way_is_not_discarded_in_that_of_another(system: type[System]) -> None:
    """A TiDB cluster's tidb-servers alone would be killed, in the way that it has from TiDB."""
    stops, discards = (next(kind for kind in system.__mro__ if verb in vars(kind)) for verb in ("stop", "discard"))
    assert discards is System or issubclass(discards, stops)


def test_a_load_generator_that_prepares_nothing_says_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended the run with `vars() argument must have __dict__ attribute`, of a line of ours."""
    monkeypatch.setattr(Filler, "dataset", None)
    system = Recorded("a")
    (described,) = starting("restore", system).bring("a", lambda _: None).values()
    assert described.dataset == {}


@pytest.mark.parametrize("dataset", [{"keys": 500}, SimpleNamespace(keys=500), Dataset])
def test_what_does_not_tell_data_sets_apart_is_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, dataset: object
) -> None:
    """An object without a text of its own would have been another data set in every run."""
    monkeypatch.setattr(Filler, "dataset", dataset)
    monkeypatch.setattr(Filler, "name", "filler", raising=False)
    system = Recorded("a")
    with pytest.raises(BadInput, match=r"^dataset: the load generator filler does not say what it prepares"):
        starting("restore", system).bring("a", lambda _: None)
    assert system.asked == []
