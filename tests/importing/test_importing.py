"""Import: a campaign of another checkout or host is taken whole, or not at all; what does not fit is refused."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kit import FIXTURES, Home
from rich.console import Console

import benchbook
from benchbook import paths
from benchbook.campaign import record
from benchbook.campaign.design import digest
from benchbook.campaign.record import Failure
from benchbook.campaign.store import Campaign, recorded
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory
from benchbook.importing import foreign_campaign, import_command
from benchbook.importing.foreign_files import FolderHere

REPLAYS = FIXTURES / "replays"
TIDB, DTM = "tidb_v7_1_3_sysbench", "dtm_mysql"
Said = Callable[..., tuple[int, str]]


@pytest.fixture(scope="session")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded campaigns, under names that fit them: of their plans, trials were taken out for the tests."""
    target = tmp_path_factory.mktemp("replays") / "runs"
    shutil.copytree(REPLAYS, target)
    for plan in target.glob("*/*/plan.json"):
        found = Campaign(plan.parent)
        asked = digest([found.asked, [trial.identity for trial in found.trials[: found.planned]]])
        named = plan.parent.rename(plan.parent.with_name(f"{found.id.split('-')[0]}-{asked}"))
        for path in named.glob("*/*/record.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "campaign": named.name}))
    _with_a_search(sorted((target / TIDB).iterdir())[-1])
    return target


def _with_a_search(campaign: Path) -> None:
    """A search for the knee in the campaign's folder: its own loads once more, as those of the search."""
    search = campaign / "knee" / digest(Campaign(campaign).asked)
    for name in ("plan.json", "environment.json"):
        search.mkdir(parents=True, exist_ok=True)
        shutil.copy(campaign / name, search / name)
    shutil.copytree(campaign / "trials", search / "trials")
    for path in search.glob("trials/*/record.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "campaign": search.name}))


@pytest.fixture(scope="session")
def latest(replays: Path) -> str:
    return sorted(path.name for path in (replays / TIDB).iterdir())[-1]


@pytest.fixture
def elsewhere(tmp_path: Path, home: Home, replays: Path, latest: str) -> Path:
    """data/runs of another checkout, with what is no record beside the records."""
    target = tmp_path / "elsewhere" / "data" / "runs"
    shutil.copytree(replays, target)
    campaign = target / TIDB / latest
    (campaign / "figures").mkdir()
    (campaign / "knee" / "notes").mkdir()
    (campaign / "knee" / "notes" / "plan.json").write_text("not a search")
    for name in ("executed.ipynb", "results.json", "figures/a.png", "trials/notes.txt"):
        (campaign / name).write_text("not a record")
    shutil.copytree(campaign / "trials", campaign / "trials" / "r09-x.partial", dirs_exist_ok=True)
    (campaign / "trials" / "elsewhere").symlink_to("/etc")
    return target


@pytest.fixture
def said() -> Said:
    """Imports, and returns exit status and what was said."""

    def run(source: object, inventory: str = "") -> tuple[int, str]:
        console = Console(width=400, file=io.StringIO(), record=True)
        status = import_command.run(str(source), inventory, console)
        return status, console.export_text()

    return run


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_campaign_of_a_checkout_is_taken_and_nothing_but_its_records(
    elsewhere: Path, replays: Path, latest: str, said: Said
) -> None:
    status, text = said(elsewhere.parents[1])
    assert status == 0, text
    assert {f.name for f in recorded()} == {plan.parent.name for plan in replays.glob("*/*/plan.json")}
    for folder in recorded():
        assert files(folder) == files(replays / folder.parent.name / folder.name)
        count = len(list(folder.glob("trials/*")))
        assert f"{folder.name}: {count} {'record' if count == 1 else 'records'} of {folder.parent.name}" in text
    assert len(benchbook.open_campaign(latest).trials()) > 0
    assert not list(paths.runs_dir("").glob(".import/*"))


def test_a_failed_attempt_comes_with_its_campaign(elsewhere: Path, latest: str, said: Said) -> None:
    """Its series has no row and no column: a KeyError ended the import of a campaign in which a trial had failed."""
    campaign = Campaign(elsewhere / TIDB / latest)
    done = record.load(min((campaign.folder / "trials").glob("r01-*")))
    failure = Failure(kind="WorkloadFailed", message="FATAL")
    campaign.keep(done.model_copy(update={"status": "failed", "failure": failure, "summary": {}}), pd.DataFrame(), "")
    status, text = said(campaign.folder)
    assert (status, text.splitlines()[0]) == (0, f"{latest}: 18 records of {TIDB}")
    (attempt,) = Campaign(paths.runs_dir(TIDB) / latest).attempts()
    assert attempt.failure == failure


def test_one_campaign_by_its_folder_and_the_same_again(elsewhere: Path, latest: str, said: Said) -> None:
    assert said(elsewhere / TIDB / latest)[0] == 0
    assert [folder.name for folder in recorded()] == [latest]
    before = files(paths.runs_dir(TIDB) / latest)
    status, text = said(elsewhere / TIDB / latest)
    assert (status, f"{latest}: is here already, the same" in text) == (0, True)
    assert files(paths.runs_dir(TIDB) / latest) == before


def test_a_campaign_in_a_folder_of_another_name_gets_its_own_back(elsewhere: Path, latest: str, said: Said) -> None:
    """So it comes from an archive: nothing in it says into which folder it is to be unpacked."""
    (elsewhere / TIDB / latest).rename(elsewhere / "unpacked")
    status, text = said(elsewhere / "unpacked")
    assert status == 0, text
    assert f"of {TIDB}, campaign {latest}" in text
    assert [folder.name for folder in recorded()] == [latest]
    assert not list(paths.runs_dir("").glob(".import/*"))


def test_a_run_that_measured_nothing_is_left_out_and_no_failure(elsewhere: Path, latest: str, said: Said) -> None:
    begun = elsewhere / TIDB / "20261123T091115497316-0123456789ab"
    begun.mkdir()
    shutil.copy(elsewhere / TIDB / latest / "plan.json", begun)
    status, text = said(elsewhere / TIDB)
    assert status == 0, text
    assert f"left out: nothing has been recorded in {begun.name}" in text
    assert begun.name not in {folder.name for folder in recorded()}
    assert said(begun)[0] == 2


def test_another_campaign_of_the_same_name_is_refused(elsewhere: Path, latest: str, said: Said) -> None:
    said(elsewhere / TIDB / latest)
    here = paths.runs_dir(TIDB) / latest
    output = next(here.glob("trials/*/output.txt"))
    output.write_text("measured here")
    before = files(here)
    status, text = said(elsewhere / TIDB / latest)
    assert status == 2
    assert f"{output.parent.name}/output.txt" in text
    assert "a campaign of this name is here, and is another" in text
    assert files(here) == before
    # One that has more here than there is another, too.
    shutil.rmtree(here)
    said(elsewhere / TIDB / latest)
    load = next((elsewhere / TIDB / latest).glob("knee/*/trials/*"))
    shutil.move(load, elsewhere / load.name)
    assert said(elsewhere / TIDB / latest)[0] == 2
    shutil.move(elsewhere / load.name, load)
    shutil.rmtree(elsewhere / TIDB / latest / "trials" / output.parent.name)
    assert said(elsewhere / TIDB / latest)[0] == 2


def _record(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(campaign: Path) -> None:
        path = sorted(campaign.glob("trials/*/record.json"))[0]
        said = json.loads(path.read_text())
        change(said)
        path.write_text(json.dumps(said))

    return spoil


def _plan(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def spoil(campaign: Path) -> None:
        said = json.loads((campaign / "plan.json").read_text())
        change(said)
        (campaign / "plan.json").write_text(json.dumps(said))

    return spoil


def _search(spoil: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda campaign: spoil(next(campaign.glob("knee/*/trials")).parent)


def _first(campaign: Path, name: str) -> Path:
    return sorted(campaign.glob(f"trials/*/{name}"))[0]


def _renamed(campaign: Path) -> None:
    folder = _first(campaign, "record.json").parent
    folder.rename(folder.with_name("r07-other"))


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a value": (_record(lambda r: r["summary"]["tps"].update(value=-1)), "must be finite and not negative"),
    "a key": (_record(lambda r: r.update(more=1)), "Extra inputs are not permitted"),
    "identity": (_record(lambda r: r.update(identity="0" * 12)), "not what the plan asks for"),
    "campaign": (_record(lambda r: r.update(campaign="x")), "the record of another campaign"),
    "status": (_record(lambda r: r.update(status="disturbed", disturbed=["x"])), "a disturbed record among those in"),
    "folder": (_renamed, "the record of another trial"),
    "series": (lambda c: _first(c, "series.parquet").write_bytes(b"PAR1"), "cannot be read"),
    "no series": (lambda c: _first(c, "series.parquet").unlink(), "cannot be read"),
    "asked": (_plan(lambda p: p["asked"].update(time_s=999)), "the campaign's name is not that of its plan"),
    "cell": (_plan(lambda p: p["trials"][0]["cell"]["levels"].update(threads=999)), "a trial is not what it was"),
    "report": (_plan(lambda p: p.update(report="unknown")), "of a report that is not here"),
    "plan": (lambda c: (c / "plan.json").write_text("{"), "not a campaign's plan"),
    "environment": (lambda c: (c / "environment.json").write_text("[]"), "not a campaign's environment"),
    "name": (lambda c: c.rename(c.with_name("20261122T091115497316-000000000000")), "not that of its plan"),
    "search": (_search(lambda s: s.rename(s.with_name("0123456789ab"))), "the search's name is not that of its plan"),
    "a cell of a search": (
        _search(_plan(lambda p: p["trials"][0]["cell"]["levels"].update(rate=9))), "a trial is not what it was",
    ),
    "a load of a search": (_search(_record(lambda r: r.update(identity="0" * 12))), "not what the plan asks for"),
    "a search of another report": (_search(_plan(lambda p: p.update(report=DTM))), "the search of another report"),
    "nothing": (lambda c: shutil.rmtree(c / "trials"), "nothing has been recorded"),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILT)
def test_what_does_not_fit_is_refused_and_leaves_nothing(elsewhere: Path, latest: str, said: Said, what: str) -> None:
    spoil, problem = SPOILT[what]
    spoil(elsewhere / TIDB / latest)
    shutil.copytree(elsewhere / DTM, elsewhere / TIDB / "more")
    status, text = said(elsewhere / TIDB)
    assert status in (1, 2)
    assert "refused" in text
    assert problem in text, text
    # The others are taken all the same.
    assert {folder.parent.name for folder in recorded()} == {TIDB, DTM}
    assert latest not in {folder.name for folder in recorded()}
    assert not list(paths.runs_dir("").glob(".import/*"))


def test_a_link_is_not_followed_and_not_passed_over_in_silence(elsewhere: Path, tmp_path: Path, said: Said) -> None:
    moved = (elsewhere / DTM).rename(tmp_path / "big disk")
    (elsewhere / DTM).symlink_to(moved)
    status, text = said(elsewhere)
    assert (status, DTM in {folder.parent.name for folder in recorded()}) == (0, False)
    assert f"left out: links are not followed; import what they lead to by itself: {DTM}, {TIDB}/" in text
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "runs").symlink_to(moved)
    with pytest.raises(BadInput, match=r"there is no campaign in it.*Fix: name what its links lead to .*: runs"):
        said(tmp_path / "links")
    assert said(moved)[0] == 0


def test_what_was_not_written_to_its_end_makes_no_other_campaign(elsewhere: Path, latest: str, said: Said) -> None:
    assert said(elsewhere / TIDB / latest)[0] == 0
    trials = paths.runs_dir(TIDB) / latest / "trials"
    one = sorted(trials.iterdir())[0]
    shutil.copytree(one, one.with_name(f"{one.name}.partial"))
    assert said(elsewhere / TIDB / latest)[1].count("is here already, the same") == 1


def test_every_recorded_campaign_fits_its_own_plan(replays: Path) -> None:
    for plan in replays.glob("*/*/plan.json"):
        assert foreign_campaign.check(plan.parent).id == plan.parent.name


def test_no_folder_no_campaign_and_no_inventory(tmp_path: Path, home: Home, said: Said) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="there is no campaign in it"):
        said(tmp_path / "empty")
    with pytest.raises(BadInput, match="no such folder"):
        said(tmp_path / "nowhere")
    (tmp_path / "sysbench.txt").write_text("    transactions: 100 (10.00 per sec.)\n")
    with pytest.raises(BadInput, match=r"no such folder .*what a load generator printed: `benchbook import logs`"):
        said(tmp_path / "sysbench.txt")
    shutil.make_archive(str(tmp_path / "crate"), "zip", tmp_path / "empty")
    with pytest.raises(BadInput, match=r"a zip file .*Fix: unpack it into a folder of its own"):
        said(tmp_path / "crate.zip")
    with pytest.raises(BadInput, match=r"cannot be read: File name too long"):
        said("x" * 300)
    with pytest.raises(BadInput, match=r"it names a host, but there is no --inventory.*--inventory NAME"):
        said("db1:/srv/runs")
    with pytest.raises(BadInput, match=r"no such host in the inventory.*executor, db1"):
        said("db9:/srv/runs", "lab_test")


def test_a_file_that_cannot_be_read_is_not_blamed_on_the_disk_here(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    folder = FolderHere(tmp_path / "there")
    with pytest.raises(BadInput, match=r"cannot be read: No such file or directory \(got '.*/there/plan.json'\)"):
        folder.copy("plan.json", tmp_path / "here.json")
    (tmp_path / "there" / "plan.json").touch()
    with pytest.raises(IsADirectoryError):
        folder.copy("plan.json", tmp_path)


@pytest.mark.real
def test_a_campaign_on_a_host_comes_over_ssh(
    lab: Inventory, replays: Path, latest: str, tmp_path: Path, said: Said
) -> None:
    there = tmp_path / "there" / "data" / "runs" / TIDB
    shutil.copytree(replays / TIDB / latest, there / latest)
    (there / latest / "executed.ipynb").write_text("not a record")
    status, text = said(f"db1:{tmp_path / 'there'}", lab.name)
    assert status == 0, text
    here = paths.runs_dir(TIDB) / latest
    try:
        assert files(here) == files(replays / TIDB / latest)
        assert "is here already, the same" in said(f"db1:{there / latest}", lab.name)[1]
    finally:
        shutil.rmtree(here)
    with pytest.raises(BadInput, match="no such folder on the host"):
        said(f"db1:{tmp_path / 'nowhere'}", lab.name)
