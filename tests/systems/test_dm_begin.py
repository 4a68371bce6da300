"""A task of DM goes on as soon as its worker runs it, whatever dm-master has still to say; what it refuses is told.

dm-master 1.0.7 asks its worker at once whether a task has begun, and then once a second (`waitOperationOk` of its
dm/master/server.go): here it answers when it is told to.
"""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kit import FIXTURES

from benchbook.systems import dm_server
from benchbook.systems.dm_server import DM
from benchbook.systems.dm_status import CommandRefused

PRINTED_BY = FIXTURES / "dm"
# Printed by dm-ctl 1.0.7 for a task that was started a second time.
REFUSED = json.loads((PRINTED_BY / "start_task_refused.json").read_text())
ACCEPTED = {"result": True, "msg": "", "workers": [{"result": True, "worker": "w:8262", "msg": ""}]}


class Asked(DM):
    """Its servers are what dm-ctl printed: `states` one after the other, and dm-master's answer once it is let."""

    def __init__(self, states: list[str], answer: dict[str, object]) -> None:
        self.states, self.answer, self.may_answer = iter(states), answer, threading.Event()
        self.files: list[str] = []

    @property
    def master(self) -> Any:
        return SimpleNamespace(
            path=lambda *parts: "/".join(parts),
            write=lambda file, _: self.files.append(file),
            run=lambda words: self.files.remove(words[-1]),
        )

    def address(self, role: str) -> str:
        return "w:8262"

    def ctl(self, *words: str) -> str:
        if words[0] == "start-task":
            assert self.may_answer.wait(30)
            return json.dumps(self.answer)
        state = next(self.states)
        if state == "then dm-master answers":
            self.may_answer.set()
            state = "paused_load"
        return (PRINTED_BY / f"status_{state}.json").read_text()


@pytest.fixture(autouse=True)
def _task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dm_server.dm_config, "render", lambda _: "")


def test_a_task_that_the_worker_runs_has_begun_before_dm_master_says_so() -> None:
    dm = Asked(["relay_paused", "unknown_task", "dumping"], ACCEPTED)
    dm.begin_task(cast(Any, None))
    assert not dm.may_answer.is_set()
    assert (next(dm.states, "no more"), dm.files) == ("no more", [])
    dm.may_answer.set()


def test_what_dm_master_refuses_is_told_in_its_words() -> None:
    """The worker has paused the task: why, only the answer says."""
    dm = Asked(["unknown_task", "then dm-master answers", *["paused_load"] * 1000], REFUSED)
    with pytest.raises(CommandRefused, match=r"\[code=40055:.*\] sub task benchbook already exists$"):
        dm.begin_task(cast(Any, None))
    assert dm.files == []
