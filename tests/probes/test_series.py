"""From a probe's samples to the long table: rates by hand, counters that were reset, gaps that stay gaps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kit import until

from benchbook.analysis import cpu_use
from benchbook.hosts.agent import remote_program
from benchbook.probes.probe_file import find
from benchbook.probes.remote import host_probe
from benchbook.probes.samples import COLUMNS, Metric, to_series

COUNTER = Metric("1/s", counter=True)
MYSQL, HOST = find("mysql").metrics, find("host").metrics
KIT = {**MYSQL, **HOST}
RUNNER = remote_program("probes", "run_probe.py")


def sample(t: float, **values: float) -> dict[str, Any]:
    return {"t": t, "v": {name.replace("__", "."): value for name, value in values.items()}}


def rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    assert list(frame.columns) == COLUMNS
    return list(frame.itertuples(index=False, name=None))


def test_counters_become_rates_and_levels_stay() -> None:
    samples = [sample(10, Questions=100, Threads_running=3), sample(12, Questions=150, Threads_running=5)]
    assert rows(to_series(samples, "db1", "mysql", MYSQL)) == [
        (10, "db1", "mysql", "Threads_running", 3, "threads"),
        (12, "db1", "mysql", "Threads_running", 5, "threads"),
        (12, "db1", "mysql", "Questions", 25, "1/s"),  # 50 in 2 s
    ]


def test_a_metric_is_a_level_or_a_counter_by_its_probe_s_word_and_not_by_its_name() -> None:
    samples = [sample(1, bytes_written=5, queue__a=7), sample(3, bytes_written=9, queue__a=7)]
    declared = {"bytes_written": Metric("B"), "queue.*": Metric("ms/s", counter=True)}
    assert rows(to_series(samples, "h", "s", declared)) == [
        (1, "h", "s", "bytes_written", 5, "B"), (3, "h", "s", "bytes_written", 9, "B"),
        (3, "h", "s", "queue.a", 0, "ms/s"),
    ]  # fmt: skip


def counted(*pairs: tuple[float, float]) -> list[dict[str, Any]]:
    return [sample(t, A=value) for t, value in pairs]


@pytest.mark.parametrize(
    ("samples", "rates"),
    [
        # A counter that was reset leaves its interval out.
        (counted((1, 100), (2, 160), (3, 5), (4, 25)), [(2, 60), (4, 20)]),
        # After a clock that was set back rates go on with the next sample.
        (counted((10, 0), (11, 7), (2, 10), (3, 15), (4, 24)), [(11, 7), (3, 5), (4, 9)]),
        # No rate is drawn across a gap.
        ([*counted((1, 0)), {"t": 2, "error": "server has gone away"}, *counted((3, 30), (4, 70))], [(4, 40)]),
    ],
)
def test_rates_of_what_is_counted(samples: list[dict[str, Any]], rates: list[tuple[float, float]]) -> None:
    found = to_series(samples, "h", "s", {"A": COUNTER})
    assert list(zip(found.t, found.value, strict=True)) == rates


def test_a_last_sample_right_behind_a_tick_makes_no_rate_of_milliseconds() -> None:
    """One more in 4 ms would be 250 a second; its level counts."""
    samples = [sample(t, A=100.0 * t) for t in (1.0, 2.0, 3.0)] + [sample(3.004, A=301.0)]
    found = to_series(samples, "h", "s", {"A": COUNTER})
    assert found.value.tolist() == [100.0, 100.0]
    levels = to_series(samples, "h", "s", {"A": Metric("1")})
    assert levels.value.tolist() == [100.0, 200.0, 300.0, 301.0]
    late = [sample(t, A=100.0 * t) for t in (1.0, 2.0, 2.996, 3.0, 4.0, 5.0)]
    assert to_series(late, "h", "s", {"A": COUNTER}).value.tolist() == pytest.approx([100.0] * 4)


def test_cores_in_use_leave_out_what_is_not_use() -> None:
    seconds = {"cpu__user": 1.2, "cpu__system": 0.4, "cpu__idle": 0.3, "cpu__iowait": 0.1, "cpu__steal": 0.05}
    samples = [sample(1, **dict.fromkeys(seconds, 0)), sample(2, **seconds)]
    frame = pd.concat(
        [to_series(samples, host, source, KIT) for host, source in (("a", "host"), ("a", "mysql"), ("b", "host"))]
    )
    found = cpu_use.over_time(frame)
    assert [(host, t) for host, t in zip(found.host, found.t, strict=True)] == [("a", 2), ("b", 2)]
    assert found.busy.tolist() == [pytest.approx(1.65)] * 2  # user + system + steal


def test_what_is_made_of_other_disks_or_interfaces_is_not_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("block/sda/slaves", "block/dm-0/slaves/sda", "block/md0/slaves/sda", "block/loop0", "block/nvme0n1",
                   "net/eth0", "net/bond0/lower_eth0", "net/lo"):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(host_probe, "BLOCK", str(tmp_path / "block"))
    monkeypatch.setattr(host_probe, "INTERFACES", str(tmp_path / "net"))
    assert host_probe.whole_disks.__wrapped__() == {"sda", "nvme0n1"}
    made_of_others = host_probe.is_made_of_others.__wrapped__
    assert [name for name in ("eth0", "bond0", "lo", "gone") if made_of_others(name)] == ["bond0"]


def test_the_processors_that_a_program_is_bound_to_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stat := tmp_path / "stat").write_text("cpu  300 0 100 400 0 0 0 0\ncpu0 300 0 50 0\ncpu1 0 0 50 400\nctxt 7\n")
    monkeypatch.setattr(host_probe, "lines", lambda path: stat.read_text().splitlines())
    monkeypatch.setattr(host_probe, "TICK", 100)
    monkeypatch.setattr(host_probe.os, "sched_getaffinity", lambda pid: {1})
    found = dict(host_probe.cpu())
    assert (found["cpu.user"], found["cpu.idle"], found["ctxt"]) == (3.0, 4.0, 7)
    assert {name: value for name, value in found.items() if name.startswith("bound.")} == {
        "bound.user": 0.0, "bound.nice": 0.0, "bound.system": 0.5, "bound.idle": 4.0,
    }  # fmt: skip
    # All of them, or those of a container that sees no others, by numbers of their own; or a part of these.
    for allowed in ({0, 1}, {6, 7}, {6}, {1, 6}):
        monkeypatch.setattr(host_probe.os, "sched_getaffinity", lambda pid, allowed=allowed: allowed)
        assert not any(name.startswith("bound.") for name in dict(host_probe.cpu()))


@pytest.mark.real
def test_the_host_probe_samples_this_host_and_its_last_sample_is_at_its_end(tmp_path: Path) -> None:
    out = tmp_path / "samples"
    probe = subprocess.Popen([sys.executable, str(RUNNER), str(out), "0.05", str(find("host").path), "{}"])
    try:
        until(lambda: out.exists() and len(out.read_text().splitlines()) >= 3, "three samples")
    finally:
        probe.terminate()
    assert probe.wait(timeout=30) == 0
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    frame = to_series(samples, "here", "host", HOST)
    assert {"cpu.user", "cpu.idle", "load.1min", "memory.available", "procs_running", "disk.reads"} <= set(frame.metric)
    assert {"loopback.received_bytes", "disk.written_bytes"} <= set(frame.metric)
    assert (frame[frame.metric == "speed"].value > 100).all(), (
        "a piece of work takes less than 10 ms of any core's time"
    )
    assert (frame.value >= 0).all()
    assert frame.unit.notna().all()
