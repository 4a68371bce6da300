"""Frame -> figure, drawn by seaborn: a module per way of showing, all in one style.

For a notebook's cells, from the frames of docs/frames.md:

    from benchbook import plots

    plots.levels(report.beside_frame(), "tps", x="threads", panel="workload")    published beside measured
    plots.repetitions(report.trials(), "tps")                                    a dot per trial
    plots.relation(frame, "busy_cores", "tps")                                   one measure against another
    plots.ecdf(report.histograms())                                              latency
    plots.over_time(report.seconds("tps", source="sysbench"))                    every second
    plots.usl(report.trials())                                                   scalability
    plots.ratios(benchbook.ratios(a, b))                                         two campaigns
    plots.measures(beside[beside.table == "load"], ["speed_mb_s"], x="threads")  the metrics of one table
    plots.heat(frame, "qps", down="cache", across="threads")                     a measure over two levels
    plots.watched(frame)                                                         what was watched while trials ran

Each returns a matplotlib Figure: change its axes, or save it.

Whoever draws asks this package for the module that does, too: `plots.forest.Scale`. What draws takes seconds to import:
it is, when it is first asked for, so that a kernel which measures, or ends early, waits for none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchbook.plots import campaign_plot as campaign_plot
    from benchbook.plots import forest as forest
    from benchbook.plots import knee_plot as knee_plot
    from benchbook.plots import mime as mime
    from benchbook.plots import no_figure as no_figure
    from benchbook.plots import picture as picture
    from benchbook.plots import ratio_plot as ratio_plot
    from benchbook.plots import style as style
    from benchbook.plots import timelines as timelines
    from benchbook.plots.frame_plots import ecdf as ecdf
    from benchbook.plots.frame_plots import levels as levels
    from benchbook.plots.frame_plots import over_time as over_time
    from benchbook.plots.frame_plots import ratios as ratios
    from benchbook.plots.frame_plots import relation as relation
    from benchbook.plots.frame_plots import repetitions as repetitions
    from benchbook.plots.frame_plots import usl as usl
    from benchbook.plots.measure_plots import heat as heat
    from benchbook.plots.measure_plots import measures as measures
    from benchbook.plots.measure_plots import watched as watched

_MODULES = ["campaign_plot", "forest", "knee_plot", "mime", "no_figure", "picture", "ratio_plot", "style", "timelines"]
_MORE = ["heat", "measures", "watched"]
__all__ = ["ecdf", "heat", "levels", "measures", "over_time", "ratios", "relation", "repetitions", "usl", "watched"]


def __getattr__(name: str) -> Any:
    """The modules below import from each other: who needs one of them must not wait for all."""
    if name in _MODULES:
        return import_module(f"benchbook.plots.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; there are: {', '.join(__all__)}")
    return getattr(import_module(f"benchbook.plots.{'measure_plots' if name in _MORE else 'frame_plots'}"), name)
