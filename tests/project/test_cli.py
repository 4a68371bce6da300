"""The command line: what it hands on, and the exit status that it ends with."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from kit import ASCII_ONLY, FIXTURES, REPORT, ROOT, Home, inventory, paragraph

from benchbook import cli, notebook_run, paths, pipeline
from benchbook.errors import BadInput
from benchbook.report import TrialsFailed
from benchbook.site import publish
from benchbook.user_input.atomic_file import replace_text

Ended = tuple[int, str]
# The one that is recorded of dm_1_0_ga.
CAMPAIGN = "20261122T033155989805-baf75a4e591a"


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs the command line in this process: (exit status, what it said)."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["benchbook", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + paragraph(said.err)

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

    monkeypatch.setattr(pipeline, "run_report", run)
    monkeypatch.setattr(pipeline, "check_asked", lambda *_: 0)
    monkeypatch.setattr(pipeline, "reports", lambda: ["a", "b", "fails", *ends])
    return seen


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": 1}'])
def test_of_a_notebook_that_is_none_no_page_is_made(ends: Callable[..., Ended], home: Home, content: str) -> None:
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    made = shutil.copytree(kept, home.path / "data" / "runs" / "dtm_mysql" / kept.name)
    (made / "executed.ipynb").write_text(content)
    status, said = ends("publish")
    assert status == 2
    assert said.startswith(f"{made}/executed.ipynb: the file: is not a notebook (got ")
    assert said.endswith("Fix: draw it again (`benchbook site`), or remove the file\n")


@pytest.mark.parametrize(
    ("reports", "status"),
    [(["a"], 0), (["fails"], 1), (["broken"], 1), (["wrong"], 2), (["fails", "a"], 1), (["wrong", "fails", "a"], 2)],
)
def test_the_worst_report_is_the_exit_status_and_every_one_is_tried(
    ends: Callable[..., Ended], asked: list[Any], reports: list[str], status: int
) -> None:
    assert ends("report", *reports)[0] == status
    assert [name for name, _ in asked] == reports


def test_all_reports_are_run_only_where_that_is_asked_for(
    ends: Callable[..., Ended], asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "reports", lambda: ["a", "b"])
    status, said = ends("report")
    assert (status, asked) == (2, [])
    assert REPORT in said
    assert said.endswith(
        "REPORT: no report is named. Fix: name one or more of them, or give --all (with make: REPORT=NAME or ALL=1)\n"
    )
    assert ends("report", "--all")[0] == 0
    assert asked == [("a", {"profile": "smoke"}), ("b", {"profile": "smoke"})]


def test_what_cannot_run_as_asked_is_said_before_the_others_run_and_keeps_none_of_them(
    ends: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    said_before: list[str] = []

    def run(report: str, *_: object, wait: bool) -> int:
        ran.append(report)
        said_before.extend(paragraph(capsys.readouterr().err).splitlines())
        return 0

    monkeypatch.setattr(pipeline, "run_report", run)
    reports = ["ddt_full_scale", "tidb_v7_1_3_sysbench", "dtm_mysql", "tidb_v7_1_3_tpcc"]
    status, said_after = ends("report", *reports, "-p", "threads=[2]")
    assert (status, ran) == (2, ["tidb_v7_1_3_sysbench", "tidb_v7_1_3_tpcc"])
    refused = [
        line.split(":")[0] for line in said_before if "there is no such parameter" in line or "valid string" in line
    ]
    assert refused == ["ddt_full_scale", "dtm_mysql"]
    assert "threads" not in said_after


def test_a_second_name_that_is_misspelt_is_refused_before_the_first_one_runs(
    ends: Callable[..., Ended], asked: list[Any]
) -> None:
    status, said = ends("report", "a", "brokn")
    assert (status, asked) == (2, [])
    assert "unknown report (got 'brokn'). Fix: did you mean broken or wrong? there are: a, b, " in said


def test_an_inventory_that_is_being_written_keeps_no_lab_from_being_stopped(
    home: Home, ends: Callable[..., Ended]
) -> None:
    path = home.write("env/hosts/mine.yaml", "description: [\n")
    status, said = ends("lab", "status")
    assert status == 0
    assert f"left out: {path}: line 2, column 1: malformed YAML" in said
    assert "down: lab_test\n" in said
    assert "lab_test: executor is down at 127." in ends("lab", "status", "lab_test")[1]
    status, said = ends("lab", "down")
    assert (status, "lab_test: stopped 0 hosts\n" in said) == (0, True), said


def test_the_version_is_said(ends: Callable[..., Ended]) -> None:
    assert ends("--version") == (0, f"benchbook {version('benchbook')}\n")


def test_what_there_is_is_listed_and_a_broken_inventory_costs_no_other(ends: Callable[..., Ended], home: Home) -> None:
    home.write("env/hosts/half.yaml", {"lab": True})
    status, said = ends("list")
    assert status == 0
    assert [name for name in (REPORT, "mariadb", "tiny") if name not in said] == []
    (line,) = [line for line in said.splitlines() if line.split()[:1] == ["half"]]
    assert "broken:" in line
    found = {row["name"]: row for row in json.loads(ends("list", "inventories", "--json")[1])}
    assert (found["lab_test"]["lab"], "hosts" in found["half"]["broken"]) == ("yes", True)
    every = json.loads(ends("list", "--json")[1])
    assert list(every) == ["reports", "systems", "generators", "inventories", "profiles", "probes"]
    assert {row["name"] for row in every["probes"]} >= {"host", "mysql"}
    status, said = ends("list", "sytems")
    assert (status, "did you mean systems" in said) == (2, True)


def test_every_command_has_an_example_and_a_short_help(ends: Callable[..., Ended]) -> None:
    words = [[command.name] for command in typer.main.get_group(cli.app).commands.values()]
    for command in [[], *words, ["lab", "up"], ["lab", "down"], ["lab", "status"]]:
        status, said = ends(*command, "-h")
        assert status == 0
        assert f"Example: benchbook {' '.join(command)}".strip() in said
        assert "bool" not in said, "a flag takes no value"


def test_a_run_without_a_notebook_is_listed_and_is_not_published(ends: Callable[..., Ended], home: Home) -> None:
    assert "nothing has been run yet" in ends("runs")[1]
    kept = FIXTURES / "campaigns" / "dtm_mysql" / "20261121T042759706961-bc6314e4711c"
    shutil.copytree(kept, home.path / "data" / "runs" / "dtm_mysql" / kept.name)
    (line,) = [line.split() for line in ends("runs")[1].splitlines() if kept.name in line]
    assert line[:3] == [kept.name, "dtm_mysql", "smoke"]
    status, said = ends("publish")
    assert (status, "no campaign with an executed notebook" in said) == (2, True)
    assert not (home.path / "public").exists()


def test_made_up_numbers_are_not_published(ends: Callable[..., Ended], runs: Path) -> None:
    for folder in runs.glob("*/*"):
        (folder / "executed.ipynb").write_text("{}")
    table = paths.find("data", "published", "dm_1_0_ga", "report.yaml")
    table.write_text(f"{table.read_text()}# PLACEHOLDER\n")
    status, said = ends("publish", "dm_1_0_ga")
    assert status == 2
    assert "report.yaml: 1 line still says PLACEHOLDER: its numbers are made up. Fix: put in what was" in said


@pytest.mark.parametrize("which", [CAMPAIGN, "dm_1_0_ga~0", f"data/runs/dm_1_0_ga/{CAMPAIGN}"])
@pytest.mark.parametrize("command", ["claims", "site"])
def test_a_campaign_is_meant_by_any_of_its_addresses(
    ends: Callable[..., Ended], runs: Path, monkeypatch: pytest.MonkeyPatch, command: str, which: str
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(pipeline, "judge_claims", lambda report, which, *_, **__: asked.append((report, which)) or 0)
    monkeypatch.setattr(pipeline, "replay", lambda report, which, _: asked.append((report, which)) or 0)
    assert ends(command, which) == (0, "")
    assert asked == [("dm_1_0_ga", CAMPAIGN)]


@pytest.mark.parametrize("which", [CAMPAIGN, "dm_1_0_ga", "dm_1_0_ga~0", f"data/runs/dm_1_0_ga/{CAMPAIGN}"])
def test_a_campaign_is_published_by_any_of_its_addresses(
    ends: Callable[..., Ended], runs: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    for folder in runs.glob("*/*"):
        (folder / "executed.ipynb").write_text("{}")
    monkeypatch.setattr(publish, "publish", lambda report, notebook, *_: f"{report} {notebook.parent.name}")
    status, said = ends("publish", which)
    assert (status, said.splitlines()[:-1]) == (0, [f"dm_1_0_ga: dm_1_0_ga {CAMPAIGN}"])


def test_the_doctor_names_a_program_that_is_missing_and_its_package(
    ends: Callable[..., Ended], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "report sysbench-of-nobody sysbench -\ntest browser-of-nobody chromium -\n"
    home.path.joinpath("env", "debian-packages.txt").write_text(table)
    status, said = ends("doctor")
    assert status == 1
    lines = {line.split()[1]: line for line in said.splitlines() if "-of-nobody" in line and "missing:" not in line}
    assert "apt-get install sysbench" in lines["sysbench-of-nobody"]
    assert lines["sysbench-of-nobody"].split()[0] == "missing"
    assert lines["browser-of-nobody"].split()[0] == "warning"  # only the tests need it


def test_the_doctor_says_where_there_is_no_checkout(ends: Callable[..., Ended], home: Home) -> None:
    status, said = ends("doctor")
    assert status == 2
    assert said.startswith(f"{home.path}/env/debian-packages.txt: the file: does not exist")


def test_the_project_folder_may_be_named_from_where_one_stands(home: Home) -> None:
    """Kernels and workers stand elsewhere, and found no report: its name led nowhere from there."""
    code = "import os; from benchbook import cli\ntry: cli.main()\nfinally: print(os.environ['BENCHBOOK_HOME'])"
    told = subprocess.run(
        [sys.executable, "-c", code, "--version"], cwd=home.path.parent, capture_output=True, text=True, check=True,
        env={**home.environment, "BENCHBOOK_HOME": home.path.name},
    )  # fmt: skip
    assert told.stdout.splitlines()[-1] == str(home.path)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("report tid", REPORT),
        (f"report {REPORT} -p th", "threads="),
        ("report --profile ti", "tiny"),
        ("report --inventory lab_te", "lab_test"),
        ("list prob", "probes"),
        (f"compare {CAMPAIGN[:9]}", CAMPAIGN),
    ],
)
def test_a_shell_completes_whatever_has_a_name(
    ends: Callable[..., Ended], home: Home, runs: Path, monkeypatch: pytest.MonkeyPatch, typed: str, completed: str
) -> None:
    words = {"_BENCHBOOK_COMPLETE": "complete_bash", "COMP_WORDS": f"benchbook {typed}",
             "COMP_CWORD": str(len(typed.split()))}  # fmt: skip
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    assert completed in ends()[1].split()


SAMPLE = str(ROOT / "data" / "sample" / "example-report.md")


@pytest.mark.parametrize("words", [["list"], ["--help"], ["audit", SAMPLE, "--json"], ["audit", SAMPLE, "--sarif"]])
def test_an_output_that_takes_nothing_is_no_defect(home: Home, words: list[str]) -> None:
    command = [sys.executable, "-m", "benchbook", *words]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            command, cwd=home.path, env=home.environment, text=True, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ran.returncode == 1
    assert "the output: No space left on device. Fix: free space where the output goes" in ran.stderr
    assert "defect" not in ran.stderr
    # Python says so when it ends, if it was left to write the rest.
    assert "Exception ignored" not in ran.stderr


def test_a_page_that_goes_to_a_pipe_or_a_device_leaves_it_there(tmp_path: Path) -> None:
    pipe = tmp_path / "page"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
        replace_text(pipe, "a page\n")
        assert reader.read() == "a page\n"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_parameters_are_yaml(ends: Callable[..., Ended], asked: list[Any]) -> None:
    words = ["-p", "threads=[1, 2]", "-p", "seed=7", "-p", "system=endpoint:x", "-p", "campaign=", "-p", "replay=false"]
    assert ends("report", "a", "--inventory", "i", "--profile", "lab", *words)[0] == 0
    ((_, said),) = asked
    assert said == {"profile": "lab", "inventory": "i", "threads": [1, 2], "seed": 7, "system": "endpoint:x",
                    "campaign": "", "replay": False}  # fmt: skip


def test_a_mistyped_option_is_a_usage_error(ends: Callable[..., Ended], asked: list[Any]) -> None:
    status, said = ends("report", "--porfile", "smoke")
    assert (status, asked) == (2, [])
    assert "--porfile" in said
    assert "Traceback" not in said


def test_an_interrupt_says_that_what_was_recorded_stays(ends: Callable[..., Ended], asked: list[Any]) -> None:
    status, said = ends("report", "stopped", "a")
    assert (status, [name for name, _ in asked]) == (130, ["stopped"])
    assert "what was recorded stays" in said


# A command whose clearing up prints, as that of a lab does, and then leaves a file.
_CLEARS_UP = """
import pathlib, sys, time
from benchbook import cli
def app(**_):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("stopped the lab", flush=True)
        pathlib.Path(sys.argv[1]).touch()
cli.app = app
cli.main()
"""


def _begun(marker: Path, hangup: signal.Handlers = signal.SIG_DFL) -> tuple[int, int]:
    """The process of such a command, and the master of the terminal that it was started on.

    What becomes of SIGHUP is inherited: tests that were started by `nohup` would hand that on.
    """
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGHUP, hangup)
        os.execv(sys.executable, [sys.executable, "-c", _CLEARS_UP, str(marker)])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 100)
    return pid, terminal


def _to_its_end(terminal: int) -> str:
    """All that is still said to a terminal: one read returns what has arrived, as a part of a line."""
    said = b""
    # EIO: nobody has it open any more.
    with os.fdopen(terminal, "rb", buffering=0) as master, suppress(OSError):
        while more := master.read(500):
            said += more
    return said.decode()


def test_a_run_whose_terminal_is_closed_clears_up(tmp_path: Path) -> None:
    pid, terminal = _begun(tmp_path / "cleared")
    os.close(terminal)
    os.waitpid(pid, 0)
    assert (tmp_path / "cleared").exists()


def test_a_run_that_is_told_to_end_by_two_signals_clears_up_once(tmp_path: Path) -> None:
    pid, terminal = _begun(tmp_path / "cleared")
    for number in (signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    said = _to_its_end(terminal)
    os.waitpid(pid, 0)
    assert said.count("stopped the lab") == 1
    # As Python says of a signal that is ignored from then on and has come already.
    assert "race condition" not in said
    assert (tmp_path / "cleared").exists()


def test_a_run_without_an_output_that_is_told_to_end_clears_up_as_after_ctrl_c(tmp_path: Path) -> None:
    """As started with `>&-`: its standard output is closed."""
    said = f"import os\ndef print(text, **_):\n    os.write(2, text.encode() + b'\\n')\n{_CLEARS_UP}"
    command = ["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, "-c", said, str(tmp_path / "cleared")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline() == "ready\n"
        process.terminate()
        assert "defect" not in process.stderr.read()
    # Of a KeyboardInterrupt that nobody catches: typer would make 130 of it.
    assert process.returncode == -signal.SIGINT
    assert (tmp_path / "cleared").exists()


def test_nohup_keeps_a_run_whose_terminal_is_closed(tmp_path: Path) -> None:
    pid, terminal = _begun(tmp_path / "cleared", hangup=signal.SIG_IGN)
    # That it goes on just after would be true of one that is about to end, too.
    (ignored,) = re.findall(r"^SigIgn:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert int(ignored, 16) >> signal.SIGHUP - 1 & 1
    os.close(terminal)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    assert (tmp_path / "cleared").exists()


@pytest.mark.parametrize("words", [["compare", REPORT], ["claims", REPORT], ["audit", REPORT], ["list"], ["--help"]])
def test_a_reader_that_has_gone_is_no_result(home: Home, runs: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "benchbook", *words]
    with subprocess.Popen(
        command, cwd=home.path, env=home.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        # As `head` does, only sooner: the next line that is printed meets a closed pipe.
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (141, "")


@pytest.mark.parametrize("words", [["runs"], ["audit"], ["list"]])
def test_letters_that_the_terminal_lacks_cost_a_question_mark(home: Home, runs: Path, words: list[str]) -> None:
    status, said = home.run(*words, **ASCII_ONLY)
    assert (status, "defect of the kit" in said) == (0, False), said
    assert "?" in said
    assert said.isascii()


def test_an_error_says_file_cause_and_fix(ends: Callable[..., Ended], asked: list[Any]) -> None:
    assert ends("report", "wrong")[1] == "wrong: k: no (got 'v'). Fix: do\n"
    assert BadInput("no", file="f", key="k", value="v", fix="do").in_lines() == "f\n  k: no (got 'v').\n  Fix: do"


@pytest.mark.real
def test_a_refused_host_is_said_before_anything_is_built_or_started(
    ends: Callable[..., Ended], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(pipeline.artefacts, "provide", lambda *what: begun.append(what))
    monkeypatch.setattr(notebook_run, "execute", lambda *what: begun.append(what))
    # Nobody listens there; the second host is refused as well, and both are named.
    path = home.write("variants/refused.yaml", inventory("127.0.60", lab=False))
    status, said = ends("report", REPORT, "--profile", "tiny", "--inventory", str(path), "-p", "system=mariadb")
    assert (status, begun) == (2, [])
    assert "connecting failed on 2 of 2 hosts" in said
    assert said.count(str(path)) == said.count("Fix: start it") == 1, "what both share is said once"
    for host, address in (("executor", "127.0.60.1"), ("db1", "127.0.60.11")):
        assert f"hosts.{host}: the host cannot be reached by SSH (ssh: connect to host {address} port 2222" in said


@pytest.mark.parametrize("wait", [True, False])
def test_a_driver_that_came_first_while_the_notebook_started_is_waited_for_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, wait: bool
) -> None:
    problem = "HostReserved: hosts.db1: the host is reserved by somebody"
    refused = notebook_run.Executed(home.path, None, 2, problem, "HostReserved")
    done = [refused, notebook_run.Executed(home.path, None, 0, None)]
    monkeypatch.setattr(pipeline, "wait_until_free", lambda *_, wait: None)
    monkeypatch.setattr(pipeline, "hosts_up", lambda *_: nullcontext())
    monkeypatch.setattr(notebook_run, "execute", lambda *_: done.pop(0))
    monkeypatch.setattr(pipeline, "_publish", lambda report, executed, console: executed.status)
    asked = {"profile": "tiny", "inventory": "lab_test", "system": "mariadb"}
    assert pipeline.run_report(REPORT, asked, cli.console, wait=wait) == (0 if wait else 2)
