"""In which order the servers of a DM report are brought to the state that a trial starts from."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.errors import SystemFailed
from benchbook.reports.dm import pipeline as pipelines
from benchbook.reports.dm.checksum import KeptRows, RowsDiffer
from benchbook.reports.dm.pipeline import Pipeline
from benchbook.reports.dm.task import Databases


class Steps:
    """Notes what is asked of DM and of the upstream; DM fails to start so many times."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failures = 0

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.done.append(name)

    def start(self) -> None:
        self.done.append("start")
        if self.failures:
            self.failures -= 1
            raise SystemFailed("dm-worker has died")

    def taken(self) -> list[str]:
        """The steps since the last time that they were taken."""
        taken, self.done = self.done, []
        return taken


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def pipeline(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    made = Pipeline.__new__(Pipeline)
    target = SimpleNamespace(hosts=[None], endpoints=lambda: [None])
    made.dm, made.target, made.upstream = cast(Any, steps), cast(Any, target), cast(Any, None)
    made.databases = Databases(tables=1, kept={"dm_small": 10}, sync_rows=5)
    made._stands, made._kept = "as new", KeptRows(made.databases.kept)
    monkeypatch.setattr(pipelines, "executing", lambda *_: nullcontext(lambda statement: []))
    monkeypatch.setattr(pipelines.mysql, "begin_binlog_anew", lambda _: steps.done.append("forget"))
    monkeypatch.setattr(made, "_fill_sync", lambda: steps.done.append("fill"))
    return made


def fresh(pipeline: Pipeline, *, sync: bool) -> None:
    pipeline.fresh(sync=sync, check_disk=lambda: None)


def test_dm_is_started_for_the_next_trial_at_the_end_of_the_one_before(pipeline: Pipeline, steps: Steps) -> None:
    fresh(pipeline, sync=True)
    assert steps.taken() == ["fill", "forget", "start", "ready"]
    pipeline.clean(then=False)
    assert steps.taken() == ["stop", "wipe", "forget", "start"]
    fresh(pipeline, sync=False)
    assert steps.taken() == ["ready"]
    pipeline.clean(then=True)
    # Its rows come while DM is started: neither waits for the other.
    assert [step for step in steps.done if step != "fill"] == ["stop", "wipe", "forget", "start"]
    assert steps.taken().count("fill") == 1
    fresh(pipeline, sync=True)
    assert steps.taken() == ["ready"]
    pipeline.clean()
    assert steps.taken() == ["stop", "wipe"]


def test_a_trial_that_was_not_expected_finds_nothing_of_dm(pipeline: Pipeline, steps: Steps) -> None:
    pipeline.clean(then=False)
    steps.taken()
    fresh(pipeline, sync=True)
    assert steps.taken() == ["stop", "wipe", "fill", "forget", "start", "ready"]
    # A trial that failed has cleaned nothing.
    fresh(pipeline, sync=True)
    assert steps.taken() == ["stop", "wipe", "fill", "forget", "start", "ready"]


def test_dm_that_does_not_start_fails_the_trial_that_it_is_started_for(pipeline: Pipeline, steps: Steps) -> None:
    steps.failures = 2
    pipeline.clean(then=False)
    steps.taken()
    with pytest.raises(SystemFailed, match="dm-worker has died"):
        fresh(pipeline, sync=False)
    fresh(pipeline, sync=False)
    assert steps.taken()[-6:] == ["start", "stop", "wipe", "forget", "start", "ready"]


@pytest.fixture
def told_of_drops(pipeline: Pipeline, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the target is emptied is a step as well: of DM's own database the rows."""

    def execute(statement: str) -> list[tuple[str]]:
        if statement.startswith("SELECT TABLE_NAME"):
            return [("benchbook_loader_checkpoint",)]
        steps.done.append("drop" if statement.startswith("DROP DATABASE") else statement)
        return []

    monkeypatch.setattr(pipelines, "executing", lambda *_: nullcontext(execute))


def test_a_sync_whose_rows_could_not_be_filled_tries_again(
    pipeline: Pipeline, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise SystemFailed("the upstream has died")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(pipeline, "_fill_sync", fail)
        pipeline.clean(then=True)
        steps.taken()
        with pytest.raises(SystemFailed, match="the upstream has died"):
            fresh(pipeline, sync=True)
    fresh(pipeline, sync=True)
    assert steps.taken()[-5:] == ["wipe", "fill", "forget", "start", "ready"]


def proving(steps: Steps, *, after: str) -> Any:
    """A proof that takes until this step was taken."""

    def prove() -> None:
        while after not in steps.done:
            threading.Event().wait(0.01)
        steps.done.append("proved")

    return prove


@pytest.mark.usefixtures("told_of_drops")
def test_dm_is_started_for_a_load_while_the_rows_of_the_last_trial_are_proved(pipeline: Pipeline, steps: Steps) -> None:
    pipeline.clean(then=False, prove=proving(steps, after="start"))
    emptied = ["drop", "drop", "DELETE FROM `dm_meta`.`benchbook_loader_checkpoint`"]
    assert steps.taken() == ["stop", "wipe", "forget", "start", "proved", *emptied]
    fresh(pipeline, sync=False)
    assert steps.taken() == ["ready"]


@pytest.mark.usefixtures("told_of_drops")
def test_the_rows_of_a_sync_take_the_place_of_others_once_those_are_proved(pipeline: Pipeline, steps: Steps) -> None:
    pipeline.clean(then=True, prove=proving(steps, after="start"))
    done = steps.taken()
    assert done.index("proved") < done.index("fill")
    assert [step for step in done if step in ("stop", "wipe", "forget", "start")] == ["stop", "wipe", "forget", "start"]


@pytest.mark.usefixtures("told_of_drops")
@pytest.mark.parametrize("then", [True, False, None])
def test_rows_that_differ_fail_the_trial_and_stay_where_they_are(
    pipeline: Pipeline, steps: Steps, then: bool | None
) -> None:
    def prove() -> None:
        raise RowsDiffer("t differs")

    with pytest.raises(RowsDiffer, match="t differs"):
        pipeline.clean(then=then, prove=prove)
    assert {"drop", "fill"}.isdisjoint(steps.taken())
    # Whatever comes next begins with a DM that knows nothing of it.
    fresh(pipeline, sync=False)
    assert [step for step in steps.taken() if step in ("stop", "wipe", "ready")][:2] == ["stop", "wipe"]
