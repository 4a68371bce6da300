"""The page of a batch, and what its cells say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from kit import Home

from benchbook.analysis.formatting import duration
from benchbook.batch import batch_page, batch_view, batch_words
from benchbook.batch.batch_board import BatchBoard, CellStand
from benchbook.batch.batch_cell import BatchCell
from benchbook.batch.cell_found import CellFound, found_by
from benchbook.batch.cell_process import CellRan
from benchbook.batch.dispatch import CellResult
from benchbook.campaign.store import latest
from benchbook.site import publish

TIDB = "tidb_v7_1_3_sysbench"
FOUND = CellFound(campaign="c1", planned=6, done=5, failed=1, verdicts={"reproduced": 2, "inconclusive": 1})


def cell(number: int, inventory: str = "a") -> BatchCell:
    return BatchCell(number, TIDB, inventory, "smoke", (("threads", [1, 2]),), f"{inventory}.yaml")


def ran(status: int, said: str = "", found: CellFound | None = None) -> CellRan:
    where = {"host": "here", "home": "/home", "log": "/home/001.log"}
    return CellRan(status=status, began=100.0, ended=225.0, **where, said=said, found=found)


def page(stands: list[CellStand], *, over: bool = False) -> BeautifulSoup:
    return BeautifulSoup(batch_page.write("b1", "plan.yaml", stands, over).read_text(), "html.parser")


def texts(soup: BeautifulSoup) -> list[list[str]]:
    return [[" ".join(td.get_text(" ").split()) for td in row.select("th, td")] for row in soup.select("tbody tr")]


def test_a_batch_under_way_shows_what_waits_runs_and_has_ended(home: Home) -> None:
    campaign = home.path / "site" / TIDB / "c1"
    campaign.mkdir(parents=True)
    (campaign / "index.html").touch()
    over = CellResult(cell(1), 1, 1, ran(1, "  5/6  done x\nfailed: no <disk>\npage: site/x.html", FOUND))
    stands = [CellStand(cell(1), "over", 100.0, result=over), CellStand(cell(2), "runs", 100.0, "3/6  done y"),
              CellStand(cell(3, "b"))]  # fmt: skip
    soup = page(stands)
    first, second, third = texts(soup)
    assert first == [
        "1", TIDB, "a", "smoke", "threads=[1, 2]", "✕ failed trials failed: no <disk> its output: here:/home/001.log",
        "5 of 6, 1 failed", "2 reproduced, 1 open", "2 min 5 s",
    ]  # fmt: skip
    assert second[5:8] == ["… runs 3/6 done y", "", ""]
    assert third[5:] == ["– waits", "", "", ""]
    assert [link["href"] for link in soup.select("tbody a")] == [f"../{TIDB}/c1/index.html"]
    assert "3 cells: 1 over, 1 running, 1 waiting" in " ".join(soup.select_one(".lede").get_text().split())
    assert soup.select_one('meta[http-equiv="refresh"]')["content"] == "5"


def test_a_batch_that_is_over_is_not_asked_for_again_and_the_index_leads_to_it(home: Home) -> None:
    soup = page([CellStand(cell(1))], over=True)
    assert soup.select_one('meta[http-equiv="refresh"]') is None
    assert "0 over, 1 never begun" in " ".join(soup.select_one(".lede").get_text().split())
    index = BeautifulSoup(publish.build_index(home.path / "site").read_text(), "html.parser")
    assert [(link["href"], link.text) for link in index.select(".others a")] == [("batches/b1.html", "b1")]


def test_the_board_shows_each_change_and_the_lines_of_a_running_cell_now_and_then(tmp_path: Path) -> None:
    shown: list[list[str]] = []

    def show(stands: list[CellStand], over: bool) -> Path:
        shown.append([f"{one.state} {one.line}".strip() for one in stands])
        return tmp_path

    board = BatchBoard([cell(1), cell(2)], show)
    board.began(cell(1))
    board.said(1, "1/6  done")
    board.again(cell(1))
    board.began(cell(2))
    board.ended(CellResult(cell(2), 0, 1, ran(0)))
    assert shown == [
        ["runs waits for a worker", "waits"],
        ["waits its hosts were in use: it is tried again", "waits"],
        ["waits its hosts were in use: it is tried again", "runs waits for a worker"],
        ["waits its hosts were in use: it is tried again", "over"],
    ]


def test_what_a_campaign_came_to_is_read_where_it_ran(runs: Path) -> None:
    campaign = latest(TIDB)
    found = found_by(f"  1/1  done x\ncampaign: {campaign.folder}\npage: site/x.html\n")
    assert found is not None
    assert (found.campaign, found.done, found.planned) == (campaign.id, len(campaign.done()), len(campaign.trials))
    assert found_by("hosts.db1: does not answer") is None
    assert found_by(f"campaign: {runs / 'nowhere'}") is None


def test_the_reason_of_a_cell_is_what_it_said_last_of_itself() -> None:
    said = "starting the lab: 2 hosts\n  1/6  done a\n  2/6  failed b: no disk\nDiskFull: x\npage: p\nstopped the lab\n"
    assert batch_words.why(CellResult(cell(1), 1, 1, ran(1, said))) == "2/6  failed b: no disk DiskFull: x"
    broken_off = FOUND.model_copy(update={"problem": "the kernel was killed"})
    assert batch_words.why(CellResult(cell(1), 1, 1, ran(1, said, broken_off))) == "the kernel was killed"
    assert batch_words.why(CellResult(cell(1), 1, 3, None, "KilledWorker: x")) == "KilledWorker: x"
    assert batch_words.why(CellResult(cell(1), 0, 1, ran(0, said))) == ""


def test_the_terminal_s_table_says_of_each_cell_how_it_ended() -> None:
    results = [CellResult(cell(2), 130, 1), CellResult(cell(1), 0, 1, ran(0, "page: site/x.html", FOUND))]
    first, second = batch_view.rows(results)
    assert first == (
        "1", TIDB, "a", "smoke", "well", "5 of 6, 1 failed", "2 reproduced, 1 open", "2 min 5 s", "site/x.html",
    )  # fmt: skip
    assert second[4] == "interrupted"
    (lost,) = batch_view.rows([CellResult(cell(3), 1, 1, problem="KilledWorker: 3 times")])
    assert lost[4] == "lost: KilledWorker: 3 times"
    assert len(first) == len(second) == len(batch_view.HEADS)


def test_a_cell_whose_trials_are_all_there_has_no_failed_ones() -> None:
    """Its page cannot be made, say, or its system not be built: the exit status is the same."""
    whole = FOUND.model_copy(update={"done": 6, "failed": 0})
    assert batch_words.ended(CellResult(cell(1), 1, 1, ran(1, "page: too large", whole))) == "failed"
    assert batch_words.ended(CellResult(cell(1), 1, 1, ran(1, "go: no such module"))) == "failed"
    assert batch_words.ended(CellResult(cell(1), 1, 1, ran(1, "", FOUND))) == "failed trials"


@pytest.mark.parametrize(("seconds", "words"), [(4.4, "4 s"), (125, "2 min 5 s"), (7260, "2 h 1 min")])
def test_time_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
