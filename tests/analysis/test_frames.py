"""The frames: what their schemas say of them is what they are, and every figure is one of the records'."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from records import record as made
from schema_check import check

import benchbook
from benchbook import plots, published
from benchbook.analysis.recorded import with_columns
from benchbook.analysis.schema import RATIOS, RUNS, SCHEMAS, as_level
from benchbook.analysis.trials import of_records
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput
from benchbook.report import Report

TIDB, DM, ALPHA, DTM, DDT = "tidb_v7_1_3_sysbench", "dm_1_0_ga", "dm_1_0_alpha", "dtm_mysql", "ddt_full_scale"
BASELINE, LATEST = "20261122T073108163287-f59da35b3bef", "20261122T091115497316-d03bde2ab846"
POINT = "r01-tidb-oltp_point_select-threads1"


@pytest.fixture
def report(runs: Path) -> Report:
    return benchbook.open_campaign(TIDB)


def frames(report: Report) -> dict[str, pd.DataFrame]:
    made = [
        report.trials(), report.seconds(), report.histograms(), report.cpu(), report.published_frame(),
        report.beside_frame(), report.claims_frame(),
    ]  # fmt: skip
    return {frame.attrs["frame"]: frame for frame in made}


@pytest.mark.parametrize("name", [TIDB, DM, ALPHA, DTM, DDT])
def test_the_frames_of_every_report_are_as_described(runs: Path, name: str) -> None:
    found = frames(benchbook.open_campaign(name))
    for schema in SCHEMAS:
        call = schema.call.partition("(")[0]
        if call in found:
            check(found[call], schema)
            # Of every frame something must be there, or nothing was checked; sagas and transfers have no histogram.
            assert len(found[call]) or (call == "report.histograms" and name in (DTM, DDT))


def test_the_frames_of_several_campaigns_are_as_described(runs: Path) -> None:
    made = (benchbook.runs(), benchbook.ratios(TIDB))
    for frame, schema in zip(made, (RUNS, RATIOS), strict=True):
        check(frame, schema)
        assert frame.attrs["frame"] == schema.name


def test_levels_come_in_the_order_in_which_they_were_printed(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials run in a shuffled order, which was that of a figure's panels; a workload of a user's own comes last."""
    records = [
        record.model_copy(update={"levels": {**record.levels, "workload": workload}})
        for record, workload in zip(
            report.records, ("mine", "oltp_insert", "oltp_read_write", "oltp_point_select"), strict=False
        )
    ]
    monkeypatch.setattr(Campaign, "records", lambda _: records)
    assert list(report.figures("tps").workload.cat.categories) == [
        "oltp_point_select",
        "oltp_read_write",
        "oltp_insert",
        "mine",
    ]


def test_a_level_with_the_name_of_a_column_is_told_from_it(runs: Path) -> None:
    assert (as_level("table"), as_level("threads")) == ("table_level", "threads")
    frame = of_records([made("a", table="sync", levels={"table": "sbtest1", "threads": 4})])
    assert frame[["table", "table_level", "threads"]].astype(object).to_numpy().tolist() == [["sync", "sbtest1", 4]]
    assert set(benchbook.open_campaign(DM).beside_frame().table) >= set(benchbook.open_campaign(DM).published.tables)


def test_a_trial_s_row_is_its_record(report: Report) -> None:
    frame = report.trials().set_index("trial")
    kept = json.loads((report.campaign.folder / "trials" / POINT / "record.json").read_text())
    row = frame.loc[POINT]
    assert (row.threads, row.repetition, row.workload) == (1, 1, "oltp_point_select")
    assert row.tps == kept["summary"]["tps"]["value"]
    assert row.duration_s == pytest.approx(kept["ended"] - kept["started"])
    assert row.started.timestamp() == pytest.approx(kept["started"], abs=1e-5)
    assert (report.trials().attrs["units"]["tps"], len(frame)) == ("1/s", 18)
    assert report.trials().attrs["campaign"] == LATEST


def test_what_a_campaign_left_out_has_an_empty_column_where_it_is_asked_for(runs: Path) -> None:
    report = benchbook.open_campaign(ALPHA)
    found = report.trials("threads", "qps_replace", "component")
    assert list(found.columns) == [*report.trials().columns, "qps_replace", "component"]
    assert found[["qps_replace", "component"]].isna().all(axis=None)
    assert found.attrs["units"]["qps_replace"] == "1/s"
    pd.testing.assert_series_equal(found.threads, report.trials().threads)
    with pytest.raises(BadInput, match=r"no such column .got 'qps_replaced'.*did you mean qps_replace"):
        report.trials("qps_replaced")


@pytest.mark.parametrize("name", ["p955_ms", "p9_ms", "latenzy_p95_ms"])
def test_a_misspelt_percentile_is_no_empty_column(report: Report, name: str) -> None:
    assert report.trials("p99_ms").p99_ms.isna().all()
    with pytest.raises(BadInput, match=f"no such column .got '{name}'"):
        report.trials(name)


def test_a_level_that_a_published_table_holds_fixed_has_a_column_where_it_is_asked_for(runs: Path) -> None:
    """A dump of DM has no workload: a notebook that asks for one broke off after all its trials."""
    trials = benchbook.open_campaign(DM).trials()
    dumps = trials[trials.table == "dump"].drop(columns=["workload", "worker_count"])
    found = with_columns(dumps, ["workload", "worker_count"], published.load(DM))
    assert (len(found), found[["workload", "worker_count"]].isna().all(axis=None)) == (1, True)


def test_seconds_are_the_parquet_s_rows_within_the_load(report: Report) -> None:
    frame = report.seconds("tps", source="sysbench", trials=[POINT])
    kept = pd.read_parquet(report.campaign.folder / "trials" / POINT / "series.parquet")
    kept = kept[(kept.metric == "tps") & (kept.source == "sysbench")]
    every = report.seconds("tps", source="sysbench", trials=[POINT], load_only=False)
    assert every.value.tolist() == kept.value.tolist()
    assert set(frame.value) <= set(kept.value)
    # sysbench reports after each of its 2 s.
    assert frame.since_s.round().tolist() == [float(i + 1) for i in range(len(frame))]
    assert set(frame.unit) == {"1/s"}


def test_loads_that_ended_before_a_rate_was_printed_have_an_empty_figure_and_no_error(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As sysbench's of a second: of six, two had no line (--time=1, --report-interval=1)."""
    series = Campaign.series
    monkeypatch.setattr(Campaign, "series", lambda self, id: series(self, id).query("source != 'sysbench'"))
    frame = report.seconds("tps", source="sysbench")
    assert (len(frame), {"workload", "threads"} <= {*frame.columns}) == (0, True)
    assert plots.over_time(frame, row="workload", column="threads")
    with pytest.raises(BadInput, match="no such source"):
        report.seconds("cpu.idle", source="hots")


def test_a_histogram_holds_every_request_once(report: Report) -> None:
    frame = report.histograms([POINT])
    events = report.trials().set_index("trial").loc[POINT].events
    assert frame["count"].sum() == events
    assert set(frame.trial) == {POINT}


def test_published_stands_beside_measured_as_the_tables_have_it(report: Report) -> None:
    frame = report.beside_frame()
    (row,) = frame[(frame.table == "oltp_point_select") & (frame.threads == 50) & (frame.metric == "tps")].to_dict(
        "records"
    )
    mine = report.trials().query("workload == 'oltp_point_select' and threads == 1").tps
    assert (row["published"], row["n"], row["unit"]) == (35309, 3, "1/s")
    assert row["measured"] == pytest.approx(mine.mean())
    # Student's t with 2 degrees of freedom: 4.3027.
    assert row["high"] - row["measured"] == pytest.approx(4.3027 * mine.std() / 3**0.5, rel=1e-4)
    assert "threads 100 → 3" not in frame.attrs["scaled"][:5]
    assert "published → here" in frame.attrs["scaled"]
    printed = report.published_frame().query("table == 'oltp_point_select' and threads == 50 and metric == 'tps'")
    assert printed[["value", "printed"]].values.tolist() == [[35309.0, "35309"]]


def test_ratios_are_of_the_latest_two(runs: Path) -> None:
    frame = benchbook.ratios(TIDB)
    old, new = (benchbook.open_campaign(name).trials() for name in (BASELINE, LATEST))
    (row,) = frame.query("table == 'oltp_read_write' and levels == 'threads 1' and metric == 'tps'").to_dict("records")
    means = [one.query("workload == 'oltp_read_write' and threads == 1").tps.mean() for one in (old, new)]
    assert [row["a"], row["b"]] == pytest.approx(means)
    assert frame.attrs["a"] == BASELINE
    assert frame.attrs["sentence"] == "Undecided in 12 cells."


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda report: report.seconds("tsp"), r"no such metric \(got 'tsp'\)\. Fix: did you mean tps"),
        (lambda report: report.seconds(source="sysbnech"), "did you mean sysbench"),
        (lambda report: report.histograms(["r09"]), "no such trial"),
        (lambda report: benchbook.open_campaign("tibd"), "no such recorded campaign"),
        (lambda report: plots.repetitions(report.trials(), "tps", x="workload", panel="table"), "needs numbers"),
        (lambda report: plots.levels(report.beside_frame(), "tps", x="workload", panel="table"), "needs numbers"),
        (lambda report: plots.measures(report.beside_frame(), ["tps"], x="workload"), "needs numbers"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_exist_is_told_which_do(report: Report, call: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        call(report)  # type: ignore[operator]
