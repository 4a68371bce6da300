"""The command line: what it hands on, and the exit status that it ends with."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest
from kit import REPORT, Home, inventory

from benchbook import cli, headless, restage
from benchbook.book import TrialsFailed
from benchbook.errors import BadInput

Ended = tuple[int, str]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs the command line in this process: (exit status, what it said)."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["benchbook", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What reports were run with; a report of the name `fails`, `wrong` or `stopped` ends so."""
    seen: list[tuple[str, dict[str, Any]]] = []
    ends = {"wrong": BadInput("no", key="k", value="v", fix="do"), "broken": TrialsFailed("1 of 4"),
            "stopped": KeyboardInterrupt()}  # fmt: skip

    def run(report: str, said: dict[str, Any], _: object, *, wait: bool) -> int:
        seen.append((report, said))
        if report in ends:
            raise ends[report]
        return 1 if report == "fails" else 0

    monkeypatch.setattr(restage, "restage", run)
    monkeypatch.setattr(restage, "reports", lambda: ["a", "b"])
    return seen


@pytest.mark.parametrize(
    ("reports", "status"),
    [(["a"], 0), (["fails"], 1), (["broken"], 1), (["wrong"], 2), (["fails", "a"], 1), (["wrong", "fails", "a"], 2)],
)
def test_the_worst_report_is_the_exit_status_and_every_one_is_tried(
    ends: Callable[..., Ended], asked: list[Any], reports: list[str], status: int
) -> None:
    assert ends("report", *reports)[0] == status
    assert [name for name, _ in asked] == reports


def test_without_a_name_every_report_is_run_with_the_smoke_profile(
    ends: Callable[..., Ended], asked: list[Any]
) -> None:
    assert ends("report")[0] == 0
    assert asked == [("a", {"profile": "smoke"}), ("b", {"profile": "smoke"})]


def test_parameters_are_yaml(ends: Callable[..., Ended], asked: list[Any]) -> None:
    words = ["-p", "threads=[1, 2]", "-p", "seed=7", "-p", "system=endpoint:x", "-p", "campaign=", "-p", "replay=false"]
    assert ends("report", "a", "--inventory", "i", "--profile", "lab", *words)[0] == 0
    ((_, said),) = asked
    assert said == {"profile": "lab", "inventory": "i", "threads": [1, 2], "seed": 7, "system": "endpoint:x",
                    "campaign": "", "replay": False}  # fmt: skip


@pytest.mark.parametrize("word", ["threads", "threads=[1", "since=2020-01-01", "a: b"])
def test_a_parameter_that_is_none(ends: Callable[..., Ended], asked: list[Any], word: str) -> None:
    status, said = ends("report", "a", "-p", word)
    assert (status, asked) == (2, [])
    assert "Fix: " in said


def test_a_mistyped_option_is_a_usage_error(ends: Callable[..., Ended], asked: list[Any]) -> None:
    status, said = ends("report", "--porfile", "smoke")
    assert (status, asked) == (2, [])
    assert "--porfile" in said
    assert "Traceback" not in said


def test_an_interrupt_says_that_what_was_recorded_stays(ends: Callable[..., Ended], asked: list[Any]) -> None:
    status, said = ends("report", "stopped", "a")
    assert (status, [name for name, _ in asked]) == (130, ["stopped"])
    assert "what was recorded stays" in said


def test_an_error_is_one_paragraph(ends: Callable[..., Ended], asked: list[Any]) -> None:
    assert ends("report", "wrong")[1] == "wrong: k: no (got 'v'). Fix: do\n"


@pytest.mark.real
def test_a_refused_host_is_said_before_anything_is_built_or_started(
    ends: Callable[..., Ended], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(restage.artefacts, "provide", lambda *what: begun.append(what))
    monkeypatch.setattr(headless, "execute", lambda *what: begun.append(what))
    # Nobody listens there; the second host is refused as well, and both are named.
    path = home.write("variants/refused.yaml", inventory("127.0.94", lab=False))
    status, said = ends("report", REPORT, "--profile", "tiny", "--inventory", str(path), "-p", "system=mariadb")
    assert (status, begun) == (2, [])
    assert "connecting failed on 2 of 2 hosts" in said
    assert f"{path}: hosts.db1: the host cannot be reached by SSH" in said
    assert "(got '127.0.94.1:2222'). Fix: start it" in said


@pytest.mark.parametrize("wait", [True, False])
def test_a_driver_that_came_first_while_the_notebook_started_is_waited_for_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, wait: bool
) -> None:
    refused = headless.Executed(home.path, None, 2, "HostReserved: hosts.db1: the host is reserved by somebody")
    done = [refused, headless.Executed(home.path, None, 0, None)]
    monkeypatch.setattr(restage, "until_free", lambda *_, wait: None)
    monkeypatch.setattr(restage, "_run", lambda *_: done.pop(0))
    monkeypatch.setattr(restage, "_publish", lambda report, executed, console: executed.status)
    asked = {"profile": "tiny", "inventory": "lab_test", "system": "mariadb"}
    assert restage.restage(REPORT, asked, cli.console, wait=wait) == (0 if wait else 2)
