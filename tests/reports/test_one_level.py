"""A user may leave out any workload, level, table or system of any report: a claim then lacks one of its sides."""

from __future__ import annotations

from typing import Any

import pytest
from kit import ROOT, Home

from benchbook import published
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.scaled_levels import of_plan, trials_as_published
from benchbook.claims import evidence, judge, ledger
from benchbook.parameters import defaults
from benchbook.reports import forecast, planning

# One side of claims is all that is left: a workload, a table, a mode, or an engine that no published table is of.
LEFT: dict[str, dict[str, Any]] = {
    "ddt_full_scale": {"engines": ["mongodump"], "threads": ["5/15"]},
    "dm_1_0_alpha": {"tables": ["result"]},
    "dm_1_0_ga": {"tables": ["dump"]},
    "dolt_vs_mysql_sysbench": {"systems": ["dolt"], "workloads": ["oltp_insert"]},
    "dtm_mysql": {"rungs": ["no_dtm:2"], "concurrency": [10]},
    "etcd_3_2_performance": {"workloads": ["range_serializable"], "threads": [1]},
    "pgcat_pgbench": {"systems": ["pgbouncer"], "threads": [16]},
    "rocksdb_readwhilewriting": {"threads": [1]},
    "tidb_v6_2_vs_v6_1_sysbench": {"workloads": ["oltp_read_write"], "threads": [300]},
    "tidb_v7_1_3_sysbench": {"workloads": ["oltp_insert"], "threads": [50]},
    "tidb_v7_1_3_tpcc": {"threads": [50]},
}


@pytest.mark.parametrize("report", published.known_reports())
def test_claims_of_which_one_side_is_left_are_judged_or_said_not_to_be_measured(report: str, home: Home) -> None:
    there = ROOT / "env" / "hosts" / f"{defaults(report)['inventory']}.yaml"
    asking = planning.request_for(report, {"inventory": str(there), **LEFT[report]})
    found = planning.as_run_here(asking)
    trials = trials_as_published(planning.trials(asking, found), of_plan(found.asked))
    nothing = asking.kind.figures(asking.published, figures_of(of_records([])))
    names = asking.kind.systems(asking.published, trials)
    known = ledger.load(asking.published)
    assert known
    for seen in (forecast.planned(asking, trials), evidence.measured(nothing, names, trials)):
        for name in seen.systems or [""]:
            judged = judge.judge(known, asking.published, seen, judge.JudgedSystem(name, asked=found.asked))
            assert judged
            # Of nothing measured nothing is decided.
            assert seen.frames or {claim.verdict for claim in judged} == {"not run"}
