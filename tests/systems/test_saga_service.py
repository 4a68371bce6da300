"""The client of the business service, against a service whose counter of retries goes on over a reset."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.hosts.http import Answer
from benchbook.systems.saga_service import SagaService


def test_retries_are_those_since_the_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rung of no SQL said 117 retried transactions: those of the rungs before it, and of their warm-ups."""
    retried = 35

    def get(path: str, method: str = "GET") -> Answer:
        return Answer(200, json.dumps({"db_transactions_retried": retried, "in_flight": 0}) if path == "/stats" else "")

    monkeypatch.setattr(SagaService, "door", SimpleNamespace(get=get))
    session = SimpleNamespace(inventory=SimpleNamespace(port=lambda name: 8083))
    business = SagaService(cast(Any, session), cast(Any, None), "http://127.0.0.1:36789", 10)
    business.reset()
    assert business.stats()["db_transactions_retried"] == 0
    retried = 57
    assert business.stats()["db_transactions_retried"] == 22
    business.reset()
    assert business.stats() == {"db_transactions_retried": 0, "in_flight": 0}
