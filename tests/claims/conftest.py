"""The toy report, and one claim judged on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from toy_report import evidence, ledger, published_toy

from benchbook.analysis.results import JudgedClaim as Judged
from benchbook.claims import judge
from benchbook.claims.hypothesis import Hypothesis
from benchbook.published.tables import Published


@pytest.fixture
def toy() -> Published:
    return published_toy()


@pytest.fixture
def judged(toy: Published) -> Callable[..., Judged]:
    """Judge one claim on evidence of a truth."""

    def run(claim: Mapping[str, Any], truth: Mapping[str, Mapping[str, list[float]]], **how: Any) -> Judged:
        return judge.judge(ledger(claim), toy, evidence(truth, **how), judge.JudgedSystem("s"))[0]

    return run


@pytest.fixture
def one() -> Callable[..., Hypothesis]:
    return lambda claim: ledger(claim).claims[0]
