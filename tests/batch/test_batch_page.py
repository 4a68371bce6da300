"""The page of a batch, and what its cells say of themselves."""

from __future__ import annotations

import io
from pathlib import Path

from bs4 import BeautifulSoup
from kit import Home
from rich.console import Console

from benchbook.batch import display
from benchbook.batch.cell import CellFound, CellRan, found_by
from benchbook.batch.dispatch import CellResult
from benchbook.batch.display import CellState
from benchbook.batch.plan import BatchCell
from benchbook.campaign.store import latest
from benchbook.site import publish

TIDB = "tidb_v7_1_3_sysbench"
FOUND = CellFound(campaign="c1", planned=6, done=5, failed=1, verdicts={"holds": 2, "open": 1})


def cell(number: int, inventory: str = "a") -> BatchCell:
    return BatchCell(number, TIDB, inventory, "smoke", (("threads", [1, 2]),), f"{inventory}.yaml")


def ran(status: int, said: str = "", found: CellFound | None = None) -> CellRan:
    where = {"host": "here", "home": "/home", "log": "/home/001.log"}
    return CellRan(status=status, began=100.0, ended=225.0, **where, said=said, found=found)


def page(stands: list[CellState], *, over: bool = False) -> BeautifulSoup:
    return BeautifulSoup(display.write_page("b1", "plan.yaml", stands, over=over).read_text(), "html.parser")


def texts(soup: BeautifulSoup) -> list[list[str]]:
    return [[" ".join(td.get_text(" ").split()) for td in row.select("th, td")] for row in soup.select("tbody tr")]


def test_a_batch_under_way_shows_what_waits_runs_and_has_ended(home: Home) -> None:
    campaign = home.path / "site" / TIDB / "c1"
    campaign.mkdir(parents=True)
    (campaign / "index.html").touch()
    over = CellResult(cell(1), 1, 1, ran(1, "  5/6  done x\nfailed: no <disk>\npage: site/x.html", FOUND))
    stands = [CellState(cell(1), 100.0, result=over), CellState(cell(2), 100.0, "3/6  done y"), CellState(cell(3, "b"))]
    soup = page(stands)
    first, second, third = texts(soup)
    assert first == [
        "1", TIDB, "a", "smoke", "threads=[1, 2]", "✕ failed trials failed: no <disk> its output: here:/home/001.log",
        "5 of 6, 1 failed", "2 holds, 1 open", "2 min 05 s",
    ]  # fmt: skip
    assert second[5:8] == ["… runs 3/6 done y", "", ""]
    assert third[5:] == ["– waits", "", "", ""]
    assert [link["href"] for link in soup.select("tbody a")] == [f"../{TIDB}/c1/index.html"]
    assert "3 cells: 1 over, 1 running, 1 waiting" in " ".join(soup.select_one(".lede").get_text().split())
    assert soup.select_one('meta[http-equiv="refresh"]')["content"] == "5"


def test_a_batch_that_is_over_is_not_asked_for_again_and_the_index_leads_to_it(home: Home) -> None:
    soup = page([CellState(cell(1))], over=True)
    assert soup.select_one('meta[http-equiv="refresh"]') is None
    assert "0 over, 1 never begun" in " ".join(soup.select_one(".lede").get_text().split())
    index = BeautifulSoup(publish.build_index(home.path / "site").read_text(), "html.parser")
    assert [(link["href"], link.text) for link in index.select(".others a")] == [("batches/b1.html", "b1")]


def test_the_display_follows_each_cell_and_its_page_is_made_anew(home: Home) -> None:
    console = Console(file=io.StringIO(), width=100)
    with display.BatchDisplay("b1", "plan.yaml", [cell(1), cell(2)], console) as shown:
        shown.began(cell(1))
        shown.said(1, "1/6  done")
        shown.again(cell(1))
        shown.began(cell(2))
        shown.ended(CellResult(cell(2), 0, 1, ran(0)))
        assert [(state.name, state.line) for state in shown.states.values()] == [
            ("waits", "its hosts were in use: it is tried again"),
            ("over", ""),
        ]
        first, second = texts(BeautifulSoup(shown.write().read_text(), "html.parser"))
    assert first[5] == "– waits its hosts were in use: it is tried again"
    assert second[5] == "✓ well"


def test_what_a_campaign_came_to_is_read_where_it_ran(runs: Path) -> None:
    campaign = latest(TIDB)
    found = found_by(f"  1/1  done x\ncampaign: {campaign.folder}\npage: site/x.html\n")
    assert found is not None
    assert (found.campaign, found.done, found.planned) == (campaign.id, len(campaign.done()), len(campaign.trials))
    assert found_by("hosts.db1: does not answer") is None
    assert found_by(f"campaign: {runs / 'nowhere'}") is None


def test_the_terminal_s_table_says_of_each_cell_how_it_ended() -> None:
    results = [CellResult(cell(2), 130, 1), CellResult(cell(1), 0, 1, ran(0, "page: site/x.html", FOUND))]
    first, second = display.rows(results)
    assert first == (
        "1", TIDB, "a", "smoke", "well", "5 of 6, 1 failed", "2 holds, 1 open", "2 min 05 s", "site/x.html",
    )  # fmt: skip
    assert second[4] == "interrupted"
    (lost,) = display.rows([CellResult(cell(3), 1, 1, problem="KilledWorker: 3 times")])
    assert lost[4] == "lost: KilledWorker: 3 times"
    assert len(first) == len(second) == len(display.HEADS)
