"""Signs that something stood still that must not: a process that was stopped, a machine or a probe, the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchbook.campaign.validity.looked_at import Disturbance, LookedAt

# The probe of the machine samples so often, whatever the system does.
MACHINE, PERIOD_S = "host", 1.0
_LATE, _STOPPED = "heartbeat.late_s", "stopped."


@dataclass(frozen=True)
class Span:
    """The longest that something of this name stood still inside a load."""

    who: str
    seconds: float


def stopped(look: LookedAt) -> Iterator[Disturbance]:
    """Commands that somebody had stopped: nothing healthy ever is, so that any while counts, however short."""
    for stop in look.proof.get("stopped", []):
        seconds = look.inside_s(stop["began"], stop["ended"] or look.ended)
        who = f"{stop['job']} on {stop['host']}"
        if stop["what"] == "command" and seconds > 0:
            yield Disturbance("stopped", f"{who} was stopped (SIGSTOP) for {seconds:.1f} of {look.seconds:.1f} s")
        elif stop["what"] == "supervisor" and seconds > look.tolerated_s:
            yield Disturbance("stopped", f"the supervisor of {who} stood still for {seconds:.1f} s")


def stopped_in_groups(look: LookedAt) -> Iterator[Disturbance]:
    """Of jobs whose processes are sampled one by one (transfers): any that was stopped, parent or child."""
    named = [name for name in look.metrics if name.startswith(_STOPPED)]
    if not named:
        return
    inside = look.series[look.series.metric.isin(named) & look.series.t.between(look.started, look.ended)]
    for (host, metric), part in inside[inside.value > 0].groupby(["host", "metric"]):
        seen = inside[(inside.host == host) & (inside.metric == metric)]
        who = f"{str(metric).removeprefix(_STOPPED)} on {host}"
        why = f"{part.value.max():.0f} processes of {who} were stopped in {len(part)} of {len(seen)} samples"
        yield Disturbance("stopped", why)


def late_heartbeats(look: LookedAt) -> Iterator[Disturbance]:
    """Of every host the latest wake-up of its probes: the machine, or the probe, stood still meanwhile."""
    for found in latest(look):
        if found.seconds > look.tolerated_s:
            why = f"stood still for at least {found.seconds:.1f} of {look.seconds:.1f} s: its heartbeat came that late"
            yield Disturbance("heartbeat", f"{found.who} {why}")


def latest(look: LookedAt) -> list[Span]:
    """Per host and probe, seconds inside the load for which its latest wake-up was overdue."""
    longest: dict[tuple[str, str], float] = {}
    for beat in look.samples(metric=_LATE):
        whose, overdue_s = (beat.host, beat.source), look.inside_s(beat.t - beat.value, beat.t)
        longest[whose] = max(longest.get(whose, 0.0), overdue_s)
    return [Span(f"{host} (probe {source})", seconds) for (host, source), seconds in sorted(longest.items())]


def gaps(look: LookedAt) -> Iterator[Disturbance]:
    """Of every host the longest time without a sample of the machine, where some came."""
    for found in longest_gaps(look):
        if found.seconds > PERIOD_S + look.tolerated_s:
            why = f"no sample of host {found.who} for {found.seconds:.1f} s, where one comes every {PERIOD_S:g} s"
            yield Disturbance("probe samples", why)


def longest_gaps(look: LookedAt) -> list[Span]:
    """Per host, from one sample of the machine to the next, the load's start and end among them."""
    times: dict[str, set[float]] = {}
    for one in look.samples(source=MACHINE):
        times.setdefault(one.host, set()).add(one.t)
    return [Span(host, _longest(look, sorted(mine))) for host, mine in sorted(times.items())]


def _longest(look: LookedAt, times: list[float]) -> float:
    marks = [look.started, *(t for t in times if look.started < t < look.ended), look.ended]
    return max(after - before for before, after in pairwise(marks))


def driver(look: LookedAt, stood_s: float, *, timed_here: bool) -> Iterator[Disturbance]:
    """A driver that stood still harms what it times itself; a load that is timed on its host does not notice."""
    if timed_here and stood_s > look.tolerated_s:
        why = f"the driver stood still for {stood_s:.1f} s, and times of this trial are taken by its clock"
        yield Disturbance("driver", why)
