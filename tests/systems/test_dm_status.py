"""dm-ctl's answers, as DM 1.0.7 printed them in every stage of a task and in four kinds of failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable
from benchbook.systems import dm_server as dm

PRINTED_BY = FIXTURES / "dm"


def printed(name: str) -> str:
    return (PRINTED_BY / f"status_{name}.json").read_text()


@pytest.mark.parametrize(
    ("name", "where", "loaded"),
    [
        ("dumping", "unit Dump, stage Running", None),
        ("loading", "unit Load, stage Running, 5123655 of 35115992 B loaded", 5123655),
        ("finished", "unit Load, stage Finished, 35109106 of 35109106 B loaded", 35109106),
        ("syncing", "unit Sync, stage Running", None),
        # By request, which is no failure.
        ("paused_by_user", "unit Sync, stage Paused", None),
    ],
)
def test_how_far_a_task_is(name: str, where: str, loaded: int | None) -> None:
    status = dm.parse(printed(name))
    assert (status.where, status.errors, status.loaded_bytes) == (where, (), loaded)
    status.check()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("paused_dump", r"unit Dump: .*mydumper runs with error: exit status 1\. option parsing failed"),
        ("paused_load", r"unit Load: file dm_benchmark\.sbtest1\.00002\.sql: .*commit: invalid connection"),
        ("paused_sync", r"unit Sync: .*Error 1146: Table 'dm_benchmark\.sbtest2' doesn't exist"),
    ],
)
def test_paused_with_an_error_is_raised_in_dms_own_words(name: str, words: str) -> None:
    status = dm.parse(printed(name))
    assert status.stage == "Paused"
    with pytest.raises(dm.TaskPaused, match=words) as raised:
        status.check()
    assert len(str(raised.value)) < 3000


def test_equal_errors_are_said_once() -> None:
    with pytest.raises(dm.TaskPaused) as raised:
        dm.parse(printed("paused_sync")).check()
    assert str(raised.value).count("Error 1146") == 1


def test_a_dead_worker() -> None:
    with pytest.raises(dm.WorkerUnreachable, match=r"dm-worker 127\.0\.83\.39:8262: .*Unavailable") as raised:
        dm.parse(printed("worker_dead"))
    assert "github.com" not in str(raised.value)


def test_a_master_that_does_not_answer_is_no_broken_output() -> None:
    # As dm-ctl 1.0.7 printed it, with status 0, where nobody listened.
    said = (
        "can not query  task's status(in workers [127.0.98.41:8262]):\n"
        "rpc error: code = Unavailable desc = all SubConns are in TransientFailure, latest connection error: "
        'connection error: desc = "transport: Error while dialing dial tcp 127.0.98.41:8261: connect: connection '
        'refused"\n'
    )
    for read in (dm.parse, dm.confirm):
        with pytest.raises(dm.CommandRefused, match=r"dm-master does not answer: .*8261: connect: conn"):
            read(said)


def test_an_unknown_task() -> None:
    with pytest.raises(dm.UnknownTask, match="nosuch"):
        dm.parse(printed("unknown_task"))
    with pytest.raises(dm.UnknownTask, match="no sub task started"):
        dm.parse(printed("relay_paused"))


def test_a_relay_log_that_stands_still_is_a_failure() -> None:
    answer = json.loads(printed("syncing"))
    answer["workers"][0]["relayStatus"] |= json.loads(printed("relay_paused"))["workers"][0]["relayStatus"]
    status = dm.parse(json.dumps(answer))
    with pytest.raises(dm.TaskPaused, match=r"relay log: .*Access denied for user 'dm'"):
        status.check()


def test_a_message_that_carries_a_whole_insert_is_cut_and_keeps_its_cause() -> None:
    answer = json.loads(printed("paused_load"))
    result = answer["workers"][0]["subTaskStatus"][0]["result"]
    message = "execute statement failed: INSERT INTO `sbtest1` VALUES " + "(1,2)," * 100_000
    result["errors"] = [{"msg": "", "error": {"Message": message, "RawCause": "Error 1062: Duplicate entry '6327'"}}]
    with pytest.raises(dm.TaskPaused, match=r"INSERT INTO .*\.\.\. \(Error 1062: Duplicate entry '6327'\)") as raised:
        dm.parse(json.dumps(answer)).check()
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("text", ["", "fail to connect to master", "[]", "{}"])
def test_what_is_no_answer_is_named(text: str) -> None:
    with pytest.raises(OutputNotParseable):
        dm.parse(text)


def test_a_status_without_what_it_should_have_is_named() -> None:
    answer = json.loads(printed("syncing"))
    del answer["workers"][0]["subTaskStatus"][0]["unit"]
    with pytest.raises(OutputNotParseable, match="unit"):
        dm.parse(json.dumps(answer))


def worker(**fields: Any) -> str:
    return json.dumps({"op": "Stop", "result": True, "msg": "", "workers": [fields]})


def test_a_command_is_done_only_when_every_worker_says_so() -> None:
    """dm-ctl says `result: true` at the top and exits with 0 even when the worker is dead."""
    dm.confirm(worker(result=True, worker="w", msg=""))
    dm.confirm(worker(meta={"result": True, "worker": "w", "msg": ""}, op="Stop", logID="5"))
    dead = (
        "[code=38008:class=dm-master] grpc request error: connection refused\ngithub.com/pingcap/dm/pkg/terror.x\n\t/a"
    )
    with pytest.raises(dm.WorkerUnreachable, match=r"dm-worker w: .*connection refused$"):
        dm.confirm(worker(meta={"result": False, "worker": "w", "msg": dead}, op="Stop", logID="0"))
    with pytest.raises(dm.CommandRefused, match=r"dm-master: decode task config failed"):
        dm.confirm('{"result": false, "msg": "decode task config failed: yaml: line 30", "workers": []}')
