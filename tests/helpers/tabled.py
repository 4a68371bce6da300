"""What a kind of report makes of records: figures of its published tables, both side by side, and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.design import Trial
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import LevelScaling
from benchbook.claims import evidence
from benchbook.claims.evidence import Evidence
from benchbook.published.tables import Published
from benchbook.reports.kind import Kind


def figures(
    kind: Kind[Any], data: Published, records: Sequence[Record], scaling: LevelScaling | None = None
) -> pd.DataFrame:
    return kind.figures(data, figures_of(of_records(records, scaling)))


def beside(kind: Kind[Any], data: Published, records: Sequence[Record], trials: Sequence[Trial]) -> pd.DataFrame:
    return kind.beside(data, figures(kind, data, records), trials)


def measured(kind: Kind[Any], data: Published, records: Sequence[Record], trials: Sequence[Trial]) -> Evidence:
    return evidence.measured(figures(kind, data, records), kind.systems(data, trials), trials)
