"""What a sampled number is: declared by the probe that samples it, never guessed from its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """What a sampled number is: a level as it stands, or a counter, which becomes a rate per second.

    `unit` is that of the series: of a level its own, of a counter that of its rate.
    """

    unit: str
    counter: bool


def level(unit: str) -> Metric:
    """A number that goes up and down, in `unit`."""
    return Metric(unit, counter=False)


def counter(rate_unit: str = "1/s") -> Metric:
    """A number that only grows; `rate_unit` is the unit of its growth per second: a counter of ms grows in "ms/s"."""
    return Metric(rate_unit, counter=True)
