"""What only the DDT report's notebook shows.

Functions of what was recorded; each returns a table, a figure, or a frame for one, for one cell.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
from IPython.display import HTML
from pandas import CategoricalDtype

from benchbook import plots
from benchbook.analysis import formatting, summary
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.samples import series_of, spread
from benchbook.analysis.trials import interval
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import as_published
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.plots import output
from benchbook.reports.transfer.engines import KNOBS
from benchbook.reports.transfer.transfer_kind import over_combinations

TITLES = {
    "qps": "documents/s while copying",
    "wall_qps": "documents/s, whole run",
    "cpu_percent": "CPU (%)",
    "cpu_s_per_million": "CPU s per million documents",
    "memory_mb": "memory, mean (MB)",
    "peak_memory_mb": "memory, highest (MB)",
}


COUNTED = (
    "Documents are those that the target counted itself, once a second (less often where counting takes it long), from "
    "the engine's first reader to the count that completes; rate, CPU and memory are over these seconds."
)


# What the report printed of each combination.
PRINTED = ("qps", "cpu_percent", "memory_mb")


def combinations(report: Recorded) -> pd.DataFrame:
    """A row per combination, as published and as each engine did it: its figures as means over repetitions.

    [who, cache, threads, qps (documents/s), cpu_percent (%), memory_mb (MB)], and qps_low and qps_high, the 95%
    interval. Threads and caches are the published ones; where others stand for them, `attrs["scaled"]` says which.
    """
    both = report.beside()
    both = both[both.metric.isin(PRINTED)]
    both = both.assign(
        metric=both.metric.astype(str),
        # As the report writes it: buckets x batches in each, which are always as many.
        cache="cache " + both.cache_bucket_size.astype(str) + " x " + both.cache_bucket_size.astype(str),
        threads=_by_size(both.source_threads.astype(str) + "/" + both.target_threads.astype(str)),
    )
    here = both.assign(who=both.system.astype(str), value=both.measured).dropna(subset="value")
    printed = both.assign(who="published", value=both.published, low=np.nan, high=np.nan).dropna(subset="value")
    every = pd.concat([printed, here]).drop_duplicates(["who", "cache", "threads", "metric"])
    keys = ["who", "cache", "threads"]
    found = every.pivot(index=keys, columns="metric", values="value").join(
        every[every.metric == "qps"].set_index(keys)[["low", "high"]].add_prefix("qps_")
    )
    order = every[keys].drop_duplicates()
    found = order.merge(found.reset_index(), on=keys)
    found.attrs["units"] = {"qps": "documents/s", "cpu_percent": "%", "memory_mb": "MB"}
    found.attrs["scaled"] = _stand_ins(report)
    return found


def _as_published(report: Recorded) -> list[Record]:
    """The records, each at the published levels that it stands for."""
    return as_published(report.records, report.campaign.scaling)


def _by_size(threads: pd.Series[str]) -> pd.Series[CategoricalDtype[str]]:
    """ "5/15" before "10/20": sorted by their numbers."""
    order = sorted(set(threads), key=lambda text: [int(word) for word in text.split("/")])
    return threads.astype(CategoricalDtype(order, ordered=True))


def beside(report: Recorded) -> HTML:
    """Each published table beside what was measured; the cache, which is a table's own, stands in its title alone."""
    constants = {name for table in report.published.tables.values() for name in table.fixed}
    tables = show.beside(report.beside().drop(columns=[*constants], errors="ignore"), report.published)
    said = [_stand_ins(report)]
    said += [COUNTED] if any("unsure" in record.proof for record in report.records) else []
    return show.stack([*map(show.paragraph, filter(None, [*said, summary.unsure(report.records)])), tables])


def engines(report: Recorded) -> HTML:
    """All engines on the same servers, each over all its combinations."""
    lines: dict[str, dict[str, str]] = {}
    found = over_combinations(report.figures())
    for system, metric in found[["system", "metric"]].drop_duplicates().itertuples(index=False):
        values = found[(found.system == system) & (found.metric == metric)].value.tolist()
        line = lines.setdefault(system, {"engine": system})
        line[TITLES[metric]] = formatting.with_interval(interval(values))
    for system, line in lines.items():
        line["trials"] = str(sum(record.system == system for record in report.records))
    said = "Engines on the same servers: mean over their combinations [95% interval over repetitions]"
    return show.table(lines.values(), said)


def bottlenecks(report: Recorded) -> HTML:
    """For each engine and cache: what limited how many trials, and the cores that each side used."""
    groups = grouped(_as_published(report), lambda r: (r.system, str(r.levels.get("cache_bucket_size", "–"))))
    rows = []
    for (engine, cache), records in sorted(groups.items()):
        found = [record.proof["bottleneck"] for record in records]
        limits = Counter(each["who"] for each in found).most_common()
        cores = pd.DataFrame([each["cores"] for each in found]).mean()
        rows.append(
            {
                "engine": engine,
                "cache": cache,
                "limited by (trials)": ", ".join(f"{who} ({count})" for who, count in limits),
                **{f"{label} (cores)": formatting.number(float(value)) for label, value in cores.items()},
                "for example": next(each["why"] for each in found if each["who"] == limits[0][0]),
            }
        )
    return show.table(rows, "What limited the transfer, and cores in use while copying (means)")


def proofs(report: Recorded) -> HTML:
    """What was compared after the transfers, in one sentence."""
    agree = sum(bool(record.proof.get("agrees")) for record in report.records)
    documents = sum(int(record.proof["documents"]) for record in report.records)
    return show.paragraph(
        f"{agree} of {len(report.records)} recorded transfers are proved: every collection was read back from the "
        f"target, {documents:,} documents in all, and counts and hashes are those that were read back from the source."
    )


def trial_series(report: Recorded, metric: str, *, source: str, label: str) -> HTML:
    """The series of every trial of the engines that have the report's knobs, a panel per combination."""
    return show.stack(
        [
            _trial_series(report, engine, metric, source, label)
            for engine in dict.fromkeys(record.system for record in report.records)
            if engine in KNOBS
        ]
    )


def _trial_series(report: Recorded, engine: str, metric: str, source: str, label: str) -> HTML:
    records = [record for record in _as_published(report) if record.system == engine]
    levels = ["cache_bucket_size", "source_threads", "target_threads"]
    frame = series_of(records, report.campaign.series, report.environment, metric, source, levels)
    if metric.startswith("rss.") and not frame.empty:
        frame = while_copying(frame, records, levels)
    name = f"{engine}-{metric.replace('.', '-')}-series"
    if frame.empty:
        return show.paragraph(f"{engine}: no samples of {metric}.")
    frame = frame.assign(
        cache="cache " + frame.cache_bucket_size.astype(str),
        threads=_by_size(frame.source_threads.astype(str) + "/" + frame.target_threads.astype(str)),
    ).sort_values("cache_bucket_size", kind="stable")
    drawn = plots.time_series(frame, row="cache", column="threads", label=label, since="copying")
    alt = f"{label} over time in every trial of {engine}: {spread(frame, ['cache', 'threads'])}"
    said = f"{engine}: {label}, one line per repetition. {_stand_ins(report)}".strip()
    figure = plots.described(drawn, alt, said)
    output.save(figure, report.figure_file(name))
    return output.picture(figure)


def while_copying(frame: pd.DataFrame, records: list[Record], levels: list[str]) -> pd.DataFrame:
    """The samples [t (s since copying began), repetition, *levels, ...] of the copying alone, as in the tables.

    Before and after it the program's processes come and go.
    """
    ends = {(r.repetition, *(r.levels[name] for name in levels)): r.summary["total_time_s"].value for r in records}
    keys = zip(frame.repetition, *(frame[name] for name in levels), strict=True)
    until = pd.Series([ends[key] for key in keys], index=frame.index)
    return frame[(frame.t > 0) & (frame.t <= until)]


def _stand_ins(report: Recorded) -> str:
    """Which levels stand for the published ones, in a sentence; empty where these were run."""
    scaling = report.campaign.scaling
    return scaling.of_tables_in(report.records).sentence() if scaling else ""
