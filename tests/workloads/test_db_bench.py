"""RocksDB's db_bench: what it prints, what its library has counted, and a database of a lab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kit import FIXTURES, ROOT, Home

from benchbook import workloads
from benchbook.campaign.design import Cell, Trial
from benchbook.errors import BadInput, OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.workloads.base import Outcome, Ran
from benchbook.workloads.db_bench import DbBench, DbBenchSize, not_done

GUIDE_S_FILE = ROOT / "tests" / "project" / "own_workloads" / "my_db_bench.yaml"
# Recorded; its lines of rocksdb.number.keys.read and rocksdb.bytes.read were added in the form of later runs of 7.8.3.
TEXT = (FIXTURES / "logs" / "db_bench_statistics.txt").read_text()
LOAD = DbBench(DbBenchSize(records=20_000, time_s=3), [], 1)


def outcome(text: str) -> Outcome:
    return LOAD.outcome([Ran("client", Command(["db_bench"], 1), Ended("exited", 0, None, 1000.0, 1010.0), text, "")])


def test_figures_histogram_and_seconds_are_those_that_are_printed() -> None:
    found = outcome(TEXT)
    wanted = {
        "tps": 19255, "op_mean_ms": 0.10248, "p99_ms": 0.04556, "write_p99_ms": 0.065428571, "events": 59_998,
        "read_keys": 59_998, "read_bytes": 47_998_400, "written_keys": 16_664, "stalled_s": 0, "total_time_s": 3.116,
    }  # fmt: skip
    assert {name: found.summary[name].value for name in wanted} == pytest.approx(wanted)
    assert (found.histogram[0], found.histogram[-1]) == ((0.001, 527), (110.0, 4))
    assert sum(count for _, count in found.histogram) == 59_998
    # Readers 1 and 2; the writer, 0, is left out. By second 1: 9,000/1.034485 + 11,000/1.095194 = 18,743.9 reads.
    # By second 2: 9,000 + 11,000 x 0.965515/1.097286 and 11,000 + 13,000 x 0.904806/1.078202, which is 40,588.4.
    assert list(found.series.value) == pytest.approx([18_743.9, 21_844.4], abs=0.2)
    assert list(found.series.t) == pytest.approx([1010 - 3.116 + 1, 1010 - 3.116 + 2])


def test_the_rate_is_the_sum_of_its_readers_once_all_have_told_theirs() -> None:
    LOAD._threads = {"1", "2"}
    told = [rate for line in TEXT.splitlines() if (rate := LOAD.rate_in(line))]
    assert told == [(1.095194, 8700.0 + 10043.9), (2.131771, 10024.7 + 10043.9), (2.173396, 10024.7 + 12057.1)]


def test_output_that_is_cut_is_no_outcome() -> None:
    with pytest.raises(OutputNotParseable, match="written_keys"):
        outcome(TEXT.partition("STATISTICS")[0])


@pytest.mark.parametrize(
    ("workload", "changed", "said"),
    [
        ("readwhilewriting", {}, ""),
        ("overwrite", {"written_keys": 59_998, "read_keys": 0, "read_bytes": 0}, ""),
        ("readwhilewriting", {"found": 19_998}, "8,001 of 27,999 keys were not found"),
        (
            "readrandom",
            {"read_bytes": 47_997_600},
            "59,998 reads of 800 bytes each are, as RocksDB counts, 59,998 ",
        ),
        ("readrandom", {"read_keys": 59_997}, "59,998 reads of 800 bytes each are, as RocksDB counts, 59,997 "),
        ("overwrite", {"written_keys": 59_997}, "59,997 keys were written by 59,998 writes"),
    ],
)
def test_what_the_library_has_not_counted_was_not_done(workload: str, changed: dict[str, int], said: str) -> None:
    figures = {name: int(quantity.value) for name, quantity in outcome(TEXT).summary.items()}
    assert not_done(workload, {**figures, **changed}, 800).startswith(said)
    assert bool(not_done(workload, {**figures, **changed}, 800)) == bool(said)


def test_updates_that_a_histogram_of_the_library_lost_are_no_lost_reads() -> None:
    """As 657,124,000 bytes of 823,248 reads of 800 were printed, 1,843 short; of 59,998 they would be 46,524,000."""
    lost = TEXT.replace("COUNT : 59998 SUM : 47998400", "COUNT : 59998 SUM : 46524000")
    assert lost != TEXT
    figures = {name: int(quantity.value) for name, quantity in outcome(lost).summary.items()}
    assert not_done("readwhilewriting", figures, 800) == ""
    missed = lost.replace("rocksdb.bytes.read COUNT : 47998400", "rocksdb.bytes.read COUNT : 47997600")
    figures = {name: int(quantity.value) for name, quantity in outcome(missed).summary.items()}
    assert not_done("readwhilewriting", figures, 800).endswith("59,998 reads that gave 47,997,600 bytes together")


def _trial(workload: str, num: int = 1000) -> Trial:
    levels: dict[str, Any] = {"workload": workload, "threads": 2, "num": num}
    cell = Cell(table="hot_keys", system="rocksdb", levels=levels)
    return Trial(id=workload, identity="x", cell=cell, repetition=1, order=0)


@pytest.mark.real
@pytest.mark.slow
def test_a_database_is_filled_read_and_proved_and_a_lost_key_fails_the_trial(
    start_lab: Callable[..., Inventory], net: str
) -> None:
    hosts = {"client": {"address": f"{net}.73", "roles": ["client"]}}
    inventory = start_lab("lab_rocks", hosts)
    load = DbBench(DbBenchSize(records=5000, value_bytes=100, time_s=1), ["--bloom_bits=10"], 1)
    trials = LoadTrials(
        inventory, load_profile("tiny").model_copy(update={"reset": "restore"}), ["rocksdb"], load, time_s=1, rate=0
    )
    with trials.running() as environment:
        assert environment.load_generator.startswith("db_bench version ")
        about = trials.begin([_trial("readwhilewriting", 1000)], lambda said: None)["rocksdb"]
        assert about.config["variables"]["compression"] == "kNoCompression"
        # All that there are, of more.
        for workload, num in (("readwhilewriting", 1000), ("readrandom", 10**9), ("overwrite", 10**9)):
            found = trials.measure(_trial(workload, num), lambda second, rate: None)
            assert found.summary["events"].value == sum(count for _, count in found.histogram) > 10
            assert found.proof["keys"]["found"] == 5000
        _without_a_key(trials)
        load.options = ["--bloom_bits=many"]
        with pytest.raises(BadInput, match="illegal value 'many' specified for int32 flag 'bloom_bits'"):
            load.check_options(trials._driver.clients[0], "readrandom")


@pytest.mark.real
@pytest.mark.slow
def test_the_guide_s_file_runs_it_too_with_its_answers(
    start_lab: Callable[..., Inventory], lab_home: Home, net: str
) -> None:
    lab_home.write("env/workloads/my_db_bench.yaml", GUIDE_S_FILE.read_text())
    hosts = {"client": {"address": f"{net}.74", "roles": ["client"]}}
    inventory, found = start_lab("lab_rocks", hosts), workloads.generator("my_db_bench")
    load = found(found.Size.model_validate({"records": 5000, "time_s": 1}), ["--bloom_bits=10"], 1)
    profile = load_profile("tiny").model_copy(update={"reset": "restore"})
    trials = LoadTrials(inventory, profile, ["rocksdb"], load, time_s=1, rate=0)
    with trials.running():
        trials.begin([_trial("readrandom")], lambda said: None)
        for workload, answers in (("readrandom", {"keys", "found"}), ("overwrite", {"keys"})):
            outcome = trials.measure(_trial(workload), lambda second, rate: None)
            assert outcome.summary["events"].value > 10
            assert set(outcome.proof["answers"]) == answers
            assert outcome.proof["answers"]["keys"] == "`keys` is 5,000 (records 5,000)"


def _without_a_key(trials: LoadTrials) -> None:
    """Taken out behind the kit's back, by RocksDB's own tool; what was kept comes back."""
    host, system = trials._driver.clients[0], trials._systems["rocksdb"]
    database = [host.require_program("ldb", package="rocksdb-tools"), f"--db={system.data(host)}"]
    first = host.run([*database, "scan", "--no_value", "--max_keys=1", "--key_hex"]).stdout.split()[0]
    host.run([*database, "delete", "--key_hex", first])
    with pytest.raises(WorkloadFailed, match=r"RocksDB holds 4,999 keys after the load|keys were not found|reads of"):
        trials.measure(_trial("readrandom", 10**9), lambda second, rate: None)
    trials.begin([_trial("readrandom", 1000)], lambda said: None)
    assert system.row_counts(host, system.endpoints()[0], "", ["default"]) == {"default": 5000}
