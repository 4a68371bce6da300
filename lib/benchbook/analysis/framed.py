"""What a report in a notebook's hands gives as frames. Each call reads what it needs and returns a frame of its own."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import pandas as pd

from benchbook.analysis import report_frames, samples
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.results import JudgedClaim
from benchbook.analysis.samples import Chosen
from benchbook.analysis.trials import figures_of, trials_of
from benchbook.campaign.record import Record
from benchbook.given.named import one_of


class Framed(Recorded):
    """A campaign as tidy pandas; docs/frames.md describes every column, `frame.attrs["units"]` has the units."""

    @abstractmethod
    def claims(self) -> list[JudgedClaim]:
        """Every claim of the report's ledger on every system, with its verdict."""

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
        return self._labelled(report_frames.with_columns(found, wanted, self.published))

    def figures(self, *metrics: str) -> pd.DataFrame:
        """Return a row per trial that counts and metric, at the published levels that it stands for."""
        return figures_of(self.trials(), metrics)

    def _unmeasured(self, records: Sequence[Record]) -> list[str]:
        """The metrics of the published tables that were planned, and of which there is no record."""
        left = {trial.cell.table for trial in self.campaign.trials} - {record.table for record in records}
        return [name for table in self.published.tables.values() if table.id in left for name in table.metrics]

    def seconds(self, *metrics: str, source: str = "", trials: Chosen = None, load_only: bool = True) -> pd.DataFrame:
        """A row per sample: trial, table, system, levels, repetition, and what the series holds.

        That is t (s since the epoch), since_s (s into the load), host, source, metric, value, unit.
        Name what you need: `seconds("tps", source="sysbench")` reads no more into memory. A name that no trial has
        raises BadInput, which lists those that there are.
        """
        found = samples.seconds(self.campaign, self.records, metrics, source=source, only=trials, load_only=load_only)
        return self._labelled(found)

    def histograms(self, trials: Chosen = None) -> pd.DataFrame:
        """A row per bucket of a latency histogram: trial, levels, latency_ms (ms), count (requests).

        `trials`: ids of those that are meant, none of them for an empty list; as in `seconds`.
        """
        planned = samples.planned_levels(self.campaign)
        return self._labelled(samples.histograms(self.records, trials, planned))

    def cpu(self) -> pd.DataFrame:
        """A row per trial and host: busy_cores (cores in use, mean over the load), share (of those it got), cores."""
        return self._labelled(samples.cpu(self.campaign, self.records))

    def percentiles(self, of: Sequence[float] = (50, 95, 99), trials: Chosen = None) -> pd.DataFrame:
        """Return a row per trial and percentile: latency_ms (ms), log_se, requests."""
        planned = samples.planned_levels(self.campaign)
        return self._labelled(samples.percentiles(self.records, of, trials, planned))

    def disturbances(self) -> pd.DataFrame:
        """Return a row per measurement that does not count, and reason: trial, levels, try, why."""
        planned = samples.planned_levels(self.campaign)
        return self._labelled(samples.disturbances(self.campaign.disturbed(), planned))

    def published_frame(self) -> pd.DataFrame:
        """A row per published number: table, levels, metric, value, unit, and the number as printed."""
        return self._labelled(report_frames.published(self.published), campaign=False)

    def beside_frame(self) -> pd.DataFrame:
        """A row per cell, system and metric: published, measured (mean), low, high (95% interval), n, unit.

        Levels are the published ones; where others were run for them, `<level>_run` has those, and `attrs["scaled"]`
        says so in a sentence. `attrs["titles"]` has what each metric is called.
        """
        found = self._labelled(report_frames.beside(self.tables()))
        tables = self.published.tables.values()
        found.attrs["titles"] = {name: field.title for table in tables for name, field in table.fields.items()}
        if scaling := self.campaign.scaling:
            found.attrs["scaled"] = scaling.sentence()
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
        report, campaign = self.published.report, self.campaign
        kit = "; ".join(self.environment.measured_by)
        published = {
            "title": report.title,
            "note": f"{report.document.product} {report.document.version}, {report.published}",
            "url": report.document.url,
        }
        mine = {
            "title": f"{report.title}, restaged",
            "note": f"Benchbook campaign {campaign.id}, {len(self.records)} trials{f'; {kit}' if kit else ''}",
            "year": campaign.plan.made[:4],
        }
        entries = ((f"techreport{{{report.name}", published), (f"misc{{{report.name}_{campaign.id}", mine))
        return "\n".join(f"@{head},\n{_fields(fields)}}}\n" for head, fields in entries)

    def claims_frame(self) -> pd.DataFrame:
        """A row per claim and system: verdict, effect, its interval, the claimed range, n, p_value, leaning."""
        return self._labelled(report_frames.claims(self.claims()))

    def _labelled(self, frame: pd.DataFrame, *, campaign: bool = True) -> pd.DataFrame:
        """Where a frame comes from stands in its `attrs`, and stays with what is made of it."""
        frame.attrs["report"] = self.published.report.name
        if campaign:
            frame.attrs["campaign"] = self.campaign.id
        return frame


def _fields(fields: Mapping[str, str]) -> str:
    """The fields of a BibTeX entry that are not empty; what LaTeX would take for a command is escaped."""
    escaped = {name: re.sub(r"([&%$#_{}])", r"\\\1", text) if name != "url" else text for name, text in fields.items()}
    return "".join(f"  {name} = {{{text}}},\n" for name, text in escaped.items() if text)
