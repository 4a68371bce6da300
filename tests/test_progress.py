"""Progress: what is counted, what is estimated, and what a reader is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchbook.campaign import progress
from benchbook.campaign.progress import Progress, Tracker
from benchbook.display import live_progress
from benchbook.display.fragments import fragment


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_the_estimate_is_from_the_trials_that_this_run_has_finished(clock: Clock) -> None:
    told: list[Progress] = []
    tracker = Tracker(told.append, total=10, done=4)  # 4 were done before: they say nothing about the time
    assert (told[-1].left, told[-1].eta_s) == (6, None)
    tracker.trial("r01", 2)
    clock.now += 12
    tracker.ended(ok=True)
    assert (told[-1].done, told[-1].failed, told[-1].left, told[-1].eta_s) == (5, 0, 5, 60)  # 12 s each, 5 left
    tracker.trial("r02", 2)
    clock.now += 4
    tracker.ended(ok=False, why="died")
    assert (told[-1].done, told[-1].failed, told[-1].left, told[-1].eta_s) == (5, 1, 4, 32)  # 16 s / 2 each, 4 left
    assert told[-1].news == "FAILED r02: died"
    tracker.finish()
    assert (told[-1].finished, told[-1].eta_s, told[-1].trial) == (True, 0, "")


def test_the_mean_rate_is_the_trial_s_own() -> None:
    told: list[Progress] = []
    tracker = Tracker(told.append, total=2, done=0)
    for name, rates in (("a", (10.0, 20.0, 60.0)), ("b", (5.0,))):
        tracker.trial(name, 3)
        assert (told[-1].rate, told[-1].mean) == (None, None)
        for second, rate in enumerate(rates):
            tracker.rate(second + 1, rate)
        assert (told[-1].rate, told[-1].mean) == (rates[-1], sum(rates) / len(rates))
        tracker.ended(ok=True)


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


def test_without_anybody_to_tell_only_news_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(progress.PROGRESS_FILE, raising=False)
    tell = progress.listeners()
    tell(Progress(total=3))
    assert capsys.readouterr().out == ""
    tell(Progress(total=3, done=1, news="done r01"))
    assert capsys.readouterr().out == "1/3 done, 2 left | done r01\n"


def test_the_notebook_s_bar_counts_and_lists_failures_as_text() -> None:
    html = fragment("progress", progress=Progress(total=4, done=1, failed=1), failures=["FAILED r02: <dead>"]).data
    assert '<progress max="4" value="2" style="width:100%"></progress>' in html
    assert "<div>1/4 done, 2 left, 1 FAILED</div>" in html
    assert "<ul><li>FAILED r02: &lt;dead&gt;</li></ul>" in html


def test_outside_of_a_notebook_there_is_no_bar() -> None:
    assert live_progress.in_notebook() == []
