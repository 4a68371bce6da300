"""What can be downloaded beside a page: trials and seconds as CSV and Parquet, results, the executed notebook."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchbook.campaign.store import Campaign
from benchbook.errors import writing

NOTEBOOK = "executed.ipynb"
# Beyond this a table of seconds is Parquet only: nobody opens a larger CSV, and a site has its limits.
MOST_CSV_ROWS = 500_000


@dataclass(frozen=True)
class Download:
    """A file beside the page, what it is, and its size in bytes."""

    name: str
    what: str
    size: int

    @property
    def kilobytes(self) -> str:
        return f"{max(1, round(self.size / 1000)):,}"


# In the order of the page.
_WHAT = {
    "results.json": "results",
    "trials.csv": "trials, a row each",
    "trials.parquet": "trials",
    "seconds.csv": "seconds, a row per sample",
    "seconds.parquet": "seconds",
    NOTEBOOK: "the executed notebook",
}


def write(campaign: Campaign | None, notebook: Path, folder: Path) -> None:
    """Put everything that can be downloaded into the folder of a page; without a campaign, the notebook alone."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, folder / NOTEBOOK)
        if campaign and campaign.records():
            _tables(trials(campaign), folder / "trials")
            _tables(seconds(campaign), folder / "seconds")


def there(folder: Path) -> list[Download]:
    """What stands in the folder of a page."""
    return [
        Download(name, what, (folder / name).stat().st_size)
        for name, what in _WHAT.items()
        if (folder / name).is_file()
    ]


def trials(campaign: Campaign) -> pd.DataFrame:
    """A row per trial that counts: trial, table, system, repetition, order, levels, each metric as `name (unit)`."""
    rows = [
        {"trial": r.id, "table": r.table, "system": r.system, "repetition": r.repetition, "order": r.order}
        | {f"level.{name}": value for name, value in r.levels.items()}
        | {f"{name} ({metric.unit})": metric.value for name, metric in r.summary.items()}
        for r in campaign.records()
    ]
    return pd.DataFrame(rows)


def seconds(campaign: Campaign) -> pd.DataFrame:
    """All samples: trial, t (s since the epoch, the host's clock), host, source, metric, value, unit."""
    return pd.concat([campaign.series(r.id).assign(trial=r.id) for r in campaign.records()], ignore_index=True)


def _tables(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    if len(frame) <= MOST_CSV_ROWS:
        frame.to_csv(path.with_suffix(".csv"), index=False)
