"""What a transfer came to: rate, CPU, memory.

All of it is over the seconds of copying, from the engine's first reader to the count that completes: some engines
prepare for as long as they copy, and idle for twice as long afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.hosts.agent import Ended
from benchbook.probes import samples
from benchbook.probes.probe_file import DOCUMENTS
from benchbook.reports.transfer.engines import CopyCounts

MEGABYTE = 1e6
WINDOW_S = 10.0
# A rate whose seconds may be so much fewer is not known.
UNSURE = 0.1
# No copy is shorter; what begins and ends within it is of one moment.
_MOMENT_S = 1e-3


@dataclass(frozen=True)
class CopyRun:
    """One transfer: what the engine said, how its job ended, what the probes saw, and the client's name."""

    moved: CopyCounts
    ended: Ended
    series: pd.DataFrame
    client: str

    @property
    def begin(self) -> float:
        """When copying began, host's clock; where the engine does not say, its program's start."""
        began = self.moved.began or self.ended.started
        return min(max(began, self.ended.started), self.ended.ended - _MOMENT_S)

    @cached_property
    def end(self) -> float:
        """When the target first counted all documents; no later than the engine says that it was done."""
        counts = self.counts()
        whole = counts[(counts.value >= self.moved.documents) & (counts.t > self.begin)].t
        told = [*whole.head(1), self.moved.ended or self.ended.ended, self.ended.ended]
        return max(float(min(told)), self.begin + _MOMENT_S)

    @property
    def seconds(self) -> float:
        """Seconds of copying."""
        return self.end - self.begin

    @property
    def open_s(self) -> float:
        """By how much copying may have ended earlier: since the last count that was not complete."""
        own = self.moved.ended or self.ended.ended
        return 0.0 if self.moved.exact and self.end >= own else self.end - float(self.counted_inside().t.iloc[-2])

    def counts(self) -> pd.DataFrame:
        """[t, value]: documents on the target by its own count, in order of time."""
        return self.series[self.series.metric == DOCUMENTS][["t", "value"]].sort_values("t")

    def counted_inside(self) -> pd.DataFrame:
        """The same while copying: from none at the beginning to all at the end, with what was counted between."""
        counts = self.counts()
        inside = counts[(counts.t > self.begin) & (counts.t < self.end)]
        ends = [(self.begin, 0.0), (self.end, float(self.moved.documents))]
        return pd.DataFrame([ends[0], *inside.itertuples(index=False), ends[1]], columns=["t", "value"])

    def process(self, metric: str) -> pd.DataFrame:
        """[t, value] of a metric of the process probes."""
        return self.series[(self.series.source == "process") & (self.series.metric == metric)][["t", "value"]]

    def inside(self, metric: str) -> pd.DataFrame:
        """The same from the beginning of copying to its end."""
        rows = self.process(metric)
        return rows[(rows.t > self.begin) & (rows.t <= self.end)]

    def cores(self, label: str) -> float:
        """Return cores that a watched job used while copying.

        A probe cannot see what a process uses between the last sample and its end, which the transfer's supervisor
        can: its total less what the probe saw before copying began and after it was complete.
        """
        rates = self.process(f"cpu.{label}")
        if label != "transfer":
            return overlapping_mean(rates, self.begin, self.end)
        outside = ((self.ended.started, self.begin), (self.end, self.ended.ended))
        used = sum((until - since) * overlapping_mean(rates, since, until) for since, until in outside)
        return max(0.0, self.ended.cpu_s - used) / self.seconds

    def resident(self) -> pd.Series[float]:
        """Resident memory (bytes) of the transfer's processes while copying; of the whole run if that was too short."""
        inside = self.inside("rss.transfer").value
        seen = inside if len(inside) else self.process("rss.transfer").value
        return seen[seen > 0] if (seen > 0).any() else pd.Series([0.0])


def overlapping_mean(rates: pd.DataFrame, begin: float, end: float) -> float:
    """Mean of a rate over [begin, end]; a sample's value holds from the sample before it. 0 without any sample."""
    ordered = rates.sort_values("t")
    since = ordered.t.shift(1).fillna(begin)
    weights = (ordered.t.clip(begin, end) - since.clip(begin, end)).clip(lower=0)
    return float((ordered.value * weights).sum() / weights.sum()) if weights.sum() > 0 else 0.0


def summarise(load: CopyRun) -> dict[str, Quantity]:
    """Figures by the names of the published columns (`qps`, `cpu_percent`, `memory_mb`), then ours.

    `qps` and CPU are over the seconds of copying; `wall_qps`, `cpu_s` and `cpu_s_per_million` are over the whole run of
    the program: `prepare_s` before the copying and `idle_s` after it are in them. Memory is resident memory summed over
    the processes: the mean, and the highest.
    """
    wall, documents = load.ended.ended - load.ended.started, load.moved.documents
    resident = load.resident()
    found = {
        "qps": (documents / load.seconds, "1/s"),
        "cpu_percent": (100 * load.cores("transfer"), "%"),
        "memory_mb": (resident.mean() / MEGABYTE, "MB"),
        "peak_memory_mb": (resident.max() / MEGABYTE, "MB"),
        "documents": (documents, "1"),
        "total_time_s": (load.seconds, "s"),
        "prepare_s": (load.begin - load.ended.started, "s"),
        "idle_s": (load.ended.ended - load.end, "s"),
        "wall_s": (wall, "s"),
        "wall_qps": (documents / wall, "1/s"),
        "cpu_s": (load.ended.cpu_s, "s"),
        "cpu_s_per_million": (1e6 * load.ended.cpu_s / max(documents, 1), "s"),
        "source_cores": (load.cores("source"), "cores"),
        "target_cores": (load.cores("target"), "cores"),
    }
    if load.moved.cache_full is not None:
        found["cache_full"] = (load.moved.cache_full, "1")
    return {name: Quantity(value=float(value), unit=unit) for name, (value, unit) in found.items()}


def rate_series(load: CopyRun) -> pd.DataFrame:
    """Documents/s from each of the target's counts to the next, at its end, as rows of the long table.

    A count that fell is none that came.
    """
    counts = load.counted_inside()
    grown = counts.diff().iloc[1:]
    rates = pd.DataFrame({"t": counts.t.iloc[1:], "value": (grown.value / grown.t).clip(lower=0.0)})
    return rates.assign(host=load.client, source="transfer", metric="documents", unit="1/s")[samples.COLUMNS]


def unsure(load: CopyRun) -> str | None:
    """Why the rate is none to rely on, in words; None where it is.

    The report's own figures are averages over ten seconds; a copy shorter than that has none.
    """
    took = f"{load.moved.documents:,} documents were copied in {load.seconds:.1f} s"
    if load.seconds < WINDOW_S:
        return f"{took}: too short for a rate, which takes {WINDOW_S:g} s; take more documents"
    if load.open_s > UNSURE * load.seconds:
        return f"{took}, of which the target's counts leave {load.open_s:.1f} s open: too much for a rate"
    return None
