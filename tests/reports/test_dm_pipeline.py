"""In which order the servers of a DM report are brought to the state that a trial starts from."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.errors import SystemFailed
from benchbook.reports.dm import pipeline as pipelines
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
    made._is_clean = True
    monkeypatch.setattr(pipelines.mysql, "begin_binlog_anew", lambda _: steps.done.append("forget"))
    monkeypatch.setattr(made, "_fill_sync", lambda: steps.done.append("fill"))

    def execute(statement: str) -> list[tuple[str]]:
        """That the target is emptied is a step as well: of DM's own database the rows."""
        if statement.startswith("SELECT TABLE_NAME"):
            return [("benchbook_loader_checkpoint",)]
        steps.done.append("drop" if statement.startswith("DROP DATABASE") else statement)
        return []

    monkeypatch.setattr(pipelines, "executing", lambda *_: nullcontext(execute))
    return made


def fresh(pipeline: Pipeline, *, sync: bool) -> None:
    pipeline.fresh(sync=sync)


EMPTIED = ["drop", "drop", "DELETE FROM `dm_meta`.`benchbook_loader_checkpoint`"]


def test_a_trial_finds_nothing_of_the_one_before(pipeline: Pipeline, steps: Steps) -> None:
    fresh(pipeline, sync=True)
    assert steps.taken() == ["fill", "forget", "start", "ready"]
    pipeline.clean()
    done = steps.taken()
    assert (done[0], sorted(done[1:])) == ("stop", sorted(["wipe", *EMPTIED]))
    fresh(pipeline, sync=False)
    assert steps.taken() == ["forget", "start", "ready"]


def test_after_a_trial_that_failed_dm_and_target_are_cleaned_first(pipeline: Pipeline, steps: Steps) -> None:
    steps.failures = 1
    with pytest.raises(SystemFailed, match="dm-worker has died"):
        fresh(pipeline, sync=False)
    steps.taken()
    fresh(pipeline, sync=True)
    done = steps.taken()
    assert (done[0], done[-4:]) == ("stop", ["fill", "forget", "start", "ready"])
    assert set(done) >= {"wipe", *EMPTIED}
