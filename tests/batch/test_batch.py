"""A batch: what a plan means, what is refused before anything starts, and that cells keep out of each other's way."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import dask
import pytest
from distributed import Client
from kit import PATIENCE_S, ROOT, TESTS, Home, until
from rich.console import Console

from benchbook.batch import cell as cell_process
from benchbook.batch import cluster, command, dispatch, display
from benchbook.batch.plan import BatchCell, BatchPlan, cells_of, load_plan
from benchbook.campaign.store import latest
from benchbook.errors import BadInput, NotWritten
from benchbook.user_input import atomic_file

TIDB, DM, GA, LAB = "tidb_v7_1_3_sysbench", "dm_1_0_ga", "lab_dm_ga", "lab_tidb"
FAKE = str(TESTS / "helpers" / "fake_report.py")
# The setting of Dask by which a worker samples its stack, a hundred times a second.
PROFILE = "distributed.worker.profile.enabled"


@pytest.fixture(autouse=True)
def _inventories(home: Home) -> None:
    for path in (ROOT / "env" / "hosts").glob("*.yaml"):
        home.write(f"env/hosts/{path.name}", path.read_text())


def said(home: Home, plan: dict[str, Any]) -> str:
    """What `benchbook batch --dry-run` prints."""
    console = Console(file=io.StringIO(), width=200)
    assert command.run(str(home.write("plan.yaml", plan)), console, dry=True) == 0
    return console.file.getvalue()


def cells(home: Home, plan: dict[str, Any]) -> list[str]:
    return [str(cell) for cell in cells_of(load_plan(home.write("plan.yaml", plan)))]


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (
            {
                "reports": [TIDB, DM],
                "inventories": [LAB, GA],
                "profiles": ["smoke", "lab"],
                "exclude": [
                    {"report": TIDB, "inventory": GA},
                    {"inventory": LAB, "report": DM},
                    {"profile": "lab", "report": DM},
                ],
            },
            [f"{TIDB} {LAB} smoke", f"{TIDB} {LAB} lab", f"{DM} {GA} smoke"],
        ),
        # Without an inventory, a report runs on its own one.
        ({"reports": [TIDB, DM]}, [f"{TIDB} {LAB} smoke", f"{DM} {GA} smoke"]),
        # A parameter goes to the reports that know it.
        (
            {
                "reports": [TIDB, "ddt_full_scale"],
                "parameters": {"system": ["tidb", "mariadb"], "repetitions": [3]},
            },
            [
                f'{TIDB} {LAB} smoke system="tidb" repetitions=3',
                f'{TIDB} {LAB} smoke system="mariadb" repetitions=3',
                "ddt_full_scale lab_ddt smoke repetitions=3",
            ],
        ),
        (
            {
                "reports": [TIDB],
                "parameters": {"systems": [["tidb"], ["tidb", "mariadb"]], "seed": [1, 2]},
                "exclude": [{"parameters": {"systems": ["tidb"], "seed": 2}}],
            },
            [
                f"{TIDB} {LAB} smoke {chosen}"
                for chosen in ('systems=["tidb"] seed=1', 'systems=["tidb", "mariadb"] seed=1',
                               'systems=["tidb", "mariadb"] seed=2')
            ],
        ),
    ],
)  # fmt: skip
def test_a_plan_is_every_combination_less_those_excluded(home: Home, plan: dict[str, Any], expected: list[str]) -> None:
    assert cells(home, plan) == expected


def test_the_command_of_a_cell_is_what_a_user_would_type(home: Home) -> None:
    plan = home.write("plan.yaml", {"reports": [TIDB], "parameters": {"systems": [["tidb", "mariadb"]]}})
    [cell] = cells_of(load_plan(plan))
    assert cell.words() == (
        "report", TIDB, "--profile", "smoke", "--inventory", LAB, "-p", 'systems=["tidb", "mariadb"]',
    )  # fmt: skip


def test_a_file_that_the_plan_names_is_found_from_a_worker_s_folder(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch stands in a folder of the user's; a worker in its checkout."""
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.chdir(mine)
    for kind, name in (("hosts", LAB), ("profiles", "smoke")):
        (mine / f"{kind}.yaml").write_text((home.path / "env" / kind / f"{name}.yaml").read_text())
    plan = {"reports": [TIDB], "inventories": ["hosts.yaml"], "profiles": ["profiles.yaml"]}
    [cell] = cells_of(load_plan(home.write("plan.yaml", plan)))
    assert cell.words() == (
        "report", TIDB, "--profile", str(mine / "profiles.yaml"), "--inventory", str(mine / "hosts.yaml"),
    )  # fmt: skip
    assert cell.place == str(mine / "hosts.yaml")


def test_an_inventory_s_name_and_its_file_are_one_place(home: Home) -> None:
    file = str(home.path / "env" / "hosts" / f"{LAB}.yaml")
    with pytest.raises(BadInput, match=r"inventories\.1: it is named twice"):
        cells(home, {"reports": [TIDB], "inventories": [LAB, file]})


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({"report": [TIDB]}, "report", "known here: exclude, inventories, parameters, profiles, reports"),
        ({"reports": []}, "reports", "needs 1"),
        ({"reports": ["tidb_v7_1_3_sysbnch"]}, "reports.0", f"did you mean {TIDB}"),
        ({"reports": [TIDB, TIDB]}, "reports.1", "named twice"),
        ({"profiles": ["smoke", "smoke"]}, "profiles.1", "named twice"),
        ({"parameters": {"system": ["tidb", "mariadb", "tidb"]}}, "parameters.system.2", "named twice"),
        ({"inventories": [LAB, "lab_tidbb"]}, "inventories.1", f"did you mean {LAB}"),
        ({"profiles": ["smok"]}, "profiles.0", "did you mean smoke"),
        ({"parameters": {"sytem": ["tidb"]}}, "parameters.sytem", "did you mean"),
        ({"parameters": {"system": "tidb"}}, "parameters.system", "list"),
        ({"parameters": {"profile": ["lab"]}}, "parameters.profile", "keys of their own"),
        ({"parameters": {"system": ["tidbx"]}}, "cell 1", "tidbx"),
        ({"inventories": ["lab_ddt"]}, "cell 1", "leave the cell out under `exclude`"),
        ({"exclude": [{"report": DM}]}, "exclude.0", "excludes no cell"),
        ({"exclude": [{"reprot": TIDB}]}, "exclude.0.reprot", "correct its spelling"),
        ({"exclude": [{"report": TIDB}]}, "exclude", "every cell is excluded"),
    ],
)
def test_what_a_plan_cannot_mean_is_refused(home: Home, change: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        said(home, {"reports": [TIDB], **change})
    assert (Path(refused.value.file).name, refused.value.key) == ("plan.yaml", key)
    assert words in str(refused.value)
    assert "Fix: " in str(refused.value)


def test_a_plan_that_is_not_there(home: Home) -> None:
    with pytest.raises(BadInput, match="no such plan"):
        command.run("nowhere.yaml", Console(file=io.StringIO()), dry=True)


def test_what_a_report_refuses_of_itself_is_refused_before_the_first_cell(home: Home) -> None:
    """A cell that came last ended at it, when all others had been run."""
    claims = home.path / "data" / "published" / DM / "claims.yaml"
    claims.write_text(claims.read_text().replace("below: {small_rows: 50000}", "below: {smal_rows: 50000}"))
    for report, words in ((DM, "no campaign asks for anything under this name"),):
        with pytest.raises(BadInput, match=rf"plan\.yaml: cell 1: {report} .* cannot run: .*{words}"):
            said(home, {"reports": [report], "profiles": ["paper"]})


def test_a_dry_run_prints_the_cells_and_their_trials(home: Home) -> None:
    """One system, five workloads by three numbers of threads, twice, as the notebook has it."""
    lines = said(home, {"reports": [TIDB], "parameters": {"repetitions": [2], "systems": [["tidb"]]}}).splitlines()
    [row] = [line.split() for line in lines if TIDB in line]
    assert (row[:4], row[-1]) == (["1", TIDB, LAB, "smoke"], "30")
    assert lines[-1] == "1 cell on 1 inventory, one at a time on each; benchbook plan says how long one takes"


# -- what its cells say of themselves ----------------------------------------------------------------------------------


def cell(number: int, report: str, inventory: str) -> BatchCell:
    return BatchCell(number, report, inventory, "smoke", (), f"env/hosts/{inventory}.yaml")


def test_what_a_campaign_came_to_is_read_where_it_ran(runs: Path) -> None:
    campaign = latest(TIDB)
    found = cell_process.found_by(f"  1/1  done x\ncampaign: {campaign.folder}\npage: site/x.html\n")
    assert found is not None
    assert (found.campaign, found.done, found.planned) == (campaign.id, len(campaign.done()), len(campaign.trials))
    assert cell_process.found_by("hosts.db1: does not answer") is None
    assert cell_process.found_by(f"campaign: {runs / 'nowhere'}") is None


def test_the_terminal_s_table_says_of_each_cell_how_it_ended(home: Home) -> None:
    """The cells of a batch, in their order: their state before, what becomes of them, and their line."""
    found = cell_process.CellFound(campaign="c1", planned=6, done=5, failed=1, verdicts={"holds": 2, "open": 1})

    def ran(status: int, said: str) -> cell_process.CellRan:
        times = {"began": 100.0, "ended": 225.0}
        return cell_process.CellRan(status=status, **times, host="h", home="/", log="/1.log", said=said, found=found)

    known = "5 of 6, 1 failed 2 holds, 1 open 2 min 05 s site/x.html"
    ends: list[tuple[dict[str, Any], str]] = [
        ({"status": 0, "ran": ran(0, "page: site/x.html")}, f"well {known}"),
        ({"status": 1, "ran": ran(1, "  5/6  done x\nno disk\npage: site/x.html")}, f"failed trials: no disk {known}"),
        ({"status": 130, "problem": "no worker had taken it"}, "interrupted: no worker had taken it"),
        ({"status": 1, "problem": "KilledWorker: 3 times"}, "lost: KilledWorker: 3 times"),
    ]
    console = Console(file=io.StringIO(), width=250)
    made = [cell(number, TIDB, "a") for number in range(1, 6)]
    with display.BatchDisplay("b1", BatchPlan(reports=[TIDB]), made, console) as shown:
        for number, (changes, _) in enumerate(ends, 1):
            state = shown.states[number]
            state.runs = True
            shown.changed(state)
            vars(state).update(changes, runs=False)
            shown.changed(state)
        shown.states[5].runs = True
        shown.changed(shown.states[5])
        shown.states[5].runs = False
        shown.changed(shown.states[5])
        shown.print_ends()
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip()]
    assert lines[-len(ends) :] == [f"{number} {TIDB} a smoke {said}" for number, (_, said) in enumerate(ends, 1)]
    assert f"lost: {TIDB} a smoke (KilledWorker: 3 times)" in lines
    assert f"hosts in use, queued again: {TIDB} a smoke" in lines
    assert [one["status"] for one in results(home)["cells"]] == [0, 1, 130, 1, None]


def test_ctrl_c_while_a_result_arrives_does_not_lose_it(home: Home) -> None:
    ran = cell_process.CellRan(status=0, began=1.0, ended=2.0, host="h", home="/", log="/1.log", said="")
    future = Mock(key="b1-1-1", status="finished", **{"result.side_effect": [KeyboardInterrupt(), ran]})
    shown = display.BatchDisplay("b1", BatchPlan(reports=[TIDB]), [cell(1, TIDB, "a")], Console(file=io.StringIO()))
    under_way = dispatch.Dispatch("b1", Mock(), shown)
    under_way._running[future.key], under_way._futures[future.key] = shown.states[1], future
    with pytest.raises(KeyboardInterrupt):
        under_way._ended(future)
    for left in list(under_way._futures.values()):
        under_way._ended(left)
    assert (shown.states[1].status, under_way._running, under_way._futures) == (0, {}, {})


# -- on a cluster of this machine -------------------------------------------------------------------------------------


def run(home: Home, made: Sequence[BatchCell]) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """The batch's exit status, its JSON, and when its cells began and ended."""
    console, program = Console(file=io.StringIO(), width=200), (sys.executable, FAKE, str(home.path))
    status = command.run_cells(BatchPlan(reports=["x"]), made, console, command.opened("", 2), program)
    return status, results(home), times(home)


def results(home: Home) -> dict[str, Any]:
    [path] = (home.path / "data" / "runs" / "batches").glob("*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def times(home: Home) -> list[dict[str, Any]]:
    path = home.path / "times.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_second_try_is_told_by_its_own_words(home: Home) -> None:
    """One that was refused for something else was taken for one whose hosts are in use, as its first try had been."""

    def tried(attempt: int, says: str) -> cell_process.CellRan:
        program = "import sys; print(sys.argv[1]); sys.exit(2)"
        order = cell_process.CellOrder("b", 1, attempt, (says,), (sys.executable, "-c", program))
        return cell_process.run_cell(order, lambda line: None)

    first = tried(1, "hosts.db1: the host is reserved by somebody@elsewhere")
    second = tried(2, "hosts.db1: no such user")
    assert (first.busy, second.busy) == (True, False)
    assert (second.said, second.why) == ("hosts.db1: no such user\n", "hosts.db1: no such user")


@pytest.fixture
def watches_itself(monkeypatch: pytest.MonkeyPatch) -> set[object]:
    """Whether Dask samples its own stacks, in each process of the clusters that this test opens."""
    said: set[object] = set()

    @contextmanager
    def opened(scheduler: str, workers: int) -> Iterator[Client]:
        with cluster.opened(scheduler, workers) as client:
            said.update(client.run(dask.config.get, PROFILE).values())
            yield client

    monkeypatch.setattr(command, "opened", opened)
    return said


@pytest.mark.real
def test_cells_on_a_cluster_of_two_processes(home: Home, watches_itself: set[object]) -> None:
    names = {"a": ["meets", "loses_its_worker", "well"], "b": ["is_met", "busy", "fails", "well"]}
    made = [
        cell(number, name, where)
        for number, (where, name) in enumerate(((w, n) for w, line in names.items() for n in line), 1)
    ]
    status, found, periods = run(home, made)
    assert status == 1
    assert watches_itself == {False}, "its workers run beside the loads that are measured"
    by_name = {(one["report"], one["inventory"]): one for one in found["cells"]}
    assert {key: one["status"] for key, one in by_name.items() if one["status"]} == {("fails", "b"): 1}
    assert all(one["page"] == "site/index.html" for one in by_name.values() if one["status"] == 0)
    # One whose hosts are in use gives way to the others of its inventory, and then waits for them.
    assert by_name["busy", "b"]["attempts"] == 2
    assert [p["name"] for p in periods if p["inventory"] == "b"] == ["is_met", "busy", "fails", "well", "busy"]
    # One whose worker was killed was ended as by Ctrl-C, and run again once it had ended.
    assert [p["status"] for p in periods if p["name"] == "loses_its_worker"] == [130, 0]
    assert by_name["loses_its_worker", "a"]["attempts"] == 1
    for inventory, asked in names.items():
        there = sorted((p["began"], p["ended"]) for p in periods if p["inventory"] == inventory)
        assert len(there) == len(asked) + 1
        assert all(ended <= began for (_, ended), (began, _) in pairwise(there))


@pytest.mark.real
def test_results_that_cannot_be_written_meanwhile_end_no_cell(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full once the first has ended, and has room again when the last has."""
    write = atomic_file.replace_text

    def on_a_full_disk(path: Path, text: str) -> Path:
        if len(times(home)) in (1, 2):
            raise NotWritten(f"{path} cannot be written")
        return write(path, text)

    monkeypatch.setattr(display, "replace_text", on_a_full_disk)
    status, found, periods = run(home, [cell(number, "well", "a") for number in (1, 2, 3)])
    assert status == 0
    assert len(periods) == 3
    assert [one["status"] for one in found["cells"]] == [0, 0, 0]


@pytest.fixture
def driver(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A batch of three cells on one worker, in a process of its own; the first cell runs, the second is the same's."""
    script = f"""
# A worker imports this file, too: it needs none of what the batch needs.
if __name__ == "__main__":
    import sys
    from rich.console import Console
    from benchbook.batch import command
    from benchbook.batch.plan import BatchCell
    from benchbook.batch.plan import BatchPlan

    cells = [BatchCell(n, "goes_on", where, "smoke", (), where) for n, where in enumerate("aab", 1)]
    program = (sys.executable, {FAKE!r}, {str(home.path)!r})
    sys.exit(command.run_cells(BatchPlan(reports=["x"]), cells, Console(), command.opened("", 1), program))
"""
    file = home.write("driver.py", script)
    said = home.path / "driver.out"
    with said.open("w") as out:
        started = subprocess.Popen([sys.executable, str(file)], env=home.environment, process_group=0, stdout=out)
    until(lambda: list(home.path.glob("*.alone")), "a cell runs")
    until(lambda: "begins: goes_on b" in said.read_text(), "another waits for the worker")
    yield started
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


@pytest.mark.real
def test_ctrl_c_ends_all_cells_and_says_so(home: Home, driver: subprocess.Popen[bytes]) -> None:
    # As a terminal does: to the driver and its workers at once.
    os.killpg(driver.pid, signal.SIGINT)
    assert driver.wait(PATIENCE_S) == 130
    # The one that ran has ended itself; the one that waited for a worker has not begun.
    assert [(period["inventory"], period["status"]) for period in times(home)] == [("a", 130)]
    assert [one["status"] for one in results(home)["cells"]] == [130, None, 130]


def test_a_worker_leaves_ctrl_c_and_a_closed_terminal_to_the_driver() -> None:
    numbers = (signal.SIGINT, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    worker: Any = None
    try:
        cluster.dask_setup(worker)
        assert [signal.getsignal(number) for number in numbers] == [signal.SIG_IGN] * 2
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@pytest.mark.real
def test_cells_end_with_a_driver_that_is_killed(home: Home, driver: subprocess.Popen[bytes]) -> None:
    driver.kill()
    until(lambda: [period["status"] for period in times(home)] == [130], "the cell has ended")
    assert [one["status"] for one in results(home)["cells"]] == [None] * 3


NO_WORKER = f"""
# The alarm stands for Ctrl-C.
if __name__ == "__main__":
    import io, signal
    from distributed import Client, LocalCluster
    from rich.console import Console
    from benchbook.batch.dispatch import Dispatch
    from benchbook.batch.display import BatchDisplay
    from benchbook.batch.plan import BatchCell
    from benchbook.batch.plan import BatchPlan

    class CtrlC(BatchDisplay):
        def changed(self, state):
            if state.runs:
                CTRL_C
            else:
                print(state.cell.number, state.status, state.problem, flush=True)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as made, Client(made) as client:
        cells = [BatchCell(1, "goes_on", "a", "smoke", (), "a")]
        shown = CtrlC("b1", BatchPlan(reports=["x"]), cells, Console(file=io.StringIO()))
        Dispatch("b1", client, shown, ({sys.executable!r}, {FAKE!r})).run()
"""


@pytest.mark.real
@pytest.mark.parametrize(
    "ctrl_c",
    ["signal.setitimer(signal.ITIMER_REAL, 0.3)", "signal.raise_signal(signal.SIGALRM)"],
    ids=["later", "on its way to the cluster"],
)
def test_ctrl_c_does_not_wait_for_a_cell_that_no_worker_has(home: Home, ctrl_c: str) -> None:
    """It was waited for for 130 s, longer than this test is patient; or it was not among the results."""
    file = home.write("driver.py", NO_WORKER.replace("CTRL_C", ctrl_c))
    done = subprocess.run(
        [sys.executable, str(file)], env=home.environment, check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "1 130 no worker had taken it\n"


def test_a_scheduler_that_does_not_answer_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.2)
    with pytest.raises(BadInput, match="--scheduler: no Dask scheduler answers"), cluster.opened("tcpp://x:1", 1):
        pass


def test_a_scheduler_whose_certificates_are_not_known_is_refused(home: Home) -> None:
    refused = r"cannot speak to this scheduler: TLS .*Fix: for tls://, name its certificates"
    with pytest.raises(BadInput, match=refused), cluster.opened("tls://127.0.0.1:8786", 1):
        pass
