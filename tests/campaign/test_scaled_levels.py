"""Scaled levels: hand-computed from cores here and published, kept in the plan, and read back as published."""

from __future__ import annotations

import pytest
from records import record

from benchbook import published
from benchbook.campaign.design import Cell, plan
from benchbook.campaign.scaled_levels import (
    KEY,
    LevelScaling,
    as_published,
    of_plan,
    scale,
    scaled,
    trials_as_published,
)
from benchbook.published import hardware
from benchbook.published.report_file import HostFact


@pytest.mark.parametrize(
    ("published", "factor", "here"),
    [
        ([50, 100, 200], 2 / 80, {50: 1, 100: 3, 200: 5}),  # 1.25, 2.5, 5
        ([100, 200, 400], 2 / 80, {100: 3, 200: 5, 400: 10}),  # 2.5, 5, 10
        ([4, 8, 16, 32], 2 / 40, {4: 1, 8: 2, 16: 3, 32: 4}),  # 0.2, 0.4, 0.8, 1.6: none below 1, no two equal
        ([200, 50], 1.0, {50: 50, 200: 200}),
    ],
)
def test_levels_scale_with_cores_stay_apart_and_are_at_least_one(
    published: list[int], factor: float, here: dict[int, int]
) -> None:
    assert scale(published, factor) == here


def test_beside_its_load_a_machine_begins_at_half_of_its_cores() -> None:
    assert scale([50, 100, 200], 2 / 80, lowest=1) == {50: 1, 100: 2, 200: 4}, "1.25 comes to 1, and twice is twice"
    assert scale([1, 1000], 2 / 24, lowest=1) == {1: 1, 1000: 83}, "one client stays one, the others are scaled"
    assert scale([300, 600, 900], 2 / 80, lowest=8) == {300: 8, 600: 16, 900: 24}, "7.5 comes to 8"
    assert scale([100, 200, 400], 2 / 80, lowest=1) == {100: 1, 200: 2, 400: 4}, "2.5 would fill 2 cores"
    assert scale([100, 200, 400], 16 / 80, lowest=8) == {100: 8, 200: 16, 400: 32}, "20, 40, 80 x 8/20"
    assert scale([], 0.5, lowest=1) == {}


def cells() -> list[Cell]:
    points = {"oltp_read_write": (50, 100, 200), "oltp_insert": (100, 200, 400)}
    return [
        Cell(table=table, system="tidb", levels={"workload": table, "threads": threads})
        for table, levels in points.items()
        for threads in levels
    ]


def test_a_level_stands_for_the_same_in_every_table_and_other_levels_stay() -> None:
    found, kept = scaled(cells(), ["threads"], cores_here=2, cores_published=80)
    assert [cell.levels["threads"] for cell in found] == [1, 3, 5, 3, 5, 10]
    assert {cell.levels["workload"] for cell in found} == {"oltp_read_write", "oltp_insert"}
    assert kept.levels["oltp_insert"] == {"threads": {"100": 3, "200": 5, "400": 10}}
    assert "threads 50 → 1, 100 → 3, 200 → 5" in kept.sentence()
    assert "2 cores here, 80 published" in kept.sentence()


def test_the_sentence_says_that_the_load_shares_the_cores() -> None:
    found, kept = scaled(cells(), ["threads"], cores_here=2, cores_published=80, clients=["threads"])
    assert [cell.levels["threads"] for cell in found] == [1, 2, 4, 1, 2, 4]
    assert "2 cores here, shared with the load, 80 published" in kept.sentence()
    levels = "threads 100 → 1, 200 → 2, 400 → 4 or 50 → 1, 100 → 2, 200 → 4"
    assert f"{levels}. The lowest level leaves half of the cores idle." in kept.sentence()
    assert [kept.here("oltp_insert", "threads", level) for level in (100, 400, 50)] == [1, 4, None]


def test_a_larger_machine_than_the_published_one_runs_the_published_levels() -> None:
    found, _ = scaled(cells(), ["threads"], cores_here=128, cores_published=80)
    assert found == cells()


def test_records_and_trials_are_read_back_at_the_published_level_that_they_stand_for() -> None:
    found, kept = scaled(cells(), ["threads"], cores_here=2, cores_published=80)
    stored = of_plan({KEY: kept.model_dump(mode="json")})
    assert stored == kept
    planned = plan(found, 1, seed=1, asked={})
    back = trials_as_published(planned, stored)
    assert sorted(int(t.cell.levels["threads"]) for t in back) == [50, 100, 100, 200, 200, 400]
    assert [t.id for t in back] == [t.id for t in planned]
    mine = record(table="oltp_insert", levels={"workload": "oltp_insert", "threads": 10})
    assert as_published([mine], stored)[0].levels["threads"] == 400


def test_of_a_scaling_a_page_names_the_tables_that_were_run() -> None:
    levels = {"a": {"threads": {"50": 1}}, "b": {"threads": {"400": 10}}}
    whole = LevelScaling(cores_here=2, cores_published=80, levels=levels)
    assert whole.of_tables_in([record(table="a")]).levels == {"a": {"threads": {"50": 1}}}
    assert whole.of_tables_in([]) == whole


@pytest.mark.parametrize(
    ("report", "cores"),
    [
        ("tidb_v7_1_3_sysbench", 80),  # 2 TiDB and 3 TiKV nodes with 16 each; of the load's host none are printed
        ("tidb_v7_1_3_tpcc", 80),
        ("tidb_v6_2_vs_v6_1_sysbench", 108),  # 3 TiDB, 3 TiKV with 16 each, 3 PD with 4; not 36 of the load
        ("etcd_3_2_performance", 24),  # 3 members with 8; not the 16 of the client
        ("dtm_mysql", 4),  # the load ran beside the servers
        ("ddt_full_scale", 40),
        ("dm_1_0_ga", 240),
        ("dm_1_0_alpha", 36),  # three hosts with 4, three with 8
    ],
)
def test_the_cores_that_served_are_read_from_the_published_hosts(report: str, cores: int) -> None:
    assert hardware.server_cores(published.load(report).report) == cores


@pytest.mark.parametrize(
    ("printed", "cores"),
    [
        ("16 vCPU, c5.4xlarge", 16),
        ("8 cores, 16 hyperthreaded (AMD Ryzen 5800X)", 8),
        ("2 x 20 cores, Intel Xeon Gold 6138", 40),
        ("2x 10-core Intel Xeon E5-2630 v4", 20),
        ("AMD EPYC 7742 64-Core", 64),
        ("Intel Xeon E5-2670 v2", None),
    ],
)
def test_cores_as_reports_print_them(printed: str, cores: int | None) -> None:
    assert hardware.cores(HostFact(name="a", cpu=printed, runs=[])) == cores


def test_processors_are_the_threads_of_the_cores_where_they_are_printed() -> None:
    assert hardware.processors(HostFact(name="a", cpu="8 cores, 16 hyperthreaded (AMD Ryzen 5800X)", runs=[])) == 16
    assert hardware.processors(HostFact(name="a", cpu="16 cores / 32 threads", runs=[])) == 32
    assert hardware.processors(HostFact(name="a", cpu="16 vCPU, c5.4xlarge", runs=[])) == 16
    assert hardware.server_processors(published.load("pgcat_pgbench").report) == 16


@pytest.mark.parametrize(
    ("report", "beside"), [("pgcat_pgbench", True), ("tidb_v7_1_3_sysbench", False), ("etcd_3_2_performance", False)]
)
def test_whether_the_published_servers_carried_their_own_load(report: str, beside: bool) -> None:
    assert hardware.loads_itself(published.load(report).report) is beside
