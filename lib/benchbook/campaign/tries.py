"""A trial, tried until a measurement passes the gate; what did not pass is kept, and does not count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchbook.campaign import slowed
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.overhead import phase
from benchbook.campaign.validity import standstills
from benchbook.campaign.validity.disturbances import disturbances, stalls_seen
from benchbook.campaign.validity.driver_heartbeat import DriverHeartbeat
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt
from benchbook.errors import TrialFailed

# So often in all is a trial measured until nothing disturbs it.
TRIES = 3


class MeasurementDisturbed(TrialFailed):
    """Something interfered with every try of a trial: it has no measurement that counts."""


@dataclass(frozen=True)
class Try:
    """One measurement, as the gate looked at it, and what it found to have interfered with it."""

    measured: Measurement
    look: LookedAt
    found: list[Disturbance]

    @property
    def counts(self) -> bool:
        """It may, if no other try is better."""
        return not any(each.hard for each in self.found)

    @property
    def lost(self) -> float:
        """The share of a machine that it had to do without, one way or another."""
        return self.look.taken.lost + self.look.taken_disk.lost + self.look.slowed.by

    @property
    def why(self) -> list[str]:
        return [each.why for each in self.found]


@dataclass
class Patience:
    """How often a trial is tried from which others took CPU: once only, while they have just spoilt every try of one.

    A machine that others use all day would take three times as long, and be no quieter for it. `most` is the profile's.
    """

    most: int = TRIES
    tries: int = field(init=False)

    def __post_init__(self) -> None:
        self.tries = self.most

    def learn(self, found: Sequence[Try]) -> None:
        """From the tries of a trial that has a measurement which counts."""
        self.tries = self.most if not found[-1].found else 1 if all(one.counts for one in found) else self.tries


def undisturbed(
    measure: Callable[[], Measurement],
    say: Callable[[str], None],
    keep: Callable[[Measurement, list[str]], None],
    patience: Patience,
    usual: slowed.Usual | None = None,
) -> Measurement:
    """The first measurement that nothing interfered with, of three at most; `keep` gets the others, with the reasons.

    Where others took CPU, or the disk, from every try (at most as many as `patience` has), or a machine was slower than
    `usual` in each, the least disturbed one counts: its record keeps the share of every try. Where something stood
    still or was lost in every one, none counts. Raises MeasurementDisturbed.
    """
    tries: list[Try] = []
    try:
        while _go_on(tries, patience):
            tries.append(_try(measure, usual))
            if tries[-1].found:
                say(f"disturbed: {tries[-1].why[0]}")
            if not tries[-1].counts:
                keep(tries[-1].measured, tries[-1].why)
    except BaseException:
        # Whatever ended it, Ctrl-C too: what was measured before is kept.
        for one in tries:
            if one.counts:
                keep(one.measured, one.why)
        raise
    counting = [one for one in tries if one.counts]
    if not counting:
        raise MeasurementDisturbed(f"disturbed {len(tries)} times, at last: {'; '.join(tries[-1].why)}")
    best = min(counting, key=lambda one: (bool(one.found), one.lost))
    for other in counting:
        if other is not best:
            keep(other.measured, other.why)
    patience.learn(tries)
    return _with_proof(best, tries)


def _go_on(tries: Sequence[Try], patience: Patience) -> bool:
    if not tries:
        return True
    return bool(tries[-1].found) and len(tries) < (patience.tries if tries[-1].counts else TRIES)


def _try(measure: Callable[[], Measurement], usual: slowed.Usual | None) -> Try:
    with DriverHeartbeat() as driver:
        measured = measure()
    with phase("check"):
        look = LookedAt.of(measured, measured.series, usual)
        here = standstills.driver(look, driver.longest_s, timed_here=measured.timed_by_driver)
        return Try(measured, look, [*disturbances(look), *here])


def _with_proof(best: Try, tries: list[Try]) -> Measurement:
    """The measurement with what its record keeps of the gate."""
    seen = {
        **best.look.taken.proof,
        **best.look.taken_disk.proof,
        **slowed.proof(best.look.speeds),
        "tries": [round(one.look.taken.lost, 4) for one in tries],
    }
    stalls = stalls_seen(best.look)
    return replace(best.measured, proof={**best.measured.proof, **seen, **stalls})
