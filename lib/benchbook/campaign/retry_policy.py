"""A trial, tried until a measurement passes the gate.

Which try counts must not depend on what the system under test did in it. So the first try that nothing disturbed
counts; where what others take disturbs every one, the first of them does, and says so. All others are kept beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchbook.campaign.experiment import Measurement
from benchbook.campaign.validity import Disturbance, TrialSamples, disturbances, driver_stood_still, proof
from benchbook.errors import TrialFailed
from benchbook.hosts.heartbeat import DriverHeartbeat

# So often in all is a trial measured until nothing disturbs it.
TRIES = 3


class MeasurementDisturbed(TrialFailed):
    """Something interfered with every try of a trial: it has no measurement that counts."""


@dataclass(frozen=True)
class Try:
    """One measurement, and what interfered with it."""

    measured: Measurement
    samples: TrialSamples
    found: list[Disturbance]

    @property
    def may_count(self) -> bool:
        return not any(each.hard for each in self.found)

    @property
    def why(self) -> list[str]:
        return [each.why for each in self.found]


@dataclass
class RetryPolicy:
    """How often a trial is tried from which others took CPU or disk: once, while they spoilt all tries of the last one.

    A machine that others use all day would take three times as long, and be no quieter for it. `most` is the profile's.
    """

    most: int = TRIES
    tries: int = field(init=False)

    def __post_init__(self) -> None:
        self.tries = self.most

    def goes_on(self, tries: Sequence[Try]) -> bool:
        """Return whether a trial with these tries is tried once more."""
        if not tries:
            return True
        return bool(tries[-1].found) and len(tries) < (self.tries if tries[-1].may_count else TRIES)

    def learn(self, tries: Sequence[Try]) -> None:
        """Take note of the tries of a trial that has a measurement which counts."""
        if not tries[-1].found:
            self.tries = self.most
        elif all(one.may_count for one in tries):
            self.tries = 1


def measure_undisturbed(
    measure: Callable[[], Measurement],
    say: Callable[[str], None],
    keep: Callable[[Measurement, list[str]], None],
    policy: RetryPolicy,
) -> Measurement:
    """Return the first measurement that nothing interfered with, or else the first that may count.

    `keep` gets the others, in their order, with what interfered. Raise MeasurementDisturbed where none may count.
    """
    tries: list[Try] = []
    chosen = None
    try:
        while policy.goes_on(tries):
            tries.append(_try(measure))
            if tries[-1].found:
                say(f"disturbed: {tries[-1].why[0]}")
            if not tries[-1].may_count:
                keep(tries[-1].measured, tries[-1].why)
        undisturbed = [one for one in tries if not one.found]
        chosen = next(iter([*undisturbed, *(one for one in tries if one.may_count)]), None)
    finally:
        # Whatever ended it, Ctrl-C too: what was measured before is kept.
        for one in tries:
            if one.may_count and one is not chosen:
                keep(one.measured, one.why)
    if chosen is None:
        raise MeasurementDisturbed(f"disturbed {len(tries)} times, at last: {'; '.join(tries[-1].why)}")
    policy.learn(tries)
    taken = [round(one.samples.cpu_taken.lost, 4) for one in tries]
    return replace(chosen.measured, proof={**chosen.measured.proof, "tries": taken})


def _try(measure: Callable[[], Measurement]) -> Try:
    with DriverHeartbeat() as driver:
        measured = measure()
    samples = TrialSamples(measured.started, measured.ended, measured.series, measured.summary, measured.proof)
    late = driver_stood_still(samples, driver.stood_s(), timed_here=measured.timed_by_driver)
    kept = replace(measured, proof={**measured.proof, **proof(samples)})
    return Try(kept, samples, [*disturbances(samples), *late])
