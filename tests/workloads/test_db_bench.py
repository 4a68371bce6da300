"""RocksDB's db_bench: what it prints, and what its library has counted."""

from __future__ import annotations

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable
from benchbook.hosts.agent import Command, Ended
from benchbook.workloads.base import Outcome, Ran
from benchbook.workloads.db_bench import DbBench, DbBenchSize, not_done

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
        ("readrandom", {"read_bytes": 47_997_600}, "59,998 reads of 800 bytes each gave 59,998 values of 47,997,600"),
        ("overwrite", {"written_keys": 59_997}, "59,997 keys were written by 59,998 writes"),
    ],
)
def test_what_the_library_has_not_counted_was_not_done(workload: str, changed: dict[str, int], said: str) -> None:
    figures = {name: int(quantity.value) for name, quantity in outcome(TEXT).summary.items()}
    assert not_done(workload, {**figures, **changed}, 800).startswith(said)
    assert bool(not_done(workload, {**figures, **changed}, 800)) == bool(said)
