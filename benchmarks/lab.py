"""A load report's experiment on the local lab, as a benchmark needs it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchbook import published
from benchbook.build import artefacts
from benchbook.campaign import design
from benchbook.hosts import lab
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.stats.estimates import mean_interval

REPORT = "tidb_v7_1_3_sysbench"


def plan(parameters: LoadParameters) -> tuple[dict[str, Any], list[design.Trial]]:
    """Return what a campaign of these parameters asks for, and its trials; no two plans are alike."""
    report, kind = published.load(REPORT), LoadKind()
    asked = RunRequest(kind, report, parameters, load_profile("smoke"), load_inventory(parameters.inventory)).asked()
    asked = {**asked, "bench": time.time()}
    return asked, design.plan(kind.cells(report, parameters), parameters.repetitions, seed=1, asked=asked)


@contextmanager
def started(parameters: LoadParameters) -> Iterator[LoadTrials]:
    """Start the lab; it ends with the block. Connect with the experiment's `running()`."""
    kind, inventory = LoadKind(), load_inventory(parameters.inventory)
    request = RunRequest(kind, published.load(REPORT), parameters, load_profile("smoke"), inventory)
    for name in kind.builds(request):
        artefacts.provide(name)
    with lab.up_while_used(inventory, lambda line: None):
        yield kind.experiment(request)


def ratio(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return one over other: the geometric mean of pairs with its 95% interval (Student's, of the logarithms)."""
    found = mean_interval([math.log(one / other) for one, other in pairs])
    return {"ratio": math.exp(found.value), "low": math.exp(found.low), "high": math.exp(found.high), "pairs": found.n}
