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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from benchbook.compare.catalogue import Catalogue
    from benchbook.report import Report

__version__ = "0.1.0"
__all__ = [
    "catalogue",
    "cells",
    "open_campaign",
    "ratios",
    "runs",
    "tables",
    "usl",
]


def __dir__() -> list[str]:
    """Return what a user may call, and not the folders that it is made of."""
    return sorted(__all__)


# What these need takes seconds to import, and the command line imports this module too.
def runs(report: str = "*") -> pd.DataFrame:
    """Return a row per recorded campaign of one report, or of all: id, made, profile, inventory, systems, trials."""
    from benchbook.compare import catalogue  # noqa: PLC0415

    return catalogue.Catalogue(report).runs()


def catalogue(report: str = "*") -> Catalogue:
    """Return all that the campaigns of one report, or of all, measured: `.trials()`, `.seconds("tps")`, `.sql(...)`.

    Further `.runs()`, `.histograms()`, `.verdicts()` and `.environments()`.
    """
    from benchbook.compare.catalogue import Catalogue  # noqa: PLC0415

    return Catalogue(report)


def open_report(report: str, **parameters: object) -> Report:
    """Return a report with these parameters (else those of its notebook), to run it or to replay a campaign.

    Raise BadInput for a parameter, or something that it names, that does not exist.
    """
    from benchbook import report as reports  # noqa: PLC0415

    return reports.open_report(report, **parameters)


def open_campaign(address: str) -> Report:
    """Return a recorded campaign, for its frames and views: `REPORT` (its latest), `REPORT~1`, an id, or a folder.

    No host is needed. Raise BadInput that lists what there is.
    """
    from benchbook import report as reports  # noqa: PLC0415

    return reports.open_campaign(address)


def ratios(a: str, b: str = "") -> pd.DataFrame:
    """A row per cell that two campaigns share: means, ratio B / A with 95% interval; addresses as in `open_campaign`.

    A report alone in `a` means its two latest. Raises BadInput.
    """
    from benchbook.compare import pair  # noqa: PLC0415

    return pair.ratios(a, b)


def usl(
    frame: pd.DataFrame, y: str = "tps", *, x: str = "threads", by: Sequence[str] = ("system", "workload")
) -> pd.DataFrame:
    """The Universal Scalability Law fitted to each curve of a frame of trials: contention, coherency, peak."""
    from benchbook.analysis import scaling  # noqa: PLC0415

    return scaling.usl(frame, y, x=x, by=by)


def cells(figures: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """Return a row per cell and metric of `report.figures()`: mean over repetitions, its Student interval, n."""
    from benchbook.analysis import trials  # noqa: PLC0415

    return trials.cells(figures, confidence=confidence)


def tables() -> pd.DataFrame:
    """Return a row per frame that there is: the call that makes it, what a row of it is, and its columns."""
    from benchbook.analysis import schema  # noqa: PLC0415

    return schema.tables()
