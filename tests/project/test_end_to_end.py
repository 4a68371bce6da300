"""Two real systems side by side, from the command to the page; then the same page again with the lab down."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from browser import open_page
from kit import REPORT, Home, inventory

from benchbook.analysis import results
from benchbook.campaign.store import Campaign

pytestmark = [pytest.mark.real, pytest.mark.slow]

# Rows are only read: MariaDB may answer writers with a deadlock, which the report's options do not ignore.
CAMPAIGN = ["-p", "systems=[tidb, mariadb]", "-p", "workloads=[oltp_point_select]", "-p", "threads=[2]"]
FIGURES = re.compile(r'<img alt="([^"]+)"')


@pytest.fixture(scope="module")
def restaged(tmp_path_factory: pytest.TempPathFactory, net: str) -> tuple[Home, int, str]:
    """A project folder whose lab the command itself starts and stops: (folder, exit status, what was said)."""
    home = Home.make(tmp_path_factory.mktemp("whole") / "home", net)
    lab = inventory(net)
    lab["hosts"] = {"executor": {"address": f"{net}.41", "roles": ["client"]},
                    "db1": {"address": f"{net}.42", "roles": ["tidb", "mysql"]}}  # fmt: skip
    home.write("env/hosts/lab_test.yaml", lab)
    return home, *home.report(*CAMPAIGN)


def test_every_trial_of_both_systems_is_measured(restaged: tuple[Home, int, str]) -> None:
    home, status, said = restaged
    assert status == 0, said
    (folder,) = home.campaigns()
    campaign = Campaign(folder)
    assert (len(campaign.trials), len(campaign.records()), campaign.failures()) == (4, 4, [])
    assert [r.system for r in campaign.records()].count("tidb") == 2
    for record in campaign.records():
        threads, tps, mean = 2, record.summary["tps"].value, record.summary["latency_mean_ms"].value
        assert tps * mean / 1000 == pytest.approx(threads, rel=0.2), "Little's law"
        assert sum(count for _, count in record.histogram) == record.summary["events"].value
        assert record.command.startswith(("/", "sysbench"))
        password = (home.path / ".lab" / "secrets" / "database").read_text().strip()
        assert password not in record.model_dump_json()


def test_every_second_was_watched(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    campaign = Campaign(home.campaigns()[0])
    for record in campaign.records():
        series = campaign.series(record.id)
        assert {"host", "mysql", "sysbench"} <= set(series.source)
        assert {"executor", "db1"} <= set(series.host)
        assert not series.isna().any().any()
        assert (series.unit.str.len() > 0).all()
        tps = series[(series.source == "sysbench") & (series.metric == "tps")]
        assert len(tps) >= 1
        # Its first look is before the load, however late those that follow come; a rate would need two.
        looks = series[(series.source == "host") & (series.metric == "load.1min") & (series.host == "db1")]
        assert looks.t.min() <= record.started + 0.1
        assert looks.t.max() >= record.ended - 1.5
        assert isinstance(series, pd.DataFrame)


def test_the_environment_says_what_ran_where(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    about = Campaign(home.campaigns()[0]).environment()
    assert set(about.hosts) == {"executor", "db1"}
    assert set(about.systems) == {"tidb", "mariadb"}
    assert "TiKV" in (about.systems["tidb"].stand_in_for or "")
    assert about.systems["mariadb"].config["variables"]["innodb_flush_log_at_trx_commit"] == "1"
    assert (about.load_generator or "").startswith("sysbench 1.0")


def test_the_lab_is_stopped_and_nothing_runs_any_more(restaged: tuple[Home, int, str]) -> None:
    home, _, said = restaged
    assert "stopped the lab" in said
    assert home.processes() == []


def test_the_site_s_json_is_what_was_measured(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    found = results.read(home.path / "site" / f"{REPORT}.json")
    assert (found.report, found.profile, found.inventory) == (REPORT, "tiny", "lab_test")
    # Another worker of this suite may take CPU from a trial, which is then tried again.
    assert found.trials.model_dump(exclude={"disturbed"}) == {"planned": 4, "done": 4, "failed": 0}
    assert {s.name for s in found.systems} == {"tidb", "mariadb"}
    measured = [row for row in found.cells if "measured" in row]
    assert {row["n"] for row in measured} == {2}
    assert {row["metric"] for row in measured} >= {"tps", "p95_ms"}
    published = {(row["system"], row["table"], row["threads"]) for row in found.cells if "published" in row}
    assert len(published) == 15 * 2, "15 cells for each system"
    assert found.finished is not None
    assert found.finished > found.started


def test_the_terminal_says_what_became_of_the_claims(restaged: tuple[Home, int, str]) -> None:
    home, _, said = restaged
    claims = results.read(home.path / "site" / f"{REPORT}.json").claims
    for system in ("tidb", "mariadb"):
        (line,) = [line for line in said.splitlines() if line.startswith(f"claims on {system}: ")]
        verdicts = [claim.verdict for claim in claims if claim.system == system]
        assert len(verdicts) == 16
        counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts))]
        assert (
            sorted(line.removeprefix(f"claims on {system}: ").split(", "), key=lambda one: one.split(" ", 1)[1])
            == counts
        )


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_stands_alone_in_a_browser(restaged: tuple[Home, int, str], width: int) -> None:
    home, _, _ = restaged
    page = home.path / "site" / f"{REPORT}.html"
    visit = open_page(page, width)
    assert visit.console == []
    assert visit.foreign_requests(page) == []
    assert visit.scroll_width <= width
    assert visit.code_blocks_opened > 0
    assert page.stat().st_size < 3_000_000
    assert all(len(alt) > 40 for alt in FIGURES.findall(page.read_text()))
    assert "MariaDB" in visit.inner_text


def test_the_page_is_rebuilt_from_the_records_with_no_lab_running(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    page = home.path / "site" / f"{REPORT}.html"
    records = {file: file.stat().st_mtime_ns for file in home.record_files().values()}
    figures, before = FIGURES.findall(page.read_text()), results.read(page.with_suffix(".json"))
    page.unlink()
    status, said = home.run("site")
    assert status == 0, said
    assert FIGURES.findall(page.read_text()) == figures
    assert results.read(page.with_suffix(".json")) == before
    assert (home.path / "site" / "index.html").exists()
    assert home.processes() == []
    assert {file: file.stat().st_mtime_ns for file in records} == records
