"""What a notebook shows of a run: a button that is heard while the cell runs, and one sentence after an interrupt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from IPython.display import DisplayHandle
from jupyter_client.manager import KernelManager
from kit import PATIENCE_S, Home

import benchbook
from benchbook import plots
from benchbook.campaign import run as campaign_run
from benchbook.campaign.progress import Tracker
from benchbook.campaign.run import RunInterrupted
from benchbook.display import live_progress
from benchbook.display.live_progress import ProgressBar
from benchbook.errors import BadInput
from benchbook.report import Report

TIDB = "tidb_v7_1_3_sysbench"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Any]:
    """A client of a kernel as JupyterLab starts one."""
    # Its sockets lie beside this file; by default in the working folder, where two workers take the same ones.
    manager = KernelManager(transport="ipc", connection_file=str(tmp_path / "kernel.json"))
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE_S)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def said(client: Any, message: str, word: str) -> str:
    """What the cell of this message prints, once it holds `word`; an error is said as it is."""
    text = ""
    while word not in text:
        try:
            found = client.get_iopub_msg(timeout=PATIENCE_S)
        except Empty:
            raise AssertionError(f"nothing more after {text!r}") from None
        if found["parent_header"].get("msg_id") == message and found["msg_type"] in ("stream", "error"):
            text += found["content"].get("text", "") or "\n".join(found["content"].get("traceback", []))
            assert found["msg_type"] == "stream", text
    return text


@pytest.mark.slow
def test_the_button_is_heard_while_the_cell_runs(kernel: Any) -> None:
    """As JupyterLab sends it: a comm message through a subshell of the kernel, while the main shell is busy."""
    made = "from benchbook.display.live_progress import StopButton\nbutton = StopButton()\nbutton.show()\n"
    comm = said(kernel, kernel.execute(made + "print(button._widget.comm.comm_id, end='.')"), ".").rstrip(".")
    kernel.control_channel.send(kernel.session.msg("create_subshell_request", {}))
    subshell = kernel.get_control_msg(timeout=PATIENCE_S)["content"]["subshell_id"]
    running = kernel.execute(
        "import threading\nprint('running', flush=True)\nbutton._pressed.wait()\nbutton.remove()\nprint('ended')"
    )
    said(kernel, running, "running")
    content = {"comm_id": comm, "data": {"method": "custom", "content": {"event": "click"}}}
    message = kernel.session.msg("comm_msg", content)
    message["header"]["subshell_id"] = subshell
    kernel.shell_channel.send(message)
    assert "ended" in said(kernel, running, "ended")


@pytest.fixture
def report(home: Home, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The sysbench report before its run, of a campaign that the profile does not extend."""
    return benchbook.open_report(TIDB, repetitions=1, profile="tiny", inventory="lab_test")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the view has shown, in HTML."""
    said: list[str] = []
    for verb in ("display", "update"):
        monkeypatch.setattr(DisplayHandle, verb, lambda _, content: said.append(content.data))
    return said


def test_what_a_run_says_last_is_shown_however_soon_it_comes(shown: list[str]) -> None:
    """A run that ends with a trial (stopped, or its system does not come up) tells nothing after it."""
    tracker = Tracker(ProgressBar(), total=3, done=0)
    tracker.trial("r01-a")
    tracker.rate(1.0, 100.0)
    tracker.ended(ok=False, why="sysbench ended with status 1")
    assert "0/3 done, 2 left, 1 FAILED" in shown[-1]
    assert "<li>FAILED r01-a: sysbench ended with status 1</li>" in shown[-1]


def test_the_next_trial_and_what_is_done_for_it_are_shown_however_soon_they_follow(
    shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server takes seconds to start, a data set minutes to make: all that time the view named the trial before."""
    monkeypatch.setattr(live_progress, "UPDATE_EVERY_S", 3600.0)
    tracker = Tracker(ProgressBar(), total=3, done=0)
    tracker.trial("r01-a", 2.0)
    tracker.rate(1.0, 100.0)
    tracker.say("reading the counters")
    assert "r01-a reading the counters" in shown[-1]
    tracker.ended(ok=True)
    tracker.trial("r02-a", 2.0)
    assert "1/3 done, 2 left | r02-a</div>" in shown[-1]
    tracker.say("starting tidb")
    assert "1/3 done, 2 left | r02-a starting tidb</div>" in shown[-1]
    before = len(shown)
    tracker.rate(1.0, 100.0)
    assert len(shown) == before


def test_how_to_follow_a_run_from_elsewhere_stands_there_while_it_goes_on(shown: list[str]) -> None:
    """A notebook's file keeps what is shown: a page that was loaded again has nothing else."""
    ProgressBar(live_progress.ELSEWHERE).end()
    assert shown == []
    bar = ProgressBar(live_progress.ELSEWHERE)
    tracker = Tracker(bar, total=3, done=0)
    tracker.trial("r01-a")
    assert all("`benchbook runs`" in each for each in shown)
    bar.end()
    assert "benchbook runs" not in shown[-1]
    assert "0/3 done, 3 left | r01-a" in shown[-1]


def test_an_interrupt_is_one_sentence(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign_run, "run", interrupted)
    with pytest.raises(RunInterrupted) as caught:
        report.run()
    assert str(caught.value) == (
        "interrupted; 15 trials are left: what was recorded stays; run the cell again, and it goes on from there"
    )
    assert caught.value._render_traceback_() == [f"RunInterrupted: {caught.value}"]
    assert caught.value.__suppress_context__


def test_opening_again_is_the_same_campaign_and_asks_for_nothing(report: Report) -> None:
    assert repr(report) == f"<Report {TIDB}: not planned yet>"
    first = report.campaign.id
    assert repr(report) == f"<Report {TIDB}: <Campaign {first} of {TIDB}: 0 of 15 trials done>>"
    again = benchbook.open_report(TIDB, repetitions=1, profile="tiny", inventory="lab_test")
    assert again.campaign.id == first


def test_a_typo_in_a_metric_says_which_there_are(runs: Path) -> None:
    report = benchbook.open_campaign(TIDB)
    with pytest.raises(BadInput, match="did you mean tps"):
        plots.levels(report.beside_frame(), "tsp", x="threads", panel="workload")
    with pytest.raises(BadInput, match="did you mean tps"):
        report.seconds("tsp", source="sysbench")
    with pytest.raises(BadInput, match=r"no such source \(got 'sysbensh'\)\. Fix: did you mean sysbench"):
        report.seconds("tps", source="sysbensh")
