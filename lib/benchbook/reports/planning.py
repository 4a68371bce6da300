"""From what is asked of a report to the trials of its plan: which cells, how often each, under which conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchbook.campaign import design, repetitions
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import Asked
from benchbook.campaign.scaled_levels import KEY, of_plan, scaled
from benchbook.claims import ledger, undecided
from benchbook.hosts import capacity
from benchbook.hosts.inventory import Inventory
from benchbook.parameters import Parameters
from benchbook.profiles import Profile
from benchbook.published.hardware import loads_itself, server_cores
from benchbook.published.tables import Published
from benchbook.reports.kind import Kind


@dataclass(frozen=True)
class Asking:
    """A report with everything that a user says of it: nothing here has asked a host yet."""

    kind: Kind[Any]
    published: Published
    parameters: Parameters
    profile: Profile
    inventory: Inventory


@dataclass(frozen=True)
class Design:
    """The cells as they are to be run, and the conditions that all their trials share."""

    cells: Sequence[Cell]
    asked: Asked


def at_published_levels(asking: Asking) -> Design:
    """Every combination of the levels that the report prints, or that the user names. Raises BadInput."""
    kind, parameters = asking.kind, asking.parameters
    asked = kind.asked(asking.published, parameters, asking.profile, asking.inventory)
    options = {each.name: each.options for each in asking.published.report.design if each.options}
    asked = {**asked, **({"options": options} if options else {})}
    repeating = kind.repeating(asking.profile)
    if repeating and not parameters.repetitions:
        asked = {**asked, "repeat": {**repeating.model_dump(), "looks": repetitions.SHARES}}
    return Design(kind.cells(asking.published, parameters), asked)


def as_run_here(asking: Asking) -> Design:
    """The same with the levels scaled that go with cores, where that is asked for: the hosts say how many they have.

    Raises BadInput for a level that cannot be run, and HostUnusable where a host cannot be reached.
    """
    kind, found = asking.kind, at_published_levels(asking)
    report = asking.published.report
    cores = server_cores(report)
    if (names := kind.scaled(asking.parameters, asking.profile)) and cores:
        here = capacity.of_servers(asking.inventory)
        # A client that shared the published cores, too, is in the figures already.
        clients = kind.clients if here.shared and not loads_itself(report) else ()
        cells, scaling = scaled(found.cells, names, cores_here=here.cores, cores_published=cores, clients=clients)
        found = replace(found, cells=cells, asked={**found.asked, KEY: scaling.model_dump(mode="json")})
    kind.check_cells(found.cells)
    return found


def trials(asking: Asking, found: Design) -> list[Trial]:
    """The plan; where the profile says so and the user does not, cells that decide no claim are repeated less."""
    asked_for, profile = asking.parameters, asking.profile
    count = asked_for.repetitions or asking.kind.repetitions(profile)
    less: Sequence[Cell] = ()
    if profile.repetitions_unjudged and not asked_for.repetitions:
        known = ledger.load(asking.published)
        less = undecided.unjudged(known, found.cells, found.asked, asking.published, of_plan(found.asked))
    fewer = {cell.key: profile.repetitions_unjudged for cell in less}
    return design.plan(found.cells, count, seed=asked_for.seed, asked=found.asked, fewer=fewer)
