"""Benchbook restages published database benchmark reports and says, claim by claim, what holds.

    import benchbook
    from benchbook import plots

    benchbook.runs()                                            # every recorded campaign
    benchbook.catalogue().sql("select campaign, avg(tps) from trials group by all")
    report = benchbook.open_campaign("tidb_v7_1_3_sysbench")    # its latest; then report.trials(), ...
    plots.repetitions(report.trials(), "tps", x="threads", panel="workload")

The frames are described in docs/frames.md.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
__all__ = ["catalogue", "cells", "open_campaign", "ratios", "runs", "tables"]


def __dir__() -> list[str]:
    """Return what a user may call, and not the folders that it is made of."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Return what `benchbook.api` has of this name: the command line need not wait for the seconds that it takes."""
    if name not in (*__all__, "open_report"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from benchbook import api  # noqa: PLC0415

    return getattr(api, name)
