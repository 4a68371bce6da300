"""The rounds of a fault campaign, drawn by its seed: as many in each phase, and in a phase as many of each fault."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

from fault_campaign import catalogue
from fault_campaign.catalogue import Fault, Phase
from fault_campaign.moments import Moment, moments

T = TypeVar("T")
# Trials of the plan before the one that is hit, at most: two blocks of two.
_BEFORE = (0, 1, 2)


@dataclass(frozen=True)
class PlannedRound:
    """One round: what is broken, in which phase, and at which of the phase's moments.

    `records`: the moment counts once so many trials are recorded. `place`: the disk or the host that is meant.
    `held_s`: how long what can be undone lasts: a stop, or an sshd that is away.
    """

    number: int
    phase: Phase
    fault: Fault
    moment: Moment
    records: int
    place: str
    held_s: float

    @property
    def ends_the_run(self) -> bool:
        """The driver itself cannot go on, or record: what it had in hand is lost, and the rest is the rerun's."""
        of_driver = self.fault.kind in catalogue.ON_DISKS and self.place == catalogue.DISKS[0]
        return of_driver or (
            self.fault.kind == catalogue.KILL and self.fault.target in (catalogue.DRIVER, catalogue.KERNEL)
        )


def draw(seed: int, rounds: int, *, lease_s: float, without: Collection[str] = ()) -> list[PlannedRound]:
    """`rounds` rounds; the kinds of fault in `without` cannot be made here. One seed always draws the same."""
    phases = _in_turn(random.Random(f"{seed} phases"), list(catalogue.PHASES))
    faults = {
        phase: _in_turn(
            random.Random(f"{seed} {phase}"), [f for f in catalogue.of_phase(phase) if f.kind not in without]
        )
        for phase in catalogue.PHASES
    }
    drawn = []
    for number, phase in zip(range(1, rounds + 1), phases, strict=False):
        drawn.append(settle(random.Random(f"{seed} {number}"), number, phase, next(faults[phase]), lease_s))
    return drawn


def settle(dice: random.Random, number: int, phase: Phase, fault: Fault, lease_s: float) -> PlannedRound:
    """What is left to chance about a fault in a phase: moment, place, duration (within the lease, or beyond it)."""
    places = catalogue.DISKS if fault.kind in catalogue.ON_DISKS else catalogue.HOSTS
    fitting = [moment for moment in moments(phase) if moment.has(fault)]
    records = dice.choice(_BEFORE) if phase in ("load", "write") else 2 if phase == "reset" else 0
    held_s = dice.choice((lease_s / 3, lease_s * 1.5))
    return PlannedRound(number, phase, fault, dice.choice(fitting), records, dice.choice(places), held_s)


def _in_turn(dice: random.Random, values: list[T]) -> Iterator[T]:
    """Every value once, in an order of chance, then all again in another."""
    while True:
        yield from dice.sample(values, len(values))
