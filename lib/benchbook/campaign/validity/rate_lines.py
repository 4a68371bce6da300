"""The load generator's own lines, one every so many seconds: lines that did not come, and seconds in which nothing did.

A generator that prints while nothing is done saw a stall. Whether the system under test stalled by itself, or somebody
had stopped its process, is for `standstills` to say: here a stall is counted, for the page, and disturbs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from benchbook.campaign.validity.looked_at import Disturbance, LookedAt
from benchbook.hosts.about import Json

# A record says under this key which of its series the lines are.
RATES = "rates"
# A stall lasts so many seconds at least, and at the rate of the load's other seconds it has cost so many transactions:
# of one transaction a second, two seconds in five hundred are empty by chance.
STALL_S, MISSED = 2.0, 10.0


@dataclass(frozen=True)
class RateLines:
    """(t, value) of the lines, in order; the load that they tell of ran from `began` to `ended`."""

    rates: Sequence[tuple[float, float]]
    every_s: float
    began: float
    ended: float

    @property
    def expected(self) -> int:
        return int((self.ended - self.began) / self.every_s)

    @property
    def longest_gap_s(self) -> float:
        """The longest time without a line, the load's begin and end among them."""
        marks = [self.began, *(t for t, _ in self.rates), self.ended]
        return float(max(after - before for before, after in pairwise(marks)))


@dataclass(frozen=True)
class Stalls:
    """How often the load came to nothing, and for how long at most, in seconds."""

    count: int
    longest_s: float


def declared(source: str, every_s: float, began: float, ended: float) -> Json:
    """What a load leaves in its proof, so that its lines are found among its series; nothing if it prints none."""
    said = {"source": source, "metric": "tps", "every_s": every_s, "began": began, "ended": ended}
    return {RATES: said} if every_s else {}


def lines_of(look: LookedAt) -> RateLines | None:
    """None where the generator prints no such lines."""
    said = look.proof.get(RATES)
    if not said:
        return None
    mine = look.samples(source=said["source"], metric=said["metric"])
    return RateLines(sorted((one.t, one.value) for one in mine), said["every_s"], said["began"], said["ended"])


def lost_lines(look: LookedAt) -> Iterator[Disturbance]:
    """A generator that stood still prints nothing: lines are missing, one after the other."""
    lines = lines_of(look)
    if lines and lines.longest_gap_s > lines.every_s + look.tolerated_s:
        why = (
            f"the load generator printed no rate for {lines.longest_gap_s:.1f} s: {len(lines.rates)} lines of "
            f"{lines.expected} came"
        )
        yield Disturbance("interval lines", why)


def longest_request(look: LookedAt) -> Iterator[Disturbance]:
    """No request takes longer than the load that it belongs to: a clock, or who reads it, stood still."""
    longest, took = look.summary.get("latency_max_ms"), look.summary.get("total_time_s")
    if longest and took and longest.value / 1000 > took.value + look.tolerated_s:
        why = f"a request took {longest.value / 1000:.1f} s in a load of {took.value:.1f} s"
        yield Disturbance("longest request", why)


def stalls(look: LookedAt) -> Stalls | None:
    """Runs of lines in which nothing was done; None where there is none, and where there are no lines."""
    lines = lines_of(look)
    if lines is None:
        return None
    rates = [rate for _, rate in lines.rates]
    busy = [rate for rate in rates if rate > 0]
    usual = sum(busy) / len(busy) if busy else 0.0
    runs = [sum(1 for _ in run) * lines.every_s for nothing, run in groupby(rates, lambda rate: rate == 0) if nothing]
    long = [seconds for seconds in runs if seconds >= STALL_S and seconds * usual >= MISSED]
    return Stalls(len(long), max(long)) if long else None
