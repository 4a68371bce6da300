"""A campaign of a real experiment, begun for one test."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any, TypeVar, cast

from benchbook import published
from benchbook.campaign import design, store
from benchbook.campaign.store import Campaign
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.parameters import Parameters
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest, kind_of

Broken = TypeVar("Broken")


def begun(
    report: str, what: Parameters, repetitions: int = 1, inventory: Inventory | None = None
) -> tuple[Any, Campaign]:
    """What runs it, and its campaign; a test that is run again begins one of its own."""
    where = inventory or load_inventory(what.inventory)
    request = RunRequest(kind_of(report), published.load(report), what, load_profile(what.profile), where)
    asked = {**request.asked(), "test": time.time_ns()}
    cells = request.kind.cells(request.published, what)
    trials = design.plan(cells, repetitions, seed=1, asked=asked)
    return request.experiment(), store.start_or_continue(report, asked, trials, seed=1)


def as_one_that_breaks(kind: type[Broken], experiment: Any) -> Broken:
    """The same experiment, of a class that breaks something."""
    names = [each.name for each in fields(cast(Any, kind)) if each.init]
    return kind(**{name: getattr(experiment, name) for name in names if hasattr(experiment, name)})
