"""`benchbook runs --overhead`: what each campaign's wall time went to beside its loads, phase by phase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

from rich.console import Console

from benchbook.campaign.overhead import BEGINNING, ONCE
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.errors import counted
from benchbook.overview.run_list import campaigns_of
from benchbook.overview.terminal_table import show

_HEADS = ("phase", "median", "total", "share of wall time")


@dataclass(frozen=True)
class Overhead:
    """The traces of a campaign's records: wall time in seconds, with and without load, and the phases of the rest."""

    load_s: float
    traces: Sequence[dict[str, float]]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Overhead:
        """Records that have no trace, as old ones, are left out with their loads."""
        traced = [one for one in records if one.overhead_s]
        return cls(sum(one.ended - one.started for one in traced), [one.overhead_s for one in traced])

    @property
    def wall_s(self) -> float:
        return self.load_s + sum(map(sum, (trace.values() for trace in self.traces)))

    @property
    def load_share(self) -> float:
        """Share of the wall time in which a load ran, 0 to 1."""
        return self.load_s / self.wall_s

    def phases(self) -> Iterator[tuple[str, float, float, float]]:
        """(phase, median of the records that have it, total, share of the wall time), the longest first."""
        names = dict.fromkeys(chain.from_iterable(self.traces))
        found = {name: [trace[name] for trace in self.traces if name in trace] for name in names}
        for name, seconds in sorted(found.items(), key=lambda one: -sum(one[1])):
            yield name, median(seconds), sum(seconds), sum(seconds) / self.wall_s

    def pauses(self, *, between_blocks: bool) -> list[float]:
        """Seconds without load before each trial that begins a block, or goes on in one; the run's own once is out."""
        begins = [(trace, not BEGINNING.isdisjoint(trace)) for trace in self.traces]
        return [_pause(trace) for trace, began in begins if began == between_blocks]


def _pause(trace: dict[str, float]) -> float:
    return sum(seconds for name, seconds in trace.items() if name not in ONCE)


def print_overhead(reports: Sequence[str], console: Console) -> None:
    """Campaigns of these reports, or of all, the latest first; those without a trace are only counted."""
    untraced = 0
    for campaign in campaigns_of(reports):
        found = Overhead.of(_every(campaign))
        if not found.traces:
            untraced += 1
            continue
        console.print(f"[bold]{campaign.report}[/] {campaign.id}", highlight=False)
        show(console, _HEADS, list(_rows(found)))
        console.print("\n".join(_in_words(found)), highlight=False, end="\n\n")
    if untraced:
        console.print(f"{counted(untraced, 'campaign')} recorded before times around loads were kept")


def _every(campaign: Campaign) -> list[Record]:
    """Also the tries that do not count: their time has passed."""
    return [*campaign.records(), *campaign.disturbed(), *campaign.attempts()]


def _rows(found: Overhead) -> Iterator[tuple[str, ...]]:
    for name, middle, total, share in found.phases():
        yield name, f"{middle:.3f} s", f"{total:.1f} s", f"{share:.1%}"


def _in_words(found: Overhead) -> Iterator[str]:
    yield f"{found.load_share:.1%} of {found.wall_s:.1f} s under load, {counted(len(found.traces), 'trial')}"
    for between_blocks, where in ((False, "between two trials of a block"), (True, "between blocks")):
        if pauses := found.pauses(between_blocks=between_blocks):
            yield f"pause {where}: {median(pauses):.2f} s (median of {len(pauses)})"
