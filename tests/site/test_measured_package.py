"""The measured tables as a data package: what Frictionless makes of it, its units, and where it says it comes from."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from frictionless import Package, system
from matplotlib.figure import Figure

from benchbook import published
from benchbook.analysis import circumstances, results
from benchbook.analysis.results import Results
from benchbook.campaign.origin import Origin
from benchbook.campaign.store import latest
from benchbook.errors import NotWritten
from benchbook.plots import output
from benchbook.site import downloads, measured_package

ROWS: list[dict[str, Any]] = [
    {"system": "tidb", "threads": 1, "skew": "none", "metric": "tps", "unit": "1/s", "published": 100.5,
     "measured": {"value": 10.5, "low": 9.0, "high": 12.0, "n": 3}},
    {"system": "tidb", "threads": 1, "skew": "none", "metric": "p95_ms", "unit": "ms", "published": 4.0},
    {"system": "tidb", "threads": 2, "skew": "none", "metric": "tps", "unit": "1/s",
     "measured": {"value": 20.0, "n": 1}},
    {"system": "tidb", "threads": 2, "skew": "none", "metric": "threads", "unit": "threads", "published": 2.0},
]  # fmt: skip
TABLE = {"id": "Point select", "title": "Point select", "columns": ["threads"], "rows": ROWS}
ORIGIN = Origin(version="0.1.0", commit="abc", repository="")


@pytest.fixture
def found() -> Results:
    return results.parse(
        {"report": "tidb", "title": "TiDB", "profile": "lab", "inventory": "mine", "campaign": "20250612T1-ab",
         "started": "2025-06-12T10:00:00Z", "trials": {"planned": 2, "done": 2, "failed": 0},
         "systems": [{"name": "tidb", "version": "v6.5.12", "stand_in_for": "TiDB Cloud"}],
         "setting": {"published_url": "https://example.org/report", "hosts": ["2 cores"]},
         "tables": [TABLE, {**TABLE, "id": "empty", "rows": [ROWS[1]]}]}
    )  # fmt: skip


def opened(found: Results, folder: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    measured_package.write(found, folder)
    with zipfile.ZipFile(folder / measured_package.NAME) as held:
        held.extractall(folder / "package")
    descriptor = json.loads((folder / "package" / "datapackage.json").read_text())
    return descriptor, pd.read_csv(folder / "package" / "point-select.csv", keep_default_na=False, na_values=[""])


def test_a_row_per_cell_has_mean_interval_repetitions_and_what_was_published(found: Results, tmp_path: Path) -> None:
    _, frame = opened(found, tmp_path)
    tps = ["tps", "tps_low", "tps_high", "tps_n", "tps_published"]
    assert list(frame.columns[:3]) == ["system", "threads", "skew"]
    assert frame[["threads", *tps]].astype(object).where(frame[["threads", *tps]].notna(), None).values.tolist() == [
        [1, 10.5, 9.0, 12.0, 3, 100.5],
        [2, 20.0, None, None, 1, None],
    ]
    assert frame.p95_ms_published.tolist()[0] == 4.0
    assert frame.threads_measured_published.tolist()[1] == 2.0, "a metric named as a level has a column of its own"


def test_every_column_has_its_unit_and_the_package_says_where_it_comes_from(found: Results, tmp_path: Path) -> None:
    descriptor, frame = opened(found, tmp_path)
    (resource,) = descriptor["resources"]
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    assert list(fields) == list(frame.columns)
    assert [fields[name].get("unit") for name in ("tps", "tps_low", "tps_n", "p95_ms")] == ["1/s", "1/s", "1", "ms"]
    assert [fields[name]["type"] for name in ("system", "threads", "tps", "tps_n")] == [
        "string", "integer", "number", "integer",
    ]  # fmt: skip
    assert descriptor["sources"] == [{"title": "TiDB", "path": "https://example.org/report"}]
    assert descriptor["licenses"][0]["name"] == "Apache-2.0"
    run = descriptor["run"]
    assert (run["campaign"], run["profile"], run["hosts"]) == ("20250612T1-ab", "lab", ["2 cores"])
    assert run["systems"][0]["stand_in_for"] == "TiDB Cloud"


def test_a_table_says_what_was_run_for_the_published_levels_that_it_names(found: Results, tmp_path: Path) -> None:
    """On two cores "50 threads" are one: the page said so, and what is downloaded did not."""
    assert "threads_run" not in opened(found, tmp_path)[1]
    found.setting.scaled = {"Point select": {"threads": {"1": 7}}}
    descriptor, frame = opened(found, tmp_path)
    # 2 is no published one, and was run as it is.
    assert frame[["threads", "threads_run"]].values.tolist() == [[1, 7], [2, 2]]
    names = [field["name"] for field in descriptor["resources"][0]["schema"]["fields"]]
    assert names == list(frame.columns)


def test_the_results_of_a_scaled_campaign_say_what_was_run(runs: Path) -> None:
    campaign = latest("tidb_v7_1_3_sysbench")
    setting = circumstances.of_campaign(published.load(campaign.report), campaign)
    assert setting.scaled["oltp_point_select"] == {"threads": {"50": 1, "100": 3, "200": 5}}


def test_the_trials_of_a_scaled_campaign_say_that_their_levels_are_those_that_were_run(
    runs: Path, tmp_path: Path
) -> None:
    """`measured.zip` has the published 50, 100 and 200 in the column that is 1, 3 and 5 in `trials.csv`."""
    notebook = tmp_path / "some.ipynb"
    notebook.write_text("{}")
    downloads.write(latest("tidb_v7_1_3_sysbench"), notebook, tmp_path / "page")
    trials, *_ = json.loads((tmp_path / "page" / "datapackage.json").read_text())["resources"]
    assert "published → here: threads" in trials["description"]
    assert "50 → 1, 100 → 3, 200 → 5" in trials["description"]
    (threads,) = (field for field in trials["schema"]["fields"] if field["name"] == "threads")
    assert threads["description"] == "level threads of the trial, as it was run"


def test_frictionless_finds_nothing_wrong_and_finds_a_changed_value(found: Results, tmp_path: Path) -> None:
    opened(found, tmp_path)
    with system.use_context(trusted=True):
        report = Package(str(tmp_path / "package" / "datapackage.json")).validate()
        assert report.valid, report.flatten(["type", "message"])
        file = tmp_path / "package" / "point-select.csv"
        file.write_text(file.read_text().replace("10.5", "ten"))
        assert not Package(str(tmp_path / "package" / "datapackage.json")).validate().valid


def test_the_same_results_are_the_same_file_and_without_a_measurement_there_is_none(
    found: Results, tmp_path: Path
) -> None:
    first, second = (measured_package.package(found, found.tables[:1], ORIGIN) for _ in range(2))
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as held:
        assert held.namelist() == ["point-select.csv", "datapackage.json"]
    measured_package.write(found, tmp_path)
    assert len(measured_package.there(tmp_path)) == 1
    measured_package.write(found.model_copy(update={"tables": found.tables[1:]}), tmp_path)
    assert measured_package.there(tmp_path) == []


def test_a_disk_that_is_full_leaves_what_stood_there(found: Results, tmp_path: Path) -> None:
    """Half a zip took its place, and half a picture that of a figure: who downloaded them meanwhile could not tell."""
    measured_package.write(found, tmp_path)
    zipped, drawn = tmp_path / measured_package.NAME, tmp_path / "figures" / "a.png"
    output.save(Figure(), drawn)
    before = {path: path.read_bytes() for path in (zipped, drawn, drawn.with_suffix(".svg"))}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow beyond this, which is less than either.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(NotWritten, match=r"measured\.zip cannot be written: File too large"):
            measured_package.write(found, tmp_path)
        with pytest.raises(NotWritten, match=r"a\.png cannot be written: File too large"):
            output.save(Figure(), drawn)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(before)
