"""What can be downloaded beside a page: its tables as CSV and Parquet, figures, results, the executed notebook.

The tables are frames (docs/frames.md): published beside measured, claims, trials, seconds. datapackage.json says what
each column is, and in which unit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbook.analysis import results, samples
from benchbook.analysis.beside import of_rows
from benchbook.analysis.results import Results
from benchbook.analysis.schema import BESIDE, CLAIMS, SECONDS, TRIALS, data_resource
from benchbook.analysis.trials import trials_of
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.errors import writing
from benchbook.paths import EXECUTED, RESULTS
from benchbook.user_input.atomic_file import replace_bytes, replace_text

PACKAGE = "datapackage.json"
# Beyond this a table of seconds is Parquet only: nobody opens a larger CSV.
MOST_CSV_ROWS = 500_000
# Beyond this the seconds stay with the campaign: 100 MB are the most that GitHub takes for a file.
MOST_SERIES_BYTES = 100_000_000


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
    RESULTS: "results",
    "beside.csv": "published beside measured",
    "claims.csv": "claims",
    "trials.csv": "trials, a row each",
    "trials.parquet": "trials",
    "seconds.csv": "seconds, a row per sample",
    "seconds.parquet": "seconds",
    PACKAGE: "what each column is, with units",
    EXECUTED: "the executed notebook",
}
_TABLES = [name for name in _WHAT if name.endswith((".csv", ".parquet"))]


def write(campaign: Campaign | None, found: Results, notebook: Path, folder: Path) -> None:
    """Put everything that can be downloaded into the folder of a page; without a campaign, the notebook alone."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        replace_bytes(folder / EXECUTED, notebook.read_bytes())
        if campaign and (records := campaign.records()):
            written = _tables(campaign, found, records, folder)
            for figure in (campaign.folder / "figures").glob("*.*"):
                replace_bytes(folder / "figures" / figure.name, figure.read_bytes())
            # What an earlier page had and this one has no room for.
            for name in set(_TABLES) - set(written):
                (folder / name).unlink(missing_ok=True)


def there(folder: Path) -> list[Download]:
    """Return what stands in the folder of a page."""
    return [
        Download(name, what, (folder / name).stat().st_size)
        for name, what in _WHAT.items()
        if (folder / name).is_file()
    ]


def left_out(folder: Path) -> str:
    """Return what does not stand there for its size, in a sentence; empty where nothing is missing."""
    if (folder / "trials.parquet").is_file() and not (folder / "seconds.parquet").is_file():
        return "The seconds are too many to be downloaded here: they stay in data/runs, series.parquet of each trial."
    return ""


def _tables(campaign: Campaign, found: Results, records: Sequence[Record], folder: Path) -> list[str]:
    frames = [
        ("beside", of_rows(found.cells), BESIDE, ["csv"]),
        ("claims", results.claims_frame(found.claims), CLAIMS, ["csv"]),
        ("trials", trials_of(campaign), TRIALS, ["parquet", "csv"]),
    ]
    series = [campaign.folder / "trials" / record.id / "series.parquet" for record in records]
    if sum(file.stat().st_size for file in series) <= MOST_SERIES_BYTES:
        seconds = samples.seconds(campaign, load_only=False)
        frames.append(
            ("seconds", seconds, SECONDS, ["parquet", "csv"] if len(seconds) <= MOST_CSV_ROWS else ["parquet"])
        )
    note = campaign.scaling.sentence() if campaign.scaling else ""
    written, resources = [], []
    for name, frame, schema, kinds in frames:
        for kind in kinds if len(frame) else ():
            if kind == "csv" and len(frame) > MOST_CSV_ROWS:
                continue
            path = folder / f"{name}.{kind}"
            if kind == "csv":
                replace_text(path, frame.to_csv(index=False, lineterminator="\n"))
            else:
                replace_bytes(path, frame.to_parquet(index=False, compression="zstd"))
            written.append(path.name)
            resources.append(data_resource(f"{name}-{kind}", path.name, frame, schema, note))
    package = {
        "name": campaign.id.lower(),
        "title": f"{campaign.report}, campaign {campaign.id}",
        "resources": resources,
    }
    replace_text(folder / PACKAGE, json.dumps(package, indent=1, ensure_ascii=False) + "\n")
    return written
