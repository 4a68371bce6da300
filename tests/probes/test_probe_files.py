"""A probe is one file: what is wrong with one is said before a host is touched, and how the host runs one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
import typer
from kit import PROFILE, ROOT, Home, paragraph, until
from rich.console import Console

from benchbook import cli, pipeline
from benchbook.errors import BadInput
from benchbook.hosts.agent import remote_program
from benchbook.hosts.session import Session
from benchbook.probes import probe_file
from benchbook.probes.probe import of_file
from benchbook.probes.probe_file import find, own, read
from benchbook.probes.remote import psql_session
from benchbook.probes.remote.run_probe import AskedTwice
from benchbook.probes.samples import Metric
from benchbook.probes.watch import _failure, watching

GOOD = 'METRICS = {"a": ("level", "B"), "b.*": ("counter", "ms/s")}\n\n\ndef sample():\n    return {"a": 1}\n'
METRICS = 'METRICS = {"a": ("level", "B")}\n'
SAMPLE = "def sample():\n    return {}\n"


def put(home: Home, text: str, name: str = "mine") -> Path:
    return home.write(f"env/probes/{name}.py", text)


# -- what a file says ------------------------------------------------------------------------------------------------


def test_metrics_and_parameters_are_what_the_file_says_of_itself(home: Home) -> None:
    """Whatever it prints as it is loaded, in a process of its own; what it samples is not asked."""
    put(home, "NAME = 'a'\n", "_beside")
    sample = GOOD.replace("sample()", "sample(port, address, timeout=5, *, user)").replace('"a":', "_beside.NAME:")
    path = put(home, f"import _beside\nprint('loaded')\n{sample}    raise SystemExit\n")
    found = find("mine")
    assert found.metrics == {"a": Metric("B"), "b.*": Metric("ms/s", counter=True)}
    assert (found.path, found.takes, found.of_server) == (path, ("port", "address", "user"), True)


def test_a_probe_that_asks_for_no_server_watches_the_machine(home: Home) -> None:
    put(home, GOOD)
    assert (find("mine").of_server, find("host").of_server, find("mysql").of_server) == (False, False, True)
    put(home, "not a probe", "_helper")
    assert own() == ["mine"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (METRICS + "def sample(:\n", "line 2: cannot be loaded (got 'SyntaxError: invalid syntax (mine.py, line 2)')"),
        (SAMPLE, "METRICS: the probe declares no metrics. Fix: add METRICS = {"),
        (f"METRICS = {{}}\n{SAMPLE}", "METRICS: not a dict of metrics (got {}). Fix: write it like METRICS = {"),
        (f"METRICS = ['a']\n{SAMPLE}", "METRICS: not a dict of metrics (got \"['a']\"). Fix: "),
        (f"METRICS = dict(a=1)\n{SAMPLE}", "METRICS.a: not a kind and a unit (got 1)"),
        (f"import os\nos.no_such\n{METRICS}{SAMPLE}", "line 2: cannot be loaded (got \"AttributeError: module 'os'"),
        (f"import no_such\n{METRICS}{SAMPLE}", "what only hosts have is imported in `sample`"),
        ("import os\nos._exit(3)\n", "Python cannot load the file (got 'status 3')"),
        (f"METRICS = {{'a': ('gauge', 'B')}}\n{SAMPLE}",
         "METRICS.a: not a kind and a unit (got ('gauge', 'B')). Fix: write (\"level\", unit), or (\"counter\", unit"),
        (f"METRICS = {{'a': ('level', '')}}\n{SAMPLE}", "METRICS.a: not a kind and a unit (got ('level', ''))"),
        (f"METRICS = {{'a': 'level'}}\n{SAMPLE}", "METRICS.a: not a kind and a unit (got 'level')"),
        (f"METRICS = {{1: ('level', 'B')}}\n{SAMPLE}", "METRICS.1: not a kind and a unit (got ('level', 'B'))"),
        (METRICS, "sample: has no function that samples. Fix: add `def sample():` that returns {metric: number}"),
        (METRICS + "def sample(adress, port):\n    return {}\n",
         "sample: sample asks for what nobody gives it (got 'adress'). Fix: ask for some of address, port, user"),
        (f"{METRICS}from benchbook.errors import BadInput\n{SAMPLE}",
         "line 2: cannot be loaded (got 'ImportError: a probe runs on a host, which has no benchbook'). Fix: "),
        (f"{METRICS}NEEDS = 'pymysql'\n{SAMPLE}",
         "NEEDS: not a list of packages (got 'pymysql'). Fix: name packages, like NEEDS = [\"pymysql\"]"),
        (f"{METRICS}NEEDS = ['pymsql']\n{SAMPLE}", "NEEDS: no such package is installed here (got 'pymsql'). Fix: "),
        (f"{METRICS}NEEDS = ['numpy']\n{SAMPLE}", "it may not run on the hosts (got 'numpy'). Fix: use a pure-Python"),
    ],
)  # fmt: skip
def test_a_bad_file_is_named_with_key_value_and_fix(home: Home, text: str, said: str) -> None:
    path = put(home, text)
    with pytest.raises(BadInput) as caught:
        find("mine")
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_an_unknown_name_is_said_with_the_known_ones_and_where_it_could_stand(home: Home) -> None:
    put(home, GOOD)
    with pytest.raises(BadInput) as caught:
        find("mien", file="tiny.yaml")
    assert (
        "tiny.yaml: probes: no such probe (got 'mien'). "
        "Fix: use one of etcd, host, mine, mysql, pgbouncer, postgresql, redis, or write " in str(caught.value)
    )


@pytest.mark.parametrize(
    ("report", "lab"),
    [
        ("tidb_v7_1_3_sysbench", "lab_test"),
        ("dtm_mysql", "lab_dtm"),
        ("dm_1_0_ga", "lab_dm_ga"),
        ("ddt_full_scale", "lab_ddt"),
    ],
)
def test_a_report_stops_at_a_bad_probe_before_any_host_is_touched(home: Home, report: str, lab: str) -> None:
    path = put(home, SAMPLE)
    if lab != "lab_test":
        home.write(f"env/hosts/{lab}.yaml", (ROOT / f"env/hosts/{lab}.yaml").read_text())
    home.write("env/profiles/tiny.yaml", {**PROFILE, "probes": ["mine"]})
    with pytest.raises(BadInput, match=f"{path}: METRICS: the probe declares no metrics"):
        pipeline.run_report(report, {"profile": "tiny", "inventory": lab}, Console(quiet=True))
    assert not (home.path / ".lab").exists()


def test_check_reads_the_probes_too(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    put(home, GOOD)
    path = put(home, METRICS, "worse")
    with pytest.raises(typer.Exit):
        cli.check(["ddt_full_scale"])
    said = capsys.readouterr()
    assert "probe mine: 2 metrics, valid" in said.out
    assert f"worse: {path}: sample: has no function that samples" in paragraph(said.err)


# -- how a host runs it ----------------------------------------------------------------------------------------------


def started(
    folder: Path, text: str, given: dict[str, Any], *libraries: str, every_s: float = 0.02
) -> subprocess.Popen[bytes]:
    (folder / "toy.py").write_text(text)
    words = [
        remote_program("probes", "run_probe.py"),
        folder / "samples",
        every_s,
        folder / "toy.py",
        json.dumps(given),
    ]
    return subprocess.Popen([sys.executable, *map(str, words), *libraries])


def samples(folder: Path) -> list[dict[str, Any]]:
    file = folder / "samples"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


TOY = """
METRICS = {"n": ("level", "1"), "secret": ("level", "1")}
CALLS = open(FILE, "ab", buffering=0)


def sample(port, password):
    CALLS.write(b".")
    count = CALLS.tell()
    if count in (2, 3):
        {}["gone"]
    if count == 4:
        return None
    return {"n": count * port, "secret": len(password)}
"""


@pytest.mark.real
def test_samples_errors_and_a_last_sample_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("five5\n")
    (tmp_path / "password").chmod(0o600)
    calls = tmp_path / "calls"
    probe = started(tmp_path, TOY.replace("FILE", repr(str(calls))), {"port": 10, "password": None})
    try:
        until(lambda: len(samples(tmp_path)) >= 5, "five samples")
        probe.send_signal(signal.SIGSTOP)
        until(lambda: psutil.Process(probe.pid).status() == psutil.STATUS_STOPPED, "it to stand still")
        # One line tells of two calls: what failed at once after a good sample was asked once more.
        before = calls.stat().st_size - 1
        probe.terminate()
    finally:
        probe.send_signal(signal.SIGCONT)
    assert probe.wait(timeout=30) == 0
    found = samples(tmp_path)
    # It may have been stopped between a tick and that tick's call: then there is that sample, and the last.
    assert len(found) - before in (1, 2)
    assert [line.get("v") for line in found[:4]] == [
        {"n": 10, "secret": 5}, None, None, {"n": 50, "secret": 5},
    ]  # fmt: skip
    assert [line.get("error") for line in found[1:3]] == [
        "KeyError: 'gone' (line 10 of toy.py)",
        "TypeError: sample returned None, not {metric: number}",
    ]
    assert found[-1]["v"]["n"] == 10 * (len(found) + 1)
    assert all(a["t"] < b["t"] and a["cpu"] < b["cpu"] for a, b in pairwise(found))


@pytest.mark.real
def test_between_two_ticks_a_probe_that_is_ended_takes_one_sample_more(tmp_path: Path) -> None:
    probe = started(tmp_path, GOOD, {}, every_s=3600)
    until(lambda: samples(tmp_path), "a first sample")
    probe.terminate()
    assert probe.wait(timeout=30) == 0
    assert [line["v"] for line in samples(tmp_path)] == [{"a": 1}, {"a": 1}]


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such\n" + GOOD, "ModuleNotFoundError: No module named 'no_such' (line 1 of toy.py)"),
        ("def sample(:\n", "SyntaxError: "),
    ],
)
def test_a_file_that_cannot_be_loaded_leaves_its_reason(tmp_path: Path, text: str, why: str) -> None:
    assert started(tmp_path, text, {}).wait(timeout=30) == 1
    (only,) = samples(tmp_path)
    assert only["error"].startswith(why)


TELLS_ITS_PASSWORD = """
import sys

COUNT = []


def sample(password):
    COUNT.append(1)
    if len(COUNT) == 1:
        raise RuntimeError("cannot log in with %r" % password)
    if len(COUNT) == 2:
        raise RuntimeError("cannot open db://u:pa%2Fss%27w@h")
    if len(COUNT) == 3:
        return 70 * "x" + password
    sys.exit("no program, and %s" % password)
"""


@pytest.mark.real
def test_the_reason_of_a_probe_holds_no_password_and_one_that_exits_has_said_why(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pa/ss'w\n")
    (tmp_path / "password").chmod(0o600)
    probe = started(tmp_path, TELLS_ITS_PASSWORD, {"password": None})
    try:
        until(lambda: len(samples(tmp_path)) >= 5, "five samples")
    finally:
        probe.terminate()
    assert probe.wait(timeout=30) == 0
    assert [line["error"] for line in samples(tmp_path)[:4]] == [
        'RuntimeError: cannot log in with "***" (line 10 of toy.py)',
        "RuntimeError: cannot open db://u:***@h (line 12 of toy.py)",
        f'TypeError: sample returned "{70 * "x"}***", not {{metric: number}}',
        "SystemExit: no program, and *** (line 15 of toy.py)",
    ]


@pytest.mark.real
@pytest.mark.parametrize("name", ["pymysql", "typing_extensions", "beside_it"])
def test_what_is_sent_along_is_imported_on_the_host(tmp_path: Path, name: str) -> None:
    """A package that is installed here, one of a single module, or a module beside the probe."""
    (tmp_path / "beside_it.py").write_text("PLACE = __file__\n")
    text = f'import {name}\n\ndef sample():\n    return {{"zip": int(".zip" in {name}.__file__)}}\n'
    probe = started(tmp_path, text, {}, str(probe_file.zipped(name, tmp_path / "probe.py")))
    try:
        until(lambda: samples(tmp_path), "a sample")
    finally:
        probe.terminate()
    assert probe.wait(timeout=30) == 0
    assert samples(tmp_path)[0]["v"] == {"zip": 1}


# -- what is said of one that fails ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "fresh", "due", "said"),
    [
        ([], [], False, None),
        ([{"t": 1, "error": "x"}], [], False, "x"),
        ([{"t": 1, "v": {}}], [{"t": 2, "error": "x"}, {"t": 3, "error": "y"}], True, "y"),
        ([{"t": 1, "error": "before"}], [{"t": 2, "v": {}}], True, None),
        ([{"t": 1, "v": {}}], [{"t": 2, "error": "x"}, {"t": 3, "v": {}}], True, None),
        # It was not waited for, and looked once in the trial: that is no look of before.
        ([], [{"t": 2, "v": {}}], True, None),
        # A load that is over before the next sample is due takes nothing away from anybody.
        ([{"t": 1, "v": {}}], [], False, None),
        ([{"t": 1, "v": {}}], [], True, "none came in time"),
    ],
)
def test_a_probe_has_failed_when_it_took_no_sample_in_the_trial(
    before: list[dict[str, Any]], fresh: list[dict[str, Any]], due: bool, said: str | None
) -> None:
    assert _failure(before, fresh, due=due) == said


@pytest.mark.real
def test_a_probe_that_is_slow_to_begin_has_looked_before_the_load_begins(session: Session, tmp_path: Path) -> None:
    """The trial's block here takes no time at all: what is seen of it was seen before."""
    path = tmp_path / "slow.py"
    path.write_text(f"import time\n\ntime.sleep(0.5)\n{GOOD}")
    with watching(session, [of_file(read(path, "slow"), session.hosts["db1"])]) as watched:
        pass
    assert "slow" in set(watched.series.source)
    assert watched.failed == {}


def test_a_psql_that_ended_with_its_server_is_begun_anew_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """psql 15.18 ends with status 2 when it is asked after its server has been started anew: seen on a real one."""
    echoing = tmp_path / "psql"
    echoing.write_text('#!/bin/sh\nwhile read -r word rest; do [ "$word" = \'\\echo\' ] && echo "$rest"; done\n')
    echoing.chmod(0o700)
    monkeypatch.setattr(psql_session, "program", lambda: str(echoing))
    where = ("127.0.0.1", 1, "user", "secret", "postgres")
    look = AskedTwice(lambda: psql_session.asked(["SELECT 1"], *where))
    assert look() == []
    kept = psql_session.session(*where, ())
    kept.kill()
    kept.wait()
    assert look() == []
    anew = psql_session.session(*where, ())
    assert anew is not kept
    anew.kill()
    anew.wait()
    echoing.write_text("#!/bin/sh\nread -r first\nexit 2\n")
    with pytest.raises(OSError, match="psql has ended"):
        look()
