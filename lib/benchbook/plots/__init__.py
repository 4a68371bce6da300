"""Frame -> figure, drawn by seaborn.

For a notebook's cells, from the frames of docs/frames.md:

    from benchbook import plots

    plots.levels(report.beside_frame(), "tps", x="threads", panel="workload")    published beside measured
    plots.measures(beside[beside.table == "load"], ["speed_mb_s"], x="threads")  the metrics of one table
    plots.claims(report.claims_frame())                                          effects against claimed ranges
    plots.ratios(benchbook.ratios(a, b))                                         two campaigns
    plots.repetitions(report.trials(), "tps")                                    a mark per trial
    plots.ecdf(report.histograms())                                              latency by percentile
    plots.over_time(report.seconds("tps", source="sysbench"))                    every second
    plots.knee(searches)                                                         latency against offered rate

Each returns a matplotlib Figure: change its axes, or save it. A figure that you draw yourself gets its words by
`plots.described(sns.relplot(...), "what it shows", "caption")`, and the same look by `plots.set_theme()`.
"""

from __future__ import annotations

from benchbook.plots.forest import claims, ratios
from benchbook.plots.output import described, nothing
from benchbook.plots.published import levels, measures
from benchbook.plots.style import interval, set_theme
from benchbook.plots.trials import ecdf, knee, over_time, repetitions

__all__ = [
    "claims",
    "described",
    "ecdf",
    "interval",
    "knee",
    "levels",
    "measures",
    "nothing",
    "over_time",
    "ratios",
    "repetitions",
    "set_theme",
]
