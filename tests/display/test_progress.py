"""Progress: what is counted, what is estimated, and what a reader is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchbook.campaign import progress
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.progress import Forecast, Progress, Tracker
from benchbook.display import live_progress
from benchbook.display.show import fragment


def test_the_estimate_is_what_the_run_says_is_left() -> None:
    told: list[Progress] = []
    tracker = Tracker(told.append, total=10, done=4)
    assert (told[-1].left, told[-1].eta_s) == (6, None)
    tracker.trial("r01")
    tracker.ended(ok=True, left_s=60, preparing="mariadb")
    assert (told[-1].done, told[-1].failed, told[-1].left, told[-1].eta_s) == (5, 0, 5, 60)
    assert told[-1].line().startswith("5/10 done, 5 left, about 1 min 00 s to go after preparing mariadb")
    tracker.trial("r02")
    tracker.ended(ok=False, why="died", left_s=32)
    assert (told[-1].done, told[-1].failed, told[-1].left, told[-1].eta_s) == (5, 1, 4, 32)
    assert told[-1].news == "FAILED r02: died"
    tracker.finish()
    assert (told[-1].finished, told[-1].eta_s, told[-1].trial) == (True, 0, "")


def trials_of(*systems: str) -> list[Trial]:
    """Two trials of each system in each of two repetitions, in their order."""
    wanted = [(r, name, n) for r in (1, 2) for name in systems for n in (1, 2)]
    return [
        Trial(
            id=f"r{r}-{name}-{n}", identity="0" * 12, cell=Cell(table="t", system=name, levels={"n": n}),
            repetition=r, order=order,
        )
        for order, (r, name, n) in enumerate(wanted)
    ]  # fmt: skip


def test_what_is_done_once_is_not_expected_again() -> None:
    every = trials_of("tidb")
    forecast = Forecast(lambda trial: 2.0)
    assert forecast.left_s(every, in_block=False) is None
    forecast.began("tidb", 285)  # installing and preparing, once
    forecast.took(every[0], 7)  # 5 s beyond its load
    # Three trials of 2 + 5 s; what the block to come takes to begin is not known yet.
    assert forecast.left_s(every[1:], in_block=True) == 21
    forecast.took(every[1], 9)  # 6 s beyond, in the mean
    forecast.began("tidb", 10)
    # Two trials of 2 + 6 s, in the block that has begun; then in one that has not.
    assert forecast.left_s(every[2:], in_block=True) == 16
    assert forecast.left_s(every[2:], in_block=False) == 26


def test_a_button_ends_the_run_and_leaves_nothing_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    button = live_progress.StopButton()
    assert not button.pressed
    button._widget.click()
    assert (button.pressed, button._widget.disabled) == (True, True)


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (Progress(total=5), "0/5 done, 5 left"),
        (Progress(total=5, done=1, failed=1, eta_s=61, trial="r01", step="preparing"),
         "1/5 done, 3 left, 1 FAILED, about 1 min 01 s to go | r01 preparing"),
        (Progress(total=5, done=1, eta_s=3725, trial="r01", rate=1234.5, mean=1000.2),
         "1/5 done, 4 left, about 1 h 02 min to go | r01  1,234 tps now, 1,000 so far"),
        (Progress(total=5, trial="r01", rate=12.34, mean=11.96, unit="MiB/s"),
         "0/5 done, 5 left | r01  12.3 MiB/s now, 12.0 so far"),
        (Progress(total=5, trial="r01", rate=5432.1, mean=99.96, unit="documents/s"),
         "0/5 done, 5 left | r01  5,432 documents/s now, 100.0 so far"),
        (Progress(total=5, done=5, eta_s=0), "5/5 done, 0 left"),
    ],
)  # fmt: skip
def test_one_line_says_it_all(now: Progress, line: str) -> None:
    assert now.line() == line


def test_the_command_line_hears_it_through_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "progress"
    monkeypatch.setenv(progress.PROGRESS_FILE, str(path))
    progress.tell_command_line(campaign="c1")
    progress.listeners()(Progress(total=3, done=1, news="done r01"))
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {"campaign": "c1"}
    assert Progress(**second) == Progress(total=3, done=1, news="done r01")


def test_the_notebook_s_bar_counts_and_lists_failures_as_text() -> None:
    html = fragment(
        "progress", progress=Progress(total=4, done=1, failed=1), failures=["FAILED r02: <dead>"], note=""
    ).data
    assert '<progress max="4" value="2" style="width:100%"></progress>' in html
    assert "<div>1/4 done, 2 left, 1 FAILED</div>" in html
    assert "<ul><li>FAILED r02: &lt;dead&gt;</li></ul>" in html


def test_outside_of_a_notebook_there_is_no_bar() -> None:
    with live_progress.LiveView() as view:
        assert (view.listeners, view.stop()) == ([], False)
