"""What a user can give that cannot be used: each is exit status 2 and one paragraph, and nothing has been begun.

Most run in this process: a table of hundreds then takes seconds. Some go through the real command line as well.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE_S, REPORT, Home, paragraph
from refused import commands, files, values
from refused.row import SECRET, Row, changed, parameter, ready

from benchbook import cli, notebook_run, pipeline
from benchbook.build import fetched, programs
from benchbook.campaign import design
from benchbook.errors import BadInput, shown
from benchbook.hosts import connection
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.user_input import guard
from mongo_transfer import command, tools

ROWS = [*files.ROWS, *values.ROWS, *commands.ROWS]
Ended = tuple[int, str]

# None takes a second; a FIFO that is waited for would take for ever.
pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would have been begun of a run: a build, a lab, a connection, a notebook."""
    seen: list[object] = []

    def begin(*what: object, **_: object) -> None:
        seen.append(what)
        raise AssertionError("something was begun")

    for module, name in (
        (programs, "_build_into"),
        (fetched, "_fetch_into"),
        (pipeline.lab, "up_while_used"),
        (pipeline, "check_reachable"),
        (notebook_run, "execute"),
    ):
        monkeypatch.setattr(module, name, begin)
    return seen


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs a command line in this process: (exit status, what it said)."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setenv(guard.VARIABLE, "")

    def run(arguments: list[str], main: Callable[[], None] = cli.main) -> Ended:
        monkeypatch.setattr(sys, "argv", ["benchbook", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + paragraph(said.err)

    return run


def test_the_table_is_long_and_names_each_row_once() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) >= 120


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_it_is_refused_in_one_paragraph(row: Row, home: Home, ends: Callable[..., Ended], begun: list[object]) -> None:
    status, said = ends(row.plant(home), command.main if row.transfer else cli.main)
    assert (status, begun) == (2, []), said
    assert len(said.strip().splitlines()) == 1, said
    for words in (*row.words, "Fix: "):
        assert words in said
    assert len(said) < 4000
    assert SECRET not in said
    assert not (home.path / "data" / "runs").exists()


def test_what_the_rows_change_is_all_right_without_them(
    home: Home, ends: Callable[..., Ended], begun: list[object]
) -> None:
    status, said = ends(ready(home, "claims.yaml"))
    # The first thing that a run of a lab begins with, and nothing of the input refused it.
    assert (status, len(begun)) == (1, 1), said


def test_a_temporary_folder_that_no_socket_fits_in_is_refused_before_a_lab(
    home: Home, ends: Callable[..., Ended], begun: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 30)))
    status, said = ends(ready(home, "claims.yaml"))
    assert (status, begun) == (2, []), said
    assert "TMPDIR: the path is too long for the sockets of the kernel" in said


@pytest.mark.parametrize(
    ("report", "old", "new", "words"),
    [
        (
            REPORT,
            "restaged_by: load\n",
            "restaged_by: sysbnch\n",
            "restaged_by: no such kind of experiment (got 'sysbnch'",
        ),
        (REPORT, values.FIRST, "    workload: oltp_point_selct\n", "workload, so it is not run"),
        (REPORT, values.OPTIONS, '    options: ["--db-drivr=mysql", ', "option, so it is not run"),
        ("dm_1_0_ga", '    options: ["--', '    options: ["--db-drivr=mysql", "--', "(got '--db-drivr=mysql')"),
        ("dtm_mysql", '    options: ["--', '    options: ["--db-drivr=mysql", "--', "(got '--db-drivr=mysql')"),
        ("etcd_3_2_performance", 'options: ["--key-size', 'options: ["--key-sise', "(got '--key-sise=8')"),
    ],
)
def test_check_refuses_what_a_run_would_refuse(
    home: Home, ends: Callable[..., Ended], report: str, old: str, new: str, words: str
) -> None:
    path = home.path / "data" / "published" / report / "report.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    # A report of somebody's that has no notebook yet is held to the same.
    for there in (True, False):
        if not there:
            (home.path / "notebooks" / f"{report}.ipynb").unlink()
        status, said = ends(["check", report])
        assert (status, "Fix: " in said) == (2, True), said
        assert f"{path}: " in said
        assert words in said
        assert " valid" not in said


def test_check_says_of_every_report_what_is_wrong_with_it(home: Home, ends: Callable[..., Ended]) -> None:
    """It ended at the first one: the next stood there only when that was mended."""
    texts = {path.parent.name: path for path in (home.path / "data" / "published").glob("*/report.yaml")}
    broken = ["ddt_full_scale", "dtm_mysql"]
    for name in broken:
        texts[name].write_text(texts[name].read_text().replace("restaged_by: ", "restaged_by: un", 1))
    status, said = ends(["check"])
    assert status == 2
    assert [line.partition(": ")[0] for line in said.splitlines() if "no such kind" in line] == broken
    assert {line.partition(": ")[0] for line in said.splitlines() if ", valid" in line} == {*texts} - {*broken}


def test_check_lists_what_the_audit_finds_in_a_named_report_and_counts_it_in_all(ends: Callable[..., Ended]) -> None:
    # One contradiction of the alpha's report: MySQL and DM-worker on hosts that the topology has both on.
    said = "dm_1_0_alpha: 1 finding of the audit, misprints or slips of yours: benchbook audit dm_1_0_alpha\n"
    assert f"{said}  The text puts MySQL on" in ends(["check", "dm_1_0_alpha"])[1]
    every = ends(["check"])[1]
    assert said in every
    assert "\n  " not in every


def test_check_without_frictionless_says_what_to_install(
    ends: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    status, said = ends(["check", "dm_1_0_alpha"])
    assert (status, "dm_1_0_alpha: 1 table, 3 rows, valid\n" in said) == (0, True)
    assert "which is not installed: " in said
    assert " -m pip install" in said


def test_check_takes_what_a_notebook_allows(home: Home, ends: Callable[..., Ended]) -> None:
    changed("report.yaml", values.FIRST, "    workload: mine\n")(home)
    assert ends(["check", REPORT])[0] == 2
    path = home.path / "notebooks" / f"{REPORT}.ipynb"
    path.write_text(path.read_text().replace("allow: list[str] = []", 'allow: list[str] = [\\"mine\\"]', 1))
    status, said = ends(["check", REPORT])
    assert (status, f"{REPORT}: 5 tables, 15 rows, valid\n" in said) == (0, True), said


# -- what a report chooses, allowed by name -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["--allow", "/tmp/x.lua", "--allow", "--config-file=/x"], ["-p", 'allow=["/tmp/x.lua", "--config-file=/x"]']],
)
def test_what_a_report_chooses_is_run_once_it_is_allowed(
    home: Home, ends: Callable[..., Ended], begun: list[object], words: list[str]
) -> None:
    for old, new in (
        (values.FIRST, "    workload: /tmp/x.lua\n"),
        (values.OPTIONS, '    options: ["--config-file=/x", '),
    ):
        arguments = changed("report.yaml", old, new)(home)
    status, said = ends(arguments)
    assert (status, begun) == (2, [])
    assert "add --allow /tmp/x.lua (in the notebook: allow = ['/tmp/x.lua'])" in said
    assert ends([*arguments, *words[:2]] if words[0] == "--allow" else arguments)[0] == 2
    assert begun == []
    status, said = ends([*arguments, *words])
    assert (status, len(begun)) == (1, 1), said


def test_a_notebook_is_told_what_is_allowed(
    home: Home, ends: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(pipeline, "run_report", lambda report, said, _, wait: seen.append(said) or 0)
    assert ends(["report", REPORT, "--allow", "a", "--allow", "b"])[0] == 0
    assert seen == [{"profile": "smoke", "allow": ["a", "b"]}]


# -- files that only a connection reads -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["key", "known_hosts", "config"])
@pytest.mark.parametrize("make", [*files.KINDS, *files.ENCODINGS], ids=lambda make: make.__name__)
def test_a_file_of_ssh_that_is_none(home: Home, name: str, make: Callable[..., None]) -> None:
    path = home.write("of_ssh", "# nothing\n")
    make(path)
    inventory = with_ssh(home, **{name: str(path)})
    with pytest.raises(BadInput, match=re.escape({**files.KINDS, **files.ENCODINGS}[make])) as caught:
        connection.find_route(inventory, "db1")
    assert (str(caught.value.file), bool(caught.value.fix)) == (str(path), True)


def with_ssh(home: Home, **ssh: str) -> Inventory:
    values.with_inventory(ssh=ssh)(home)
    return load_inventory(str(home.path / "variants" / "lab_test.yaml"))


@pytest.mark.parametrize("make", [*files.KINDS, *files.ENCODINGS], ids=lambda make: make.__name__)
def test_a_password_file_that_is_none(home: Home, make: Callable[..., None]) -> None:
    path = home.write(".lab/secrets/database", SECRET)
    make(path)
    with pytest.raises(BadInput, match="database: ") as caught:
        load_inventory("lab_test").settings("tidb").password("systems.tidb")
    assert SECRET not in str(caught.value)


def test_a_password_is_one_line(home: Home) -> None:
    home.write(".lab/secrets/database", f"{SECRET}\nmore\n")
    with pytest.raises(BadInput, match="a password is one line") as caught:
        load_inventory("lab_test").settings("tidb").password("systems.tidb")
    assert SECRET not in str(caught.value)


def test_a_password_in_place_of_its_variable_is_not_printed(home: Home) -> None:
    settings = load_inventory("lab_test").settings("tidb").model_copy(update={"password_env": SECRET})
    with pytest.raises(BadInput, match="is not set") as caught:
        settings.password("systems.tidb")
    assert SECRET not in str(caught.value)


def test_a_plan_that_nobody_can_run() -> None:
    cells = [design.Cell(table="t", system="s", levels={"threads": n}) for n in range(1, 12)]
    with pytest.raises(BadInput, match=r"repetitions: .* \(got 110000\)\. Fix: ask for fewer"):
        design.plan(cells, 10_000, seed=1, asked={})


# -- the paragraph --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("a", "x" * 10_000, f"'{'x' * 200}...'"),
        ("a", 10**5000, "a number of about 5001 digits"),
        ("a", [[[[[[[1]]]]]]], "[[[[[...]]]]]"),
        ("a", list(range(100)), "19, ...]"),
        ("a", {"port": 1, "password": SECRET}, "{'port': 1, 'password': ...}"),
        ("a", [{"key": SECRET}], "[{'key': ...}]"),
        ("a", f"token={SECRET}", "a value that is not shown"),
        ("ssh.key", SECRET, "a value that is not shown"),
        ("monkey", "x", "'x'"),
        ("keys", [1], "[1]"),
    ],
    ids=range(10),
)
def test_a_value_is_cut_and_a_secret_left_out(key: str, value: object, said: str) -> None:
    assert said in shown(key, value)
    assert SECRET not in shown(key, value)


def test_a_paragraph_is_one_line_whatever_stands_in_it() -> None:
    problem = BadInput("a\nb", file="x\x1b[31m", key="k\r", value="v\n", fix="c\td")
    assert str(problem) == "x\\x1b[31m: k\\r: a\\nb (got 'v\\n'). Fix: c\\td"


# -- what nobody expected -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "said"),
    [(KeyError("x"), "KeyError: 'x'. "), (RecursionError(), "RecursionError. "), (OSError(5, "a\nb"), "a\\nb. ")],
)
def test_a_defect_is_one_paragraph_and_the_other_reports_are_tried(
    ends: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str
) -> None:
    def fails(report: str, *_: object, wait: bool) -> int:
        if report == "dm_1_0_ga":
            raise raised
        return 0

    monkeypatch.setattr(pipeline, "run_report", fails)
    status, told = ends(["report", "dm_1_0_ga", "dm_1_0_alpha"])
    assert (status, told.count("\n"), "Traceback" in told) == (1, 1, False)
    assert f"{said}This is a defect of the kit; --debug shows where." in told
    for words in (["--debug", "report", "dm_1_0_ga"], ["report", "dm_1_0_ga", "--debug"]):
        monkeypatch.setenv(guard.VARIABLE, "")
        status, told = ends(words)
        assert (status, "Traceback" in told, "in fails" in told) == (1, True, True)


def test_a_defect_of_a_command_is_one_paragraph(ends: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(command, "_watched", breaks)
    status, said = ends(commands.SERVERS, command.main)
    assert (status, said) == (1, "transfer: ZeroDivisionError: no. This is a defect of the kit; --debug shows where.\n")


def test_a_thread_ends_as_quietly(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    said: list[str] = []
    guard.begin(said.append)
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    assert said == ["ZeroDivisionError: division by zero. This is a defect of the kit; --debug shows where."]
    assert capsys.readouterr().err == ""


# -- by the real command line ---------------------------------------------------------------------------------------

BY_NAME = {row.name: row for row in ROWS}


@pytest.mark.parametrize(
    "name",
    [
        "inventory is fifo",
        "workload /tmp/x.lua",
    ],
)
def test_the_command_line_ends_with_2_and_no_traceback(name: str, home: Home) -> None:
    row = BY_NAME[name]
    status, said = home.run(*row.plant(home))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert (status, "Traceback" in said, len(plain.strip().splitlines())) == (2, False, 3), said
    assert len(paragraph(plain).strip().splitlines()) == 1, "the file, the cause and the fix, on a line each"
    assert all(words in paragraph(plain) for words in row.words)


def test_a_transfer_ends_so_too(home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mongo_transfer", *commands.SERVERS, "--databases", "("],
        env=home.environment,
        text=True,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, "Traceback" in done.stderr, done.stderr.count("\n")) == (2, False, 1), done.stderr


def test_and_what_stands_around_it(ends: Callable[..., Ended]) -> None:
    assert ends(["clear", "--url", "http://a"], tools.main) == (
        2,
        "tools: url: not a MongoDB URL (got 'http://a'). Fix: write mongodb://host:port/\n",
    )


def test_a_parameter_that_papermill_passes_on_as_text(home: Home) -> None:
    from benchbook import parameters
    from benchbook.reports.load.load_kind import LoadParameters

    for text in ("&a [*a]", "[" * 5000, f"[{'9' * 5000}]", "[[1]: 2]"):
        with pytest.raises(BadInput) as caught:
            parameters.check(LoadParameters, REPORT, {"inventory": "x", "threads": f"[{text}"})
        assert str(caught.value.key).startswith("threads")
    assert parameter("a=1")(home)[-1] == "a=1"
