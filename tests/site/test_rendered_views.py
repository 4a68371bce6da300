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
from types import SimpleNamespace
from typing import Any

import pandas as pd
import papermill
import pytest
from kit import Home
from matplotlib.figure import Figure
from rendered import Rendered

import benchbook
from benchbook import plots
from benchbook.analysis import results, summary
from benchbook.errors import BadInput
from benchbook.plots import output
from benchbook.report import Report
from benchbook.reports.saga.rungs import rung_names

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
    found = report.trials("p95_ms")
    found = found.assign(rung=rung_names(found).astype(str))
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
    def rows(self) -> list[list[str]]:
        return [[cell.get_text() for cell in row.find_all("td")] for row in Rendered(self.html).soup.find_all("tr")]

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


def keep_only(report: Path, part: str) -> None:
    """Leave of a recorded campaign the trials with this part in their id."""
    (folder,) = report.iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    plan["trials"] = [trial for trial in plan["trials"] if part in trial["id"]]
    (folder / "plan.json").write_text(json.dumps(plan))
    kept = {trial["id"] for trial in plan["trials"]}
    for trial in (folder / "trials").iterdir():
        if trial.name not in kept:
            shutil.rmtree(trial)


def copied(
    report: Path, trial: str, *, proof: Any = None, summary: Any = None, levels: Any = None, **cell: str
) -> None:
    """Add to a recorded campaign a trial of another cell, measured as one that it has."""
    (folder,) = report.iterdir()
    name = f"{trial}-{'-'.join(cell.values())}"
    shutil.copytree(folder / "trials" / trial, folder / "trials" / name)
    file = folder / "trials" / name / "record.json"
    made = {**json.loads(file.read_text()), **cell, "id": name}
    made |= {"levels": levels or made["levels"], "proof": {**made["proof"], **(proof or {})}}
    made["summary"] |= summary or {}
    file.write_text(json.dumps(made))
    plan = json.loads((folder / "plan.json").read_text())
    of = next(one for one in plan["trials"] if one["id"] == trial)
    of = {**of, "id": name, "order": len(plan["trials"])}
    plan["trials"].append({**of, "cell": {**of["cell"], **cell, "levels": made["levels"]}})
    (folder / "plan.json").write_text(json.dumps(plan))


# -- DM --------------------------------------------------------------------------------------------------------------


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
def test_the_notebook_of_dm_s_limits_shows_every_sync_and_what_was_compared(runs: Path, home: Home) -> None:
    """Of one the first repetition has failed: its second is shown."""
    file = next((runs / GA).glob("*/trials/*worker_count64-*/record.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "repetition": 2}))
    page = executed(GA, home)
    assert "6 of 6 trials recorded, 0 failed." in page.words
    compared = page.table("source_rows").set_index("published_table")
    assert {name: (row["trials"], row["tables"]) for name, row in compared.iterrows()} == {
        "sync_worker_count": (2, 8),
        "sync_distribution": (1, 4),
        "load_pool_size": (2, 8),
        "dump": (1, 4),
    }
    # Two loads of four tables of 8,000 rows, one dump of four of 16,000.
    assert compared.loc["load_pool_size", ["source_rows", "target_rows"]].tolist() == [64_000, 64_000]
    assert compared.loc["dump", "target_rows"] == 64_000
    distribution, few, many = (
        f"{sync} workers"
        for sync in (
            "Incremental replication of different statement mixes, oltp_write_only, 32",
            "Incremental replication with different worker counts, oltp_insert, 4",
            "Incremental replication with different worker counts, oltp_insert, 64",
        )
    )
    assert page.alt("Replication lag") == (
        "Replication lag over time. "
        f"{distribution}, rows behind (rows): rows up to 15,154; "
        f"{distribution}, seconds behind (s): seconds up to 4.717; "
        f"{few}, rows behind (rows): rows up to 990.5; {few}, seconds behind (s): seconds up to 0.742; "
        f"{many}, rows behind (rows): rows up to 2,425; {many}, seconds behind (s): seconds up to 1.852."
    )
    lags = page.table("catch_up_s (s)").set_index("worker_count")
    # A write_only transaction changes six rows: two updates of two jobs each, a delete and an insert: 4,099 x 6.
    assert lags[["lag_max_rows (rows)", "lag_max_s (s)", "catch_up_s (s)", "jobs (rows)"]].to_dict("index") == {
        32: {"lag_max_rows (rows)": 15_154, "lag_max_s (s)": 4.717, "catch_up_s (s)": 8.468, "jobs (rows)": 24_594},
        4: {"lag_max_rows (rows)": 990.5, "lag_max_s (s)": 0.742, "catch_up_s (s)": 0.8022, "jobs (rows)": 4_386},
        64: {"lag_max_rows (rows)": 2_425, "lag_max_s (s)": 1.852, "catch_up_s (s)": 1.25, "jobs (rows)": 4_414},
    }
    assert "In every sync the upstream was held to 1,500 transactions/s" in page.words
    assert "Dumps are cut into chunks of 1,000 rows and statements of 1,000,000 bytes (320,000 and" in page.words
    # 4,386 rows in 3.823 s.
    assert [row for row in page.rows if "1,147" in row]
    # The figure of a table that was not measured is a sentence.
    assert len(page.alts) == 6
    found = results.read(next((runs / GA).glob("*/results.json")))
    assert (found.trials.planned, found.trials.done, found.trials.failed) == (6, 6, 0)


@pytest.mark.slow
def test_the_notebook_of_one_sync_says_what_was_highest(runs: Path, home: Home) -> None:
    page = executed(ALPHA, home)
    about = "256 workers"
    rate = f"{about}, per second (1/s)"
    assert page.alt("Throughput of MySQL") == (
        f"Throughput of MySQL, DM and TiDB over time. {rate}: MySQL: transactions up to 1,512; "
        f"{rate}: DM: row jobs up to 3,062; {rate}: TiDB: statements up to 2,044; "
        f"{rate}: TiDB: transactions up to 434."
    )
    assert f"{about}, events and jobs (1/s): binlog events up to 2,164; " in page.alt("DM's key indicators")
    assert page.alt("TiDB's key indicators").startswith(
        f"TiDB's key indicators over time. {about}, explicit commits (1/s): explicit commits up to 434; "
    )
    # 4,526 rows in 4.278 s.
    assert [row for row in page.rows if "1,058" in row]


@pytest.mark.slow
def test_a_campaign_without_a_sync_says_so(runs: Path, home: Home) -> None:
    keep_only(runs / GA, "dump")
    page = executed(GA, home)
    assert page.words.count(": no sync was measured in this campaign.") == 4
    assert page.table("source_rows")["published_table"].tolist() == ["dump"]


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


@pytest.mark.slow
def test_the_notebook_of_sagas_shows_the_ladder_what_was_counted_and_the_books(runs: Path, home: Home) -> None:
    """Of two systems, one with a half of the other's ladder; and with a trial in which DTM was killed."""
    dtm = "r01-mariadb-dtm-sql_per_branch2-concurrency10"
    for repetition in ("r01", "r02", "r03"):
        copied(runs / DTM, f"{repetition}-mariadb-no_dtm-sql_per_branch2-concurrency10", system="mysql57")
    # One of three tells what was retried: the sum is unknown.
    file = next((runs / DTM).glob(f"*/trials/{dtm}/record.json"))
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "proof": {**told["proof"], "retried": 57}}))
    killed = {"killed": {"under_way": 7}, "retried": 5}
    levels = {"mode": "dtm_barrier", "sql_per_branch": 2, "concurrency": 10, "kill": 1}
    took = {"down_s": {"value": 1.5, "unit": "s"}, "recovery_s": {"value": 4.0, "unit": "s"}}
    copied(runs / DTM, dtm, table="saga_killed", levels=levels, proof=killed, summary=took)
    page = executed(DTM, home)
    # 575 / 1,232 and 385.5 / 1,193.1; the other system is relative to its own, which is all that it has.
    ladder = page.alt("Relative to the rung without DTM.")
    for said in (
        "Global-TPS, DTM, 2 SQL, published 0.47", "Global-TPS, DTM, 2 SQL, mariadb 0.32",
        "OPS, DTM, 2 SQL, published 1.17", "OPS, DTM, 2 SQL, mariadb 0.57", "OPS, no DTM, 2 SQL, mysql57 1.00",
    ):  # fmt: skip
        assert said in ladder
    assert "mysql57" not in ladder.partition("OPS, DTM, 2 SQL")[2].partition(";")[0]
    counted = page.table("sql_per_global_published").set_index(["system", "rung"])
    per_global = ["sql_per_global_published", "sql_per_global"]
    assert counted.loc[("mariadb", "DTM, 2 SQL"), per_global].tolist() == [10, 7.1]
    rates = page.table("ops_multiplied").set_index(["system", "rung"])
    # 385.5 x 10 = 3,855; counted (3,138 + 2,525 + 2,550) / 3 = 2,738, which is 29% less.
    of_ops = ["global_tps", "ops_multiplied", "ops", "ops_off_percent"]
    assert rates.loc[("mariadb", "DTM, 2 SQL"), of_ops].tolist() == [385.5, 3855.0, 2738.0, -29.0]
    # 5,685.5 sagas a second with nothing to do: 385.5 are 6.8% of them, 1,193.1 are 21%.
    below = page.table("ceiling").set_index(["system", "rung"])["share_percent"]
    assert below.to_dict() == {("mariadb", "no DTM, 2 SQL"): 21.0, ("mariadb", "DTM, 2 SQL"): 6.8}
    # Three with a share of failing branches, 376.7 in the mean, are no repetitions of those three.
    assert [row[:3] for row in page.rows if row and row[0] in ("385.50", "376.69")] == [
        ["385.50", "28.21", "3"], ["376.69", "31.83", "3"],
    ]  # fmt: skip
    books = page.table("global.started", "trials").set_index(["system", "rung"])
    assert "global_tps" not in books, "a sum of rates is none"
    # 1,399 + 1,383 + 990 sagas; of those that fail, 1,239 + 1,273 + 850, of which 252 + 267 + 163 rolled back.
    sums = ["trials", "global.started", "global.rolled_back", "sum of balances unchanged.holds"]
    assert books.loc[("mariadb", "DTM, 2 SQL"), sums].tolist() == [3, 3772, 0, 3]
    assert books.loc[("mariadb", "DTM, 2 SQL, 20% fail"), sums].tolist() == [3, 3362, 682, 0]
    assert books.loc[("mariadb", "DTM + barrier, 2 SQL"), "retried"] == 5
    assert pd.isna(books.loc[("mariadb", "DTM, 2 SQL"), "retried"])
    broken = page.table("invariant", "found").set_index("invariant")["found"]
    assert broken["sum of balances unchanged"] == "off by -252; off by -267; off by -163"
    # Shares 20.34%, 20.97%, 19.18%; every rollback compensates both branches: 2 x 682.
    ends = page.table("metric", "measured", "unit", "rung").set_index("metric")
    assert ends.loc["rolled_back_share", ["measured", "low", "high"]].tolist() == [0.202, 0.179, 0.224]
    branches = page.table("branches.in.compensate.executed").set_index("table").loc["saga_failing"]
    both = [branches[f"branches.{which}.compensate.executed"] for which in ("in", "out")]
    assert both == [682, 682]
    gone = page.table("killed.under_way").iloc[0]
    assert gone[["killed.under_way", "down_s", "recovery_s", "global.failed"]].tolist() == [7, 1.5, 4.0, 0]
    assert page.alt("commits (1/s) over time").startswith("commits (1/s) over time. mariadb, rung no DTM, empty: ")


def test_books_of_a_campaign_without_a_saga_are_empty_and_no_error(home: Home) -> None:
    """sysbench alone was measured: DTM did not start."""
    cells = json.loads((home.path / "notebooks" / f"{DTM}.ipynb").read_text())["cells"]
    (books,) = (said for cell in cells if (said := "".join(cell["source"])).startswith("proofs = "))
    alone = {"trial": "a", "system": "mariadb", "table": "mysql_write_only", "mode": None, "sql_per_branch": None}
    record = SimpleNamespace(id="a", proof={})
    report = SimpleNamespace(records=[record], captioned=lambda frame, caption: frame)
    shown: list[pd.DataFrame] = []
    names = {"pd": pd, "rung_names": rung_names, "trials": pd.DataFrame([alone]), "report": report}
    exec(books, {**names, "display": shown.append})
    assert [len(one) for one in shown] == [0]


@pytest.mark.slow
def test_a_ladder_without_its_base_is_no_error(runs: Path, home: Home) -> None:
    keep_only(runs / DTM, "-no_dtm-sql_per_branch0-")
    page = executed(DTM, home)
    assert "Nothing is relative to no DTM, 2 SQL: it was not measured." in page.words


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
def test_the_notebook_of_transfers_shows_engines_who_was_busy_and_every_combination(runs: Path, home: Home) -> None:
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
    busy = page.table("transfer_cores").sort_values(["system", "cache_bucket_size"])
    assert busy[["system", "trials"]].to_numpy().tolist() == [["mongodump", 3], ["pymongo", 3], ["pymongo", 3]]
    # (1.0862 + 1.1892 + 1.1297) / 3 cores.
    assert busy["source_cores"].tolist()[0] == 1.135
    heat = page.alt("Documents/s. ")
    assert "published, cache 32, threads 5/15: 145,062; " in heat
    assert heat.endswith("pymongo, cache 32, threads 5/15: 6,581; pymongo, cache 64, threads 5/15: 6,270.")
    # The least and the most that is printed, 400 and 1,160; pymongo's two cells are means over three trials each.
    assert page.alt("CPU (% of a core)").startswith(
        "CPU (% of a core) against documents/s. published: 400 to 1,160; pymongo:"
    )
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
