"""The memory: every figure in its tables is one of the records', and it follows them whatever becomes of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from fault_campaign import small_disks
from kit import FIXTURES, Home
from schema_check import check

import benchbook
from benchbook import paths
from benchbook.campaign.store import Campaign, recorded
from benchbook.errors import BadInput
from benchbook.frames.schema import RUN_SCHEMAS
from benchbook.memory.kept_table import TABLES

TIDB, DM = "tidb_v7_1_3_sysbench", "dm_1_0_ga"
LATEST = "20261122T091115497316-d03bde2ab846"


@pytest.fixture
def runs(home: Home) -> Path:
    target = home.path / "data" / "runs"
    shutil.copytree(FIXTURES / "replays", target)
    _settle(target)
    return target


def _settle(folder: Path) -> None:
    """As if what is there had been written a minute ago: what is new may change within a tick of the clock."""
    for path in folder.rglob("*.*"):
        about = path.stat()
        os.utime(path, ns=(about.st_atime_ns, min(about.st_mtime_ns, about.st_ctime_ns - 60 * 10**9)))


def parts(table: str) -> dict[str, tuple[int, int]]:
    """campaign -> what tells its file from another one."""
    found = (paths.memory_dir() / table).glob("*/*/part.parquet")
    return {path.parent.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def test_its_frames_are_as_described(runs: Path) -> None:
    known = benchbook.runs()
    made = [known.trials(), known.seconds("tps"), known.histograms(), known.verdicts(), known.environments()]
    for frame, schema in zip(made, RUN_SCHEMAS, strict=True):
        check(frame, schema)
        assert frame.attrs["frame"] == schema.name
        assert len(frame) or schema.name == "benchbook.runs().verdicts"


def test_trials_are_those_of_every_campaign(runs: Path) -> None:
    found = benchbook.runs().trials()
    for folder in recorded():
        mine = found[found.campaign == folder.name]
        theirs = benchbook.open_campaign(folder.name).trials()
        # DuckDB's times with a zone end at the microsecond.
        theirs["started"] = theirs.started.dt.floor("us")
        assert list(mine.trial) == list(theirs.trial)
        assert set(mine.report) == {folder.parent.name}
        for column in theirs.columns:
            values = [frame[column].astype(object).fillna("missing").tolist() for frame in (mine, theirs)]
            assert values[0] == values[1], column
    assert found.attrs["units"]["tps"] == "1/s"
    assert len(found) == sum(len(Campaign(folder).records()) for folder in recorded())


def test_seconds_histograms_and_facts_are_those_of_a_campaign(runs: Path) -> None:
    report, known = benchbook.open_campaign(LATEST), benchbook.runs(TIDB)
    for load_only in (True, False):
        theirs = report.seconds("tps", "cpu.user", load_only=load_only)
        seconds = known.seconds("tps", "cpu.user", load_only=load_only)
        mine = seconds[seconds.campaign == LATEST]
        for column in ("t", "since_s", "value"):
            assert sorted(mine[column]) == sorted(theirs[column])
        assert mine.groupby("trial", observed=True).value.sum().to_dict() == pytest.approx(
            theirs.groupby("trial", observed=True).value.sum().to_dict()
        )
    buckets = known.histograms()
    assert buckets[buckets.campaign == LATEST]["count"].tolist() == report.histograms()["count"].tolist()
    facts = known.environments()
    told = facts[(facts.campaign == LATEST) & (facts.fact == "host.kernel")].text
    assert set(told) == {host.kernel for host in report.environment.hosts.values()}


def test_sql_over_all_of_it(runs: Path) -> None:
    known = benchbook.runs()
    mean = known.sql("select campaign, avg(tps) as mean from trials where report = 'tidb_v7_1_3_sysbench' group by all")
    for campaign, value in mean.itertuples(index=False):
        assert value == pytest.approx(benchbook.open_campaign(campaign).trials().tps.mean())
    joined = known.sql("select profile, count(*) as n from trials join runs using (campaign) group by all")
    assert joined.n.sum() == len(known.trials())
    # Only what a query names is made.
    assert {path.name for path in paths.memory_dir().iterdir()} == {"trials"}
    assert known.sql("select 1 as one").one.tolist() == [1]


def test_verdicts_are_those_of_the_page(runs: Path) -> None:
    report = benchbook.open_campaign(TIDB)
    report.close()
    found = benchbook.runs().verdicts()
    told = report.claims_frame()
    assert set(found.campaign) == {report.campaign.id}
    for column in told.columns:
        pd.testing.assert_series_equal(found[column].astype(object), told[column].astype(object), check_names=False)


def test_what_fits_is_not_made_again(runs: Path) -> None:
    known = benchbook.runs()
    for name in TABLES:
        known.sql(f"select count(*) from {name}")
    before = {name: parts(name) for name in TABLES}
    assert all(len(found) == len(recorded()) for found in before.values())
    for name in TABLES:
        known.sql(f"select count(*) from {name}")
    assert {name: parts(name) for name in TABLES} == before


def test_it_follows_the_records(runs: Path) -> None:
    known, folder = benchbook.runs(), runs / TIDB / LATEST
    before, first = parts("trials"), known.trials()
    gone = sorted((folder / "trials").iterdir())[0]
    path = sorted((folder / "trials").iterdir())[1] / "record.json"
    said = json.loads(path.read_text())
    said["summary"]["tps"]["value"] = 12345.5
    path.write_text(json.dumps(said))
    shutil.rmtree(gone)
    after = known.trials()
    mine = after[after.campaign == LATEST]
    assert gone.name not in set(mine.trial)
    assert mine[mine.trial == path.parent.name].tps.tolist() == [12345.5]
    assert len(after) == len(first) - 1
    others = {name: found for name, found in parts("trials").items() if LATEST not in name}
    assert before == {}
    assert len(others) == len(recorded()) - 1


def test_a_campaign_that_is_gone_or_broken_is_in_it_no_more(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = benchbook.runs()
    known.trials()
    (other,) = [folder for folder in recorded(TIDB) if folder.name != LATEST]
    (runs / TIDB / LATEST / "plan.json").write_text("{")
    shutil.rmtree(other)
    assert set(known.trials().report) == {folder.parent.name for folder in recorded()} - {TIDB}
    assert LATEST in capsys.readouterr().err
    assert f"campaign={other.name}" not in parts("trials")


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_a_file_that_is_no_table_is_made_again(runs: Path, content: bytes | None) -> None:
    known = benchbook.runs()
    first = known.trials()
    path = next((paths.memory_dir() / "trials").glob(f"*/campaign={LATEST}/part.parquet"))
    if content is None:
        # A table, and somebody else's.
        pq.write_table(pq.read_table(path).slice(0, 1).replace_schema_metadata(None), path)
    else:
        path.write_bytes(content)
    pd.testing.assert_frame_equal(known.trials(), first)


@pytest.mark.parametrize("kind", ["disk full", "read-only"])
def test_records_are_read_where_nothing_can_be_written(tmp_path: Path, home: Home, kind: str) -> None:
    if why := small_disks.why_not():
        pytest.skip(why)
    folder = home.path / "data" / "runs"
    folder.mkdir()
    small_disks.mount(folder, 8 << 20)
    try:
        shutil.copytree(FIXTURES / "replays" / TIDB, folder / TIDB)
        _settle(folder)
        mend = small_disks.spoil(kind, folder)
        known = benchbook.runs()
        asked = "select count(*) as n, count(distinct campaign) as campaigns from trials"
        # The second time from what the first one made.
        assert [known.sql(asked).to_dict("records") for _ in range(2)] == [[{"n": 30, "campaigns": 2}]] * 2
        assert not paths.memory_dir().exists() or not list(paths.memory_dir().rglob("*.parquet"))
        mend()
        assert len(known.trials()) == 30
    finally:
        small_disks.unmount(folder)


def test_without_a_record_there_are_no_rows(home: Home) -> None:
    known = benchbook.runs()
    assert (len(known), len(known.trials()), len(known.seconds("tps"))) == (0, 0, 0)
    assert known.sql("select count(*) as n from histograms").n.tolist() == [0]


def test_bad_questions(runs: Path) -> None:
    known = benchbook.runs()
    with pytest.raises(BadInput, match=r"sql: .*trails.*Fix: the tables are runs, trials, seconds"):
        known.sql("select * from trails")
    with pytest.raises(BadInput, match=r"there is no such metric.*did you mean tps"):
        known.seconds("tpss")
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(BadInput, match="frame"):
        known.sql("select a from frame")
    assert len(frame) == 1


def test_campaigns_are_a_frame_as_before(runs: Path) -> None:
    known = benchbook.runs()
    assert isinstance(known, pd.DataFrame)
    assert type(known[known.report == TIDB]) is pd.DataFrame
    assert set(known[known.report == TIDB].campaign) == {folder.name for folder in recorded(TIDB)}
    assert set(benchbook.runs(TIDB).trials().report) == {TIDB}
