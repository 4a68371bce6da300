"""What the views of DM's, DTM's and DDT's reports show of recorded trials; every figure is computed by hand from them.

The campaigns are real ones, cut to a few trials (tests/fixtures/replays).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pandas as pd
import papermill
import pytest
from kit import Home
from matplotlib.figure import Figure
from rendered import Rendered

import benchbook
from benchbook import plots
from benchbook.analysis import results, summary
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput
from benchbook.plots import output
from benchbook.report import Report
from benchbook.reports.dm import dm_views
from benchbook.reports.saga import saga_views

GA, ALPHA, DTM, DDT = "dm_1_0_ga", "dm_1_0_alpha", "dtm_mysql", "ddt_full_scale"
Replayed = Callable[[str], Report]


@pytest.fixture
def replayed(runs: Path) -> Replayed:
    return lambda report: benchbook.open_report(report, replay=True)


def alt(figure: Figure) -> str:
    """What a figure says of itself."""
    return output.words(figure)[0]


def test_a_percentile_that_no_load_had_requests_enough_for_is_no_column_and_no_error(runs: Path) -> None:
    """A 95th percentile needs 200: DTM's notebook broke off where every rung was slower than that."""
    for path in (runs / DTM).glob("*/trials/*/record.json"):
        record = json.loads(path.read_text())
        record["summary"].pop("p95_ms", None)
        path.write_text(json.dumps(record))
    report = benchbook.open_campaign(DTM)
    assert "p95_ms" not in report.trials()
    found = saga_views.by_clients(report.trials("p95_ms"))
    assert found.p95_ms.isna().all()
    assert report.trials("p95_ms").attrs["units"]["p95_ms"] == "ms"
    assert alt(plots.repetitions(found, "p95_ms", x="concurrency", panel="rung")).startswith("No trial has p95_ms")
    with pytest.raises(BadInput, match="no such column"):
        report.trials("p95_s")


@dataclass(frozen=True)
class Page:
    """What a report's notebook shows, run from top to bottom on what was recorded."""

    html: str
    alts: list[str]
    captions: list[str]

    def table(self, *columns: str) -> pd.DataFrame:
        """The one table that has these columns."""
        (found,) = [one for one in pd.read_html(StringIO(self.html)) if {*columns} <= {*map(str, one.columns)}]
        return found

    def alt(self, beginning: str) -> str:
        (found,) = [alt for alt in self.alts if alt.startswith(beginning)]
        return found

    @property
    def words(self) -> str:
        return " ".join(Rendered(self.html).soup.get_text(" ").split())


def executed(report: str, home: Home, **parameters: object) -> Page:
    notebook, target = str(home.path / "notebooks" / f"{report}.ipynb"), str(home.path / "out.ipynb")
    given = {"replay": True, **parameters}
    done = papermill.execute_notebook(notebook, target, given, progress_bar=False, cwd=str(home.path))
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert {output.output_type for output in outputs} <= {"execute_result", "display_data", "stream"}
    shown = [output for output in outputs if "data" in output]
    return Page(
        "".join(output.data.get("text/html", "") for output in shown),
        [output.metadata["alt"] for output in shown if "alt" in output.metadata],
        [output.metadata.get("caption", "") for output in shown],
    )


# -- DM --------------------------------------------------------------------------------------------------------------


def test_dm_proofs_are_summed_over_the_trials_of_a_table(replayed: Replayed) -> None:
    rows = {row["table"]: row for row in Rendered(dm_views.proofs(replayed(GA)).data).table("Source against target")}
    assert {name: (row["trials"], row["tables compared"], row["chunks"]) for name, row in rows.items()} == {
        "sync_worker_count": ("2", "8", "8"),
        "sync_distribution": ("1", "4", "4"),
        "load_pool_size": ("2", "8", "8"),
        "dump": ("1", "4", "4"),
    }
    # Two loads of four tables of 8,000 rows, one dump of four of 16,000.
    assert rows["load_pool_size"]["rows at the source"] == rows["load_pool_size"]["rows at the target"] == "64,000"
    assert rows["dump"]["rows at the target"] == "64,000"
    assert {row["differences"] for row in rows.values()} == {"0"}


def test_dm_lag_is_drawn_with_its_highest_and_tabled_with_the_catch_up(replayed: Replayed) -> None:
    report = replayed(GA)
    assert alt(plots.watched(dm_views.watched(report, dm_views.LAG))) == (
        "Replication lag over time, a panel per trial and kind. 4 workers: rows up to 990.5, seconds up to 0.742; "
        "64 workers: rows up to 2,425, seconds up to 1.852; write_only: rows up to 15,154, seconds up to 4.717."
    )
    rows = Rendered(dm_views.lag_table(report).data).table("Lag and catch-up")
    found = {
        (row["table"], row["worker-count"]): (row["lag_max_rows (rows)"], row["lag_max_s (s)"], row["catch_up_s (s)"])
        for row in rows
    }
    assert found == {
        ("sync_distribution", "32"): ("15,154", "4.717", "8.468"),
        ("sync_worker_count", "4"): ("990.5", "0.742", "0.8022"),
        ("sync_worker_count", "64"): ("2,425", "1.852", "1.25"),
    }
    # A write_only transaction changes six rows: two updates of two jobs each, a delete and an insert.
    assert [row["jobs (rows)"] for row in rows] == [f"{4099 * 6:,}", "4,386", "4,414"]


def test_dm_throughput_and_indicators_say_what_was_highest(replayed: Replayed) -> None:
    report = replayed(ALPHA)
    about = "over time, a panel per trial and kind. 1024 threads, 256 workers: "
    assert alt(plots.watched(dm_views.watched(report, dm_views.THROUGHPUT))) == (
        f"Throughput of MySQL, DM and TiDB {about}MySQL: transactions up to 1,512, DM: row jobs up to 3,062, "
        "TiDB: statements up to 2,044, TiDB: transactions up to 434."
    )
    indicators = alt(plots.watched(dm_views.watched(report, dm_views.INDICATORS)))
    assert indicators.startswith(f"DM's key indicators {about}binlog events up to 2,164, row jobs up to 3,062, ")
    tidb = alt(plots.watched(dm_views.watched(report, dm_views.TIDB)))
    assert tidb.startswith(f"TiDB's key indicators {about}explicit commits up to 434, ")


def test_dm_curves_stand_beside_the_published_ones_and_say_where_nothing_was_measured(replayed: Replayed) -> None:
    report = replayed(GA)
    beside = report.beside_frame()
    drawn = plots.measures(beside[beside.table == "sync_worker_count"], ["job_tps", "tidb_p99_ms"], x="worker_count")
    assert alt(drawn) == (
        "Against worker_count. Jobs inside DM (1/s), published: 7,074 at 4, 14,684 at 8, 23,486 at 16, 23,345 at 32, "
        "23,302 at 64, 22,225 at 1024; Jobs inside DM (1/s), dm: 1,147 at 4, 1,034 at 64; "
        "TiDB 99% duration (ms), published: 3 at 4, 4 at 8, 6 at 16, 10 at 32, 16 at 64, 70 at 1024; "
        "TiDB 99% duration (ms), dm: 15.82 at 4, 121.9 at 64."
    )
    other = beside[beside.table == "load_rows_per_statement"]
    assert alt(plots.measures(other, ["speed_mb_s"], x="statement_size")).startswith("This table was not measured")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "trials", "jobs", "pictures"),
    [
        # 4,526 rows in 4.278 s.
        (ALPHA, 1, "1,058", 5),
        # 4,386 rows in 3.823 s; the figure of a table that was not measured is a sentence.
        (GA, 6, "1,147", 7),
    ],
)
def test_dm_notebooks_run_from_top_to_bottom_on_what_was_recorded(
    report: str, trials: int, jobs: str, pictures: int, runs: Path, home: Home
) -> None:
    notebook, target = str(home.path / "notebooks" / f"{report}.ipynb"), str(home.path / "out.ipynb")
    done = papermill.execute_notebook(notebook, target, {"replay": True}, progress_bar=False, cwd=str(home.path))
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert {output.output_type for output in outputs} <= {"execute_result", "display_data", "stream"}
    page = Rendered("".join(output.data.get("text/html", "") for output in outputs if "data" in output))
    assert f"{trials} of {trials} trials recorded, 0 failed." in page.text
    assert [cell for table in page.soup.find_all("table") for cell in table.find_all("td") if cell.get_text() == jobs]
    (campaign,) = (Campaign(folder) for folder in (home.path / "data" / "runs" / report).iterdir())
    drawn = [path.name for path in (campaign.folder / "figures").glob("*.png") if not path.name.endswith("claims.png")]
    assert len(drawn) == pictures
    found = results.read(campaign.folder / "results.json")
    assert (found.trials.planned, found.trials.done, found.trials.failed) == (trials, trials, 0)


# -- DTM -------------------------------------------------------------------------------------------------------------


def test_saga_rungs_stand_beside_the_published_ones_with_intervals(replayed: Replayed) -> None:
    page = Rendered(replayed(DTM).published_and_measured().data)
    rows = {(row["mode"], row["sql_per_branch"]): row for row in page.table("Saga of two sub-transactions")}
    # 1,209.0, 1,264.5, 1,105.7: mean 1,193.1, standard deviation 80.6, times 4.303 (Student, 2 degrees) / sqrt 3.
    assert rows["no_dtm", "2"] == {
        "mode": "no_dtm",
        "sql_per_branch": "2",
        "Global transactions (1/s), published": "1,232",
        "Global transactions (1/s), measured": "1,190 [990, 1,390]",
        "Database transactions (1/s), published": "2,464",
        "Database transactions (1/s), measured": "2,390 [1,990, 2,790]",
        "SQL statements (1/s), published": "4,928",
        "SQL statements (1/s), measured": "4,770 [3,970, 5,570]",
        "n": "3",
    }
    with_dtm = rows["dtm", "2"]
    assert with_dtm["Global transactions (1/s), published"] == "575"
    assert with_dtm["Global transactions (1/s), measured"] == "390 [260, 510]"


def test_the_ladder_is_relative_to_the_business_alone(replayed: Replayed) -> None:
    said = alt(saga_views.drawn(saga_views.ladder(replayed(DTM))))
    # 575 / 1,232 and 385.5 / 1,193.1.
    assert "Global-TPS, DTM, 2 SQL: published 0.47, measured 0.32" in said
    assert "OPS, DTM, 2 SQL: published 1.17, measured 0.57" in said


def test_what_the_report_multiplies_stands_beside_what_was_counted(replayed: Replayed) -> None:
    page = Rendered(saga_views.counters(replayed(DTM)).data)
    each = {row["rung"]: row for row in page.table("One global transaction")}
    assert (each["DTM, 2 SQL"]["SQL, report"], each["DTM, 2 SQL"]["SQL counted"]) == ("10", "7.10")
    rates = {row["rung"]: row for row in page.table("OPS: measured Global-TPS times")}
    # 385.5 x 10 = 3,855; counted (3,138 + 2,525 + 2,550) / 3 = 2,738, which is 29% less.
    assert rates["DTM, 2 SQL"] == {
        "rung": "DTM, 2 SQL",
        "Global-TPS": "385.5",
        "times": "10",
        "multiplied": "3,855",
        "counted": "2,738",
        "differs by": "-29.0%",
    }


def test_books_that_are_not_in_order_are_said_with_the_sum(replayed: Replayed) -> None:
    report = replayed(DTM)
    rows = {row["rung"]: row for row in Rendered(saga_views.invariants(report).data).table("Books after every trial")}
    # 1,399 + 1,383 + 990 sagas; of those that fail, 1,239 + 1,273 + 850, of which 252 + 267 + 163 rolled back.
    assert (rows["DTM, 2 SQL"]["sagas"], rows["DTM, 2 SQL"]["rolled back"]) == ("3,772", "0")
    failing = rows["DTM, 2 SQL, 20% fail"]
    assert (failing["sagas"], failing["rolled back"]) == ("3,362", "682")
    assert rows["DTM, 2 SQL"]["sum of balances unchanged"] == "in 3 of 3"
    assert failing["sum of balances unchanged"] == "in 0 of 3 (off by -252)"
    (row,) = Rendered(saga_views.failing(report).data).table("A share of TransIn branches fails")
    # Shares 20.34%, 20.97%, 19.18%; every rollback compensates both branches: 2 x 682.
    assert (row["rolled back"], row["compensations"]) == ("20.2% [17.9%, 22.4%]", "1,364")
    assert row["sum of balances"] == "off by -252, -267, -163"


# -- DDT -------------------------------------------------------------------------------------------------------------


def test_transfers_stand_beside_the_published_tables(replayed: Replayed) -> None:
    rows = Rendered(replayed(DDT).published_and_measured().data).table("Cache of 32 x 32 x 128 documents")
    # 5,844.5, 5,633.8 and 8,264.5 documents/s: mean 6,580.9, standard deviation 1,461.7, times 4.303 / sqrt 3.
    first = rows[0]
    assert (first["source_threads"], first["target_threads"], first["n"]) == ("5", "15", "3")
    assert first["Documents (1/s), published"] == "145,062"
    assert first["Documents (1/s), measured"] == "6,600 [2,900, 10,200]"
    assert [row["Documents (1/s), measured"] for row in rows[1:]] == ["–", "–"]


def test_rates_that_are_none_to_rely_on_are_said_above_the_tables(replayed: Replayed, runs: Path) -> None:
    path = next((runs / DDT).glob("*/trials/r01-pymongo*/record.json"))
    record = json.loads(path.read_text())
    record["proof"]["unsure"] = "9 documents were copied in 0.1 s: too short for a rate"
    path.write_text(json.dumps(record))
    said = Rendered(replayed(DDT).published_and_measured().data).text
    assert said.startswith("The rates of 1 of 9 trials are not to be relied on. For example, pymongo: 9 documents were")


@pytest.mark.slow
def test_the_notebook_of_transfers_shows_engines_what_limited_them_and_every_combination(
    runs: Path, home: Home
) -> None:
    """At levels that stand for the published ones, the figures say which: a mark beside "5/15" was of one thread."""
    (plan,) = (runs / DDT).glob("*/plan.json")
    asked = json.loads(plan.read_text())
    levels = {"cache_64": {"cache_bucket_size": {"64": 64}}}
    asked["asked"]["scaled"] = {"cores_here": 2, "cores_published": 40, "levels": levels}
    plan.write_text(json.dumps(asked))
    page = executed(DDT, home)
    engines = page.table("metric", "measured", "low").set_index(["system", "metric"])
    # 10,000 documents in 3.095, 2.967 and 2.108 s: (3,231 + 3,370 + 4,744) / 3 = 3,782.
    assert engines.loc[("mongodump", "qps"), ["measured", "n"]].tolist() == pytest.approx([3782, 3], rel=1e-3)
    limits = page.table("limit.who").sort_values(["system", "cache_bucket_size"])
    assert limits[["system", "limit.who", "trials"]].to_numpy().tolist() == [
        ["mongodump", "servers", 3],
        ["pymongo", "source", 3],
        ["pymongo", "source", 3],
    ]
    # (1.0862 + 1.1892 + 1.1297) / 3 cores.
    assert limits["limit.cores.source"].tolist()[0] == 1.135
    heat = page.alt("qps over cache and threads")
    assert "published, cache 32, threads 5/15: 145,062; " in heat
    assert heat.endswith("pymongo, cache 32, threads 5/15: 6,581; pymongo, cache 64, threads 5/15: 6,270.")
    against = page.alt("cpu_percent against qps")
    assert against == "cpu_percent against qps, 13 points. published: rank correlation 0.87; pymongo: 2 points."
    said = "Levels are scaled by cores (2 cores here, 40 published), published → here: cache bucket size 64 → 64."
    assert len([caption for caption in page.captions if caption.endswith(said)]) == 3
    assert page.alt("CPU of the transfer").startswith(
        "CPU of the transfer (cores) over time. pymongo, cache 32, 5/15: "
    )
    assert "target equals source 9 9 0" in page.words


# -- every report ----------------------------------------------------------------------------------------------------


def test_a_disturbed_measurement_is_shown_with_its_reason_and_counts_nowhere(replayed: Replayed, runs: Path) -> None:
    before = replayed(DTM)
    tables, whole = before.beside(), Rendered(before.failures().data).text
    (folder,) = (runs / DTM).iterdir()
    name = "r02-mariadb-no_dtm-sql_per_branch2-concurrency10"
    shutil.copytree(folder / "trials" / name, folder / "disturbed" / f"{name}.1")
    file = folder / "disturbed" / f"{name}.1" / "record.json"
    why = "mariadb on db was stopped (SIGSTOP) for 3.0 of 6.1 s"
    kept = {**json.loads(file.read_text()), "id": f"{name}.1", "status": "disturbed", "disturbed": [why]}
    file.write_text(json.dumps(kept))
    report = replayed(DTM)
    shown = Rendered(report.failures().data)
    assert shown.table("Disturbed measurements: kept, not counted") == [{"trial": name, "try": "1", "why": why}]
    assert shown.text.startswith(whole)
    pd.testing.assert_frame_equal(report.beside(), tables)
    assert results.read(summary.write_results(report.published, report.campaign, tables)).trials.disturbed == 1


def test_a_stall_of_the_system_is_told_below_the_checks(replayed: Replayed, runs: Path) -> None:
    (folder,) = (runs / DTM).iterdir()
    file = folder / "trials" / "r02-mariadb-no_dtm-sql_per_branch2-concurrency10" / "record.json"
    content = json.loads(file.read_text())
    content["proof"]["stalls"] = {"count": 1, "longest_s": 4.0}
    assert "came to a halt" not in Rendered(replayed(DTM).checks().data).text
    file.write_text(json.dumps(content))
    said = Rendered(replayed(DTM).checks().data).text
    assert "the system under test came to a halt, once in all, for 4 s at most (r02-mariadb-no_dtm-sql_per" in said
