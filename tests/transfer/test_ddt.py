"""The adapter for DDT: every knob mapped, its log read, and a whole run of a program that behaves as the jar does."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchbook.errors import BadInput, OutputNotParseable, WorkloadFailed
from benchbook.transfer import dataset, ddt
from benchbook.transfer.dataset import DocumentSet
from benchbook.transfer.proof import prove
from benchbook.transfer.settings import MongoEndpoint

from .conftest import Server

LEVELS = ddt.Levels(source_threads=6, target_threads=24, cache_bucket_size=48, cache_bucket_num=47, batch_size=128)
SOURCE, TARGET = MongoEndpoint("mongodb://127.0.82.1:27017/"), MongoEndpoint("mongodb://127.0.82.2:27017/")


def test_every_knob_is_mapped() -> None:
    lines = ddt.properties(LEVELS, SOURCE, TARGET, r"ddt\..+").splitlines()
    assert lines == [
        "workName=benchbook",
        "sourceDsUrl=mongodb://127.0.82.1:27017/",
        "targetDsUrl=mongodb://127.0.82.2:27017/",
        "syncMode=all",
        "fullType=sync",
        "dbTableWhite=ddt\\\\..+",
        "sourceThreadNum=6",
        "targetThreadNum=24",
        "createIndexThreadNum=2",
        "bucketSize=48",
        "bucketNum=47",
        "batchSize=128",
        "clusterInfoSet=2,3",
    ]


def test_a_password_is_in_the_file_only_and_escaped_for_a_url() -> None:
    secret = MongoEndpoint("mongodb://me@127.0.82.1:27017/?authSource=admin", "p@ss/word")
    text = ddt.properties(LEVELS, secret, TARGET, "ddt.+")
    assert "sourceDsUrl=mongodb://me:p%40ss%2Fword@127.0.82.1:27017/?authSource=admin\n" in text


@pytest.mark.parametrize(("key", "value"), [("source_threads", 1), ("target_threads", 3), ("cache_bucket_num", 0)])
def test_levels_that_ddt_would_replace_are_refused(key: str, value: int) -> None:
    with pytest.raises(BadInput, match="DDT takes"):
        ddt.properties(replace(LEVELS, **{key: value}), SOURCE, TARGET, "ddt.+")


def test_the_heap_is_bounded() -> None:
    command = ddt.command(Path("execute-1.0.jar"), Path("DDT.properties"), heap_mb=512)
    assert command == ["java", "-Xms512m", "-Xmx512m", "-jar", "execute-1.0.jar", "DDT.properties"]


def printed(time: str, text: str, level: str = "INFO ") -> str:
    return (
        f"2023-12-12 20:{time} [mongoTask_full_execute] com.whaleal.ddt.X.y(267) - {level} -- mongoTask_full {text}\n"
    )


LOG = (
    printed("55:55.986", "this full task is expected to transfer 9000 bars of data")
    + printed("56:06.000", "number of bars written:3000,time cost:10s,average write speed:300 per/s")
    + printed("56:06.001", "number of bars read:3500,time cost:10s,average read speed:350 per/s")
    + printed("56:06.001", "the average write speed of this round (10s):300 per/s")
    + printed("56:16.000", "number of bars written:8000,time cost:20s,average write speed:400 per/s")
    + printed("56:16.001", "the average write speed of this round (10s):250 per/s")
    + printed("56:26.500", "number of bars written:8000,time cost:30s,average write speed:266 per/s")
    + printed("56:36.500", "number of bars written:9000,time cost:40s,average write speed:225 per/s")
    + printed("58:40.849", "error getting full program execution,msg:/ by zero", "ERROR")
)
END = "2023-12-12 20:58:40.849 [x] com.whaleal.ddt.Y.z(447) - INFO  -- end execute task :mongoTask_full, task {}\n"


def test_rates_come_from_counts_and_times_and_not_from_what_it_calls_a_round() -> None:
    log = ddt.parse_log(LOG + END)
    assert (log.documents, log.expected, log.has_ended, log.errors) == (9000, 9000, True, [])
    # 3000 in the first 10 s, 5000 in the next 10 s (the log says 250 per/s), nothing, 1000 in the last 10 s.
    assert log.rates() == [(10.0, 300.0), (20.0, 500.0), (40.0, 100.0)]


def test_a_log_without_its_end_says_so() -> None:
    assert not ddt.parse_log(LOG).has_ended


def test_a_log_without_counts_is_not_a_count_of_zero() -> None:
    with pytest.raises(OutputNotParseable):
        ddt.parse_log(printed("55:55.986", "current task queue cache status:0"))


def test_a_log_of_errors_only_fails_with_the_last_one() -> None:
    with pytest.raises(WorkloadFailed, match="cannot connect"):
        ddt.parse_log(printed("55:55.986", "cannot connect to target", "ERROR"))


@pytest.mark.real
def test_a_whole_run_of_a_program_that_behaves_as_the_jar(
    source: Server, target: Server, database: str, tmp_path: Path
) -> None:
    dataset.load(source.endpoint, DocumentSet(6, 300, database))
    file = tmp_path / "DDT.properties"
    file.write_text(ddt.properties(LEVELS, source.endpoint, target.endpoint, rf"{database}\..+"))
    # `java -Xms.. -Xmx.. -jar JAR FILE`, with an interpreter that ignores the first three.
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\nshift 3\nexec {sys.executable} "$@"\n')
    java.chmod(0o755)
    command = ddt.command(Path(__file__).parent / "fake_ddt.py", file, heap_mb=256, java=str(java))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ))
    log = ddt.parse_log(done.stdout)
    assert (log.documents, log.expected, log.has_ended, log.errors) == (300, 300, True, [])
    prove(source.endpoint, target.endpoint, databases=database)
