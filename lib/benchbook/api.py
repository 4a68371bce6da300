"""What a notebook calls as `benchbook.runs()`, `benchbook.open_campaign(...)` and so on."""

from __future__ import annotations

import pandas as pd

from benchbook.analysis.schema import tables
from benchbook.analysis.trials import cells
from benchbook.compare.catalogue import Catalogue
from benchbook.compare.pair import ratios
from benchbook.report import open_campaign, open_report

__all__ = ["catalogue", "cells", "open_campaign", "open_report", "ratios", "runs", "tables"]


def runs(report: str = "*") -> pd.DataFrame:
    """Return a row per recorded campaign of one report, or of all: id, made, profile, inventory, systems, trials."""
    return Catalogue(report).runs()


def catalogue(report: str = "*") -> Catalogue:
    """Return all that the campaigns of one report, or of all, measured: `.trials()`, `.seconds("tps")`, `.sql(...)`.

    Further `.runs()`, `.histograms()`, `.verdicts()` and `.environments()`.
    """
    return Catalogue(report)
