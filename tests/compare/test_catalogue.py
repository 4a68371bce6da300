"""The catalogue: every figure in its tables is one of the records', and it follows them whatever becomes of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from fault_campaign import small_disks
from kit import FIXTURES, Home
from schema_check import check

import benchbook
from benchbook.campaign.store import Campaign, recorded
from benchbook.compare.catalogue import TABLES
from benchbook.errors import BadInput

TIDB, DM = "tidb_v7_1_3_sysbench", "dm_1_0_ga"
LATEST = "20261122T091115497316-d03bde2ab846"


def test_its_frames_are_as_described(runs: Path) -> None:
    known = benchbook.catalogue()
    made = [known.trials(), known.seconds("tps"), known.histograms(), known.verdicts(), known.environments()]
    # Its first table is `benchbook.runs()`.
    for frame, schema in zip(made, list(TABLES.values())[1:], strict=True):
        check(frame, schema)
        assert frame.attrs["frame"] == schema.name
        assert len(frame) or schema.name == "benchbook.catalogue().verdicts"


def test_trials_are_those_of_every_campaign(runs: Path) -> None:
    found = benchbook.catalogue().trials()
    for folder in recorded():
        mine = found[found.campaign == folder.name]
        theirs = benchbook.open_campaign(folder.name).trials()
        assert list(mine.trial) == list(theirs.trial)
        assert set(mine.report) == {folder.parent.name}
        for column in theirs.columns:
            values = [frame[column].astype(object).fillna("missing").tolist() for frame in (mine, theirs)]
            assert values[0] == values[1], column
    assert found.attrs["units"]["tps"] == "1/s"
    assert len(found) == sum(len(Campaign(folder).records()) for folder in recorded())


def test_seconds_histograms_and_facts_are_those_of_a_campaign(runs: Path) -> None:
    report, known = benchbook.open_campaign(LATEST), benchbook.catalogue(TIDB)
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
    known = benchbook.catalogue()
    mean = known.sql("select campaign, avg(tps) as mean from trials where report = 'tidb_v7_1_3_sysbench' group by all")
    for campaign, value in mean.itertuples(index=False):
        assert value == pytest.approx(benchbook.open_campaign(campaign).trials().tps.mean())
    joined = known.sql("select profile, count(*) as n from trials join runs using (campaign) group by all")
    assert joined.n.sum() == len(known.trials())
    samples = known.sql("select count(*) as n from seconds where in_load and metric = 'tps' and source = 'sysbench'")
    assert samples.n.tolist() == [len(known.seconds("tps", source="sysbench"))]
    assert known.sql("select 1 as one").one.tolist() == [1]


def test_verdicts_are_those_of_the_page(runs: Path) -> None:
    report = benchbook.open_campaign(TIDB)
    report.finish()
    found = benchbook.catalogue().verdicts()
    told = report.claims_frame()
    assert set(found.campaign) == {report.campaign.id}
    for column in told.columns:
        pd.testing.assert_series_equal(found[column].astype(object), told[column].astype(object), check_names=False)


def test_it_follows_the_records(runs: Path) -> None:
    known, folder = benchbook.catalogue(), runs / TIDB / LATEST
    first = known.trials()
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


def test_a_campaign_that_is_gone_or_broken_is_in_it_no_more(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = benchbook.catalogue()
    known.trials()
    (other,) = [folder for folder in recorded(TIDB) if folder.name != LATEST]
    (runs / TIDB / LATEST / "plan.json").write_text("{")
    shutil.rmtree(other)
    assert set(known.trials().report) == {folder.parent.name for folder in recorded()} - {TIDB}
    assert LATEST in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["disk full", "read-only"])
def test_records_are_read_where_nothing_can_be_written(tmp_path: Path, home: Home, kind: str) -> None:
    if why := small_disks.why_not():
        pytest.skip(why)
    folder = home.path / "data" / "runs"
    folder.mkdir()
    small_disks.mount(folder, 8 << 20)
    try:
        shutil.copytree(FIXTURES / "replays" / TIDB, folder / TIDB)
        mend = small_disks.spoil(kind, folder)
        known = benchbook.catalogue()
        asked = "select count(*) as n, count(distinct campaign) as campaigns from trials"
        assert [known.sql(asked).to_dict("records") for _ in range(2)] == [[{"n": 30, "campaigns": 2}]] * 2
        assert not list(folder.glob("*/*/trials.parquet"))
        mend()
        assert len(known.trials()) == 30
    finally:
        small_disks.unmount(folder)


def test_without_a_record_there_are_no_rows(home: Home) -> None:
    known = benchbook.catalogue()
    assert (len(known.runs()), len(known.trials()), len(known.seconds("tps"))) == (0, 0, 0)
    assert known.sql("select count(*) as n from histograms").n.tolist() == [0]


def test_bad_questions(runs: Path) -> None:
    known = benchbook.catalogue()
    with pytest.raises(BadInput, match=r"sql: .*trails.*Fix: the tables are runs, trials, seconds"):
        known.sql("select * from trails")
    with pytest.raises(BadInput, match=r"there is no such metric.*did you mean tps"):
        known.seconds("tpss")
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(BadInput, match="frame"):
        known.sql("select a from frame")
    assert len(frame) == 1
