"""A campaign in a reader's hands, as tidy frames: what was published, what was recorded, and both beside each other.

No host is asked. Each call reads what it needs and returns a frame of its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchbook.analysis import samples, summary
from benchbook.analysis.results import JudgedClaim, bibtex, claims_frame
from benchbook.analysis.samples import Chosen
from benchbook.analysis.schema import PUBLISHED, as_level, typed
from benchbook.analysis.trials import figures_of, of_records, trials_of
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.published.tables import Published, PublishedTable
from benchbook.user_input.choices import one_of

# A metric that a trial may lack: a percentile is told only where the requests support it (stats.latency).
_PERCENTILE = re.compile(r"(\w+_)?p(\d\d|999|9999)_ms")


class Recorded(ABC):
    """A campaign as tidy pandas; `benchbook.tables()` lists every column, `frame.attrs["units"]` has the units.

    Tables and figures of a report are made from it; a notebook's report is one.
    """

    published: Published

    @property
    @abstractmethod
    def campaign(self) -> Campaign:
        """The campaign on disk."""

    @abstractmethod
    def beside(self) -> pd.DataFrame:
        """Return what was published beside what was measured (schema.BESIDE)."""

    @property
    def records(self) -> list[Record]:
        """The whole records of the campaign, in run order."""
        return self.campaign.records()

    @property
    def environment(self) -> Environment:
        """Host facts, systems and what was waived, as the campaign noted them."""
        return self.campaign.environment()

    def figure_file(self, name: str) -> Path:
        """Return where the figure of this name is kept beside the campaign."""
        return self.campaign.figure(name)

    @abstractmethod
    def claims(self) -> list[JudgedClaim]:
        """Return every claim of the report's ledger on every system, with its verdict."""

    def trials(self, *names: str, disturbed: bool = False) -> pd.DataFrame:
        """Return a row per trial that counts: its levels, when and where it ran, CPU, and a column per metric.

        A metric's unit is in `attrs["units"]`: tps (1/s), p95_ms (ms), ... A level of numbers stands as it was run
        (`threads`) and as the published level that it stands for (`threads_published`). With `disturbed`, also the
        measurements that do not count.
        Tables that were planned, and of which no trial was measured, have empty columns for their levels and published
        metrics. `names`: levels and metrics that have one even where the campaign left their tables out.
        """
        found = trials_of(self.campaign, disturbed=disturbed)
        wanted = [*self._unmeasured(self.records), *names]
        return self._labelled(with_columns(found, wanted, self.published))

    def figures(self, *metrics: str) -> pd.DataFrame:
        """Return a row per trial that counts and metric, at the published levels that it stands for."""
        planned = [name for trial in self.campaign.trials for name in trial.cell.levels]
        return self._labelled(figures_of(of_records(self.records, self.campaign.scaling, planned=planned), metrics))

    def _unmeasured(self, records: Sequence[Record]) -> list[str]:
        """Return the metrics of the published tables that were planned, and of which there is no record."""
        left = {trial.cell.table for trial in self.campaign.trials} - {record.table for record in records}
        return [name for table in self.published.tables.values() if table.id in left for name in table.metrics]

    def seconds(self, *metrics: str, source: str = "", trials: Chosen = None, load_only: bool = True) -> pd.DataFrame:
        """Return a row per sample: trial, table, system, levels, repetition, and what the series holds.

        That is t (s since the epoch), since_s (s into the load), host, source, metric, value, unit.
        Name what you need: `seconds("tps", source="sysbench")` reads no more into memory. Raise BadInput for a
        name that no trial has, with a list of those that there are.
        """
        found = samples.seconds(self.campaign, metrics, source=source, only=trials, load_only=load_only)
        return self._labelled(found)

    def histograms(self, trials: Chosen = None) -> pd.DataFrame:
        """Return a row per bucket of a latency histogram: trial, levels, latency_ms (ms), count (requests).

        `trials`: ids of those that are meant, none of them for an empty list; as in `seconds`.
        """
        return self._labelled(samples.histograms(self.campaign, trials))

    def cpu(self) -> pd.DataFrame:
        """Return a row per trial and host: busy_cores (in use, mean over the load), share (of those it got), cores."""
        return self._labelled(samples.cpu(self.campaign))

    def percentiles(self, of: Sequence[float] = (50, 95, 99), trials: Chosen = None) -> pd.DataFrame:
        """Return a row per trial and percentile: latency_ms (ms), requests."""
        return self._labelled(samples.percentiles(self.campaign, of, trials))

    def disturbances(self) -> pd.DataFrame:
        """Return a row per measurement that does not count, and reason: trial, levels, try, why."""
        return self._labelled(samples.disturbances(self.campaign))

    def published_frame(self) -> pd.DataFrame:
        """Return a row per published number: table, levels, metric, value, unit, and the number as printed."""
        return self._labelled(published_frame(self.published), campaign=False)

    def beside_frame(self) -> pd.DataFrame:
        """Return a row per cell, system and metric: published, measured (mean), low, high (95% interval), n, unit.

        Levels are the published ones; where others were run for them, `<level>_run` has those, and `attrs["scaled"]`
        says so in a sentence. `attrs["titles"]` has what each metric is called.
        """
        found = self._labelled(self.beside())
        found.attrs["titles"] = self.published.titles
        if scaling := self.campaign.scaling:
            found.attrs["scaled"] = scaling.of_tables_in(self.records).sentence()
            for level in sorted({name for levels in scaling.levels.values() for name in levels} & set(found.columns)):
                pairs = zip(found["table"], found[level], strict=True)
                found[f"{level}_run"] = [scaling.here(table, level, value) or value for table, value in pairs]
        return found

    def table(self, metric: str) -> pd.DataFrame:
        """Return a metric for a paper, a row per cell: its levels, published, measured (mean), low, high (95%), n.

        For example `report.table("tps").to_latex(index=False)`, and so `to_markdown` and `to_csv`. Levels that are the
        same everywhere are left out. Raise BadInput for a metric that no cell has.
        """
        found = self.beside_frame()
        one_of(metric, sorted(found.metric.unique()), "metric")
        mine = found[found.metric == metric].dropna(subset="measured").dropna(axis="columns", how="all")
        levels = [name for name in mine.loc[:, :"metric"].columns[:-1] if mine[name].nunique(dropna=False) > 1]
        figures = [name for name in ("published", "measured", "low", "high", "n") if name in mine]
        return mine[[*levels, *figures]].reset_index(drop=True)

    def bibtex(self) -> str:
        """Return two entries for a bibliography: the published report, and this campaign."""
        campaign, setting = self.campaign, summary.of_campaign(self.published, self.campaign)
        about = self.published.report
        return bibtex(about.name, about.title, campaign.id, len(self.records), campaign.plan.made[:10], setting)

    def claims_frame(self) -> pd.DataFrame:
        """Return a row per claim and system: verdict, effect, its interval, the claimed range, n, p_value, leaning."""
        return self._labelled(claims_frame(self.claims()))

    def _labelled(self, frame: pd.DataFrame, *, campaign: bool = True) -> pd.DataFrame:
        """Return the frame; where it comes from stands in its `attrs`, and stays with what is made of it.

        Levels that are texts come in the order in which they were printed, and so do the panels of a figure.
        """
        printed = published_frame(self.published)
        for name in frame.attrs["levels"]:
            if isinstance(frame[name].dtype, pd.CategoricalDtype) and name in printed:
                here, known = frame[name].cat.categories, printed[name].astype("category").cat.categories
                frame[name] = frame[name].cat.reorder_categories(
                    [*known.intersection(here), *here.difference(known, sort=False)]
                )
        frame.attrs["report"] = self.published.report.name
        if campaign:
            frame.attrs["campaign"] = self.campaign.id
        return frame


def published_frame(report: Published) -> pd.DataFrame:
    """Return a row per published number; see `schema.PUBLISHED`."""
    tables = report.tables.values()
    rows = [row for table in tables for row in _printed(table)]
    names = dict.fromkeys(as_level(name) for table in tables for name in [*table.fixed, *table.levels])
    return typed(pd.DataFrame(rows), PUBLISHED, levels=list(names))


def _printed(table: PublishedTable) -> Iterator[dict[str, object]]:
    for cells, texts in zip(table.cells, table.texts, strict=True):
        known = {**table.fixed, **{name: cells[name] for name in table.levels}}
        levels = {as_level(name): value for name, value in known.items()}
        for metric in table.metrics:
            if pd.notna(cells[metric]):
                about = {"metric": metric, "value": cells[metric], "unit": table.fields[metric].unit}
                yield {"table": table.id, **levels, **about, "printed": texts[metric]}


def with_columns(trials: pd.DataFrame, names: Collection[str], published: Published) -> pd.DataFrame:
    """Return `trials`, with an empty column for each of these levels and metrics that no trial of the campaign has.

    Their tables were left out, or of a percentile (ms) no load had requests enough. Raise BadInput for any other name
    that neither the frame nor a published table has; of a campaign without a trial nobody knows what its trials would
    have had, and every name is taken.
    """
    tables = published.tables.values()
    units = {name: table.fields[name].unit for table in tables for name in table.metrics}
    units = _percentiles(names, {*trials.columns, *units}) | units
    known = {*trials.columns, *units, *(as_level(name) for table in tables for name in (*table.levels, *table.fixed))}
    known |= set(names) if trials.empty else set()
    missing = {one_of(name, sorted(known), "column"): np.nan for name in names if name not in trials}
    found = trials.assign(**missing)
    found.attrs = {**trials.attrs, "units": trials.attrs["units"] | {n: units[n] for n in missing if n in units}}
    return found


def _percentiles(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return those of `names` that are percentiles, with their unit; what one is of has other columns, too."""
    found = {name: match[1] or "" for name in names if (match := _PERCENTILE.fullmatch(name))}
    return {name: "ms" for name, of in found.items() if any(other.startswith(of) for other in known)}
