"""The sysbench loads inside the reports of DM and DTM are asked for their options before any data are prepared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from kit import INVENTORY, Home

from benchbook.campaign.design import Cell, Levels, Trial
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.dm.replication import DmReplication
from benchbook.reports.dm.task import SYNC
from benchbook.reports.saga.ladder import SYSBENCH, SagaLadder


def block(table: str, levels: Levels) -> list[Trial]:
    cell = Cell(table=table, system="mysql57", levels=levels)
    return [Trial(id="one", identity="x", cell=cell, repetition=1, order=0)]


def refuses(*where: str) -> None:
    raise BadInput("invalid option", key=where[-1])


def never(*_: object) -> None:
    raise AssertionError("data were prepared")


def silent(*_: object) -> None:
    return None


def test_of_dtm_s_report(home: Home) -> None:
    ladder = SagaLadder(load_inventory(INVENTORY), load_profile("tiny"), cast(Any, None), time_s=1, accounts=1)
    parts: dict[str, Any] = {
        "_session": SimpleNamespace(reach=silent, tuning={}),
        "_dtm": SimpleNamespace(servers=SimpleNamespace(stop=silent)),
        "_business": SimpleNamespace(servers=SimpleNamespace(stop=silent)),
        "_store": "store",
        "_stores": {"mysql57": "store"},
        "_driver": SimpleNamespace(check_options=refuses),
        "_start": SimpleNamespace(bring=never),
    }
    vars(ladder).update(parts)
    with pytest.raises(BadInput, match="oltp_write_only: invalid option"):
        ladder.begin(block(SYSBENCH, {"workload": "oltp_write_only", "threads": 1}), silent)


def test_of_dm_s_reports_where_they_have_a_load(home: Home) -> None:
    generator = SimpleNamespace(check_options=refuses)
    trials = DmReplication(
        load_inventory(INVENTORY), load_profile("tiny"), cast(Any, None), cast(Any, generator), time_s=1, rate=0
    )
    pipeline = SimpleNamespace(
        session=SimpleNamespace(reach=silent, tuning={}), client="executor", begin=never, stop=silent, about=dict
    )
    parts: dict[str, Any] = {"pipeline": pipeline, "_pipelines": {"mysql57": pipeline}}
    vars(trials).update(parts)
    with pytest.raises(BadInput, match="oltp_insert: invalid option"):
        trials.begin(block(min(SYNC), {"workload": "oltp_insert", "threads": 1}), silent)
    pipeline.begin = silent
    assert trials.begin(block("full", {"pool": 1}), silent) == {}
