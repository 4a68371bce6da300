"""The gate: what interfered with a measurement is found and named, a real stall of the system is not called that."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import psutil
import pytest
from kit import until
from records import SUMMARY, record, with_values

from benchbook.analysis import checks, summary
from benchbook.campaign.validity import (
    TrialSamples,
    declared_rates,
    disturbances,
    driver_stood_still,
    of_load,
    stalls,
)
from benchbook.display import differences
from benchbook.errors import BenchbookError, HostUnreachable, HostUnusable, LeftStopped, TrialFailed
from benchbook.hosts import host_facts
from benchbook.hosts import session as sessions
from benchbook.hosts.agent import Stop, stops, stops_in
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import HostFacts
from benchbook.hosts.remote import agent
from benchbook.hosts.session import Session, clock_offset
from benchbook.probes.remote import run_probe
from benchbook.probes.samples import COLUMNS, Metric, to_series
from benchbook.probes.watch import Watched, of_trial, watching

# A load of 10 s: what stands still for a second at most is tolerated.
STARTED, ENDED = 1000.0, 1010.0


def probed(*times: float, host: str = "db1", late: float = 0.0, step: float = 0.0) -> list[tuple[Any, ...]]:
    """A host's samples at these seconds of the load; the last one came so late, and after such a step of the clock."""
    rows: list[tuple[Any, ...]] = []
    for t in times:
        last = t == times[-1]
        rows += [
            (STARTED + t, host, "host", "heartbeat.late_s", late if last else 0.001, "s"),
            (STARTED + t, host, "host", "cpu.user", 1.0, "cores"),
        ]
        rows += [(STARTED + t, host, "host", "clock.step_s", step, "s")] if last and step else []
    return rows


def printed(*rates: float | None) -> list[tuple[Any, ...]]:
    """One line of rate for each second of the load; None is a line that did not come."""
    lines = [(STARTED + i, rate) for i, rate in enumerate(rates, 1) if rate is not None]
    return [(t, "executor", "sysbench", "tps", rate, "1/s") for t, rate in lines]


SECONDS = [0.5 + i for i in range(10)]
GOOD = [*probed(*SECONDS), *probed(*SECONDS, host="executor"), *printed(*[100.0] * 10)]


def look(*rows: tuple[Any, ...], ended: float = ENDED, **changes: Any) -> TrialSamples:
    said = declared_rates("sysbench", 1.0, STARTED, ended)
    known = {"summary": SUMMARY, "proof": {**said, **changes.pop("proof", {})}, **changes}
    return TrialSamples(STARTED, ended, pd.DataFrame(rows, columns=COLUMNS), **known)


def why(seen: TrialSamples) -> list[str]:
    return [each.why for each in disturbances(seen)]


def without(rows: list[tuple[Any, ...]], source: str, host: str = "") -> list[tuple[Any, ...]]:
    return [row for row in rows if row[2] != source or (host and row[1] != host)]


def test_nothing_is_wrong_with_a_good_load() -> None:
    assert why(look(*GOOD)) == []
    nothing = pd.DataFrame(columns=COLUMNS)
    assert why(TrialSamples(STARTED, ENDED, nothing, SUMMARY, {})) == [], "of which there is no series, nothing is said"


def test_an_older_record_that_knows_of_no_signs_is_not_disturbed() -> None:
    old = [row for row in GOOD if row[3] != "heartbeat.late_s"]
    known = record()
    seen = pd.DataFrame(old, columns=COLUMNS)
    assert why(TrialSamples(known.started, known.ended, seen, known.summary, known.proof)) == []


# -- what stood still -------------------------------------------------------------------------------------------------


def stop(began: float, ended: float | None, job: str = "sysbench", what: str = "command") -> dict[str, Any]:
    found = Stop("executor", job, f"{job}-1", what, STARTED + began, None if ended is None else STARTED + ended)
    return Watched(stopped=[found]).proof


@pytest.mark.parametrize(
    ("stopped", "said"),
    [
        (stop(3, 6), ["sysbench on executor was stopped (SIGSTOP) for 3.0 of 10.0 s"]),
        (stop(3, 3.2, "mariadb"), ["mariadb on executor was stopped (SIGSTOP) for 0.2 of 10.0 s"]),
        (stop(8, None, "probe-host"), ["probe-host on executor was stopped (SIGSTOP) for 2.0 of 10.0 s"]),
        (stop(-5, 1), ["sysbench on executor was stopped (SIGSTOP) for 1.0 of 10.0 s"]),
        (stop(-5, -1), []),
        (stop(11, None), []),
        (stop(3, 6, what="supervisor"), ["the supervisor of sysbench on executor stood still for 3.0 s"]),
        # Full machines wake nobody in time.
        (stop(3, 3.9, what="supervisor"), []),
    ],
)
def test_a_process_that_was_stopped_during_the_load(stopped: dict[str, Any], said: list[str]) -> None:
    assert why(look(*GOOD, proof=stopped)) == said


def test_a_child_of_a_transfer_that_was_stopped_is_seen_by_its_samples() -> None:
    def sampled(*stopped: float) -> list[tuple[Any, ...]]:
        return [
            (STARTED + i, "client", "process", "stopped.transfer", value, "processes")
            for i, value in enumerate(stopped, 1)
        ]

    assert why(look(*GOOD, *sampled(0, 0, 0, 0))) == []
    assert why(look(*GOOD, *sampled(0, 1, 2, 0))) == [
        "2 processes of transfer on client were stopped in 2 of 4 samples"
    ]


def test_a_heartbeat_that_came_late_names_host_and_probe() -> None:
    # The sample of second 6.5 came 2 s late, at 8.5: the machine stood still for 2 s at least.
    late = [*probed(0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 8.5, late=2.0), *probed(9.5), *without(GOOD, "host", "db1")]
    assert why(look(*late)) == [
        "db1 (probe host) stood still for at least 2.0 of 10.0 s: its heartbeat came that late",
        "no sample of host db1 for 3.0 s, where one comes every 1 s",
    ]


def test_what_was_late_before_the_load_is_nothing_to_it() -> None:
    assert why(look(*probed(0.5, late=3.0), *probed(*SECONDS[1:]), *printed(*[100.0] * 10))) == []


def test_a_machine_that_is_full_may_be_late_by_half_a_second() -> None:
    assert why(look(*probed(*SECONDS[:-1], 9.9, late=0.6), *printed(*[100.0] * 10))) == []


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (SECONDS[:7], "no sample of host db1 for 3.5 s, where one comes every 1 s"),  # from 6.5 to the end
        (SECONDS[4:], "no sample of host db1 for 4.5 s, where one comes every 1 s"),  # from the start to 4.5
    ],
)
def test_samples_that_are_missing_at_the_edges(times: list[float], said: str) -> None:
    assert why(look(*probed(*times), *printed(*[100.0] * 10))) == [said]


def test_of_a_long_load_a_twentieth_is_tolerated() -> None:
    """100 s: 5 s may be missing; 7 s between two samples are more than 1 + 5."""
    every = [float(i) for i in range(100)]
    six = [t for t in every if not 40 < t < 46]
    seven = [t for t in every if not 40 < t < 47]
    lines = printed(*[100.0] * 100)
    assert why(look(*probed(*six), *lines, ended=STARTED + 100)) == []
    assert len(why(look(*probed(*seven), *lines, ended=STARTED + 100))) == 1


@pytest.mark.parametrize(("timed_here", "stood_s", "found"), [(True, 2.0, 1), (True, 0.9, 0), (False, 20.0, 0)])
def test_a_driver_that_stood_still_harms_only_what_it_times(timed_here: bool, stood_s: float, found: int) -> None:
    said = [each.why for each in driver_stood_still(look(*GOOD), stood_s, timed_here=timed_here)]
    assert said == ["the driver stood still for 2.0 s, and times of this trial are taken by its clock"][:found]


# -- a disk that others use -------------------------------------------------------------------------------------------


def disk(*, busy: float, others: float, read: float = 3e6, written: float = 7e6) -> list[tuple[Any, ...]]:
    """Every second of the load: how busy the disk is, the bytes that it moves, and those of other programs."""
    metrics = [
        ("host", "disk.busy_s", busy),
        ("host", "disk.read_bytes", read),
        ("host", "disk.written_bytes", written),
    ]
    used = [("others", "disk", others), ("others", "disk.find", others * 0.9), ("others", "disk.cron", others * 0.1)]
    return [(STARTED + t, "db1", where, name, value, "") for t in SECONDS for where, name, value in (*metrics, *used)]


def hidden(*, user: float, seen: float, read: float = 0.0, written: float = 0.0) -> list[tuple[Any, ...]]:
    """Every second of the load in a container of a machine with 2 cores: `user` CPU in all, `seen` of its programs."""
    metrics = [
        *[("host", name, value) for name, value in (("cpu.user", user), ("cpu.idle", 2.0 - user))],
        *[("host", "disk.read_bytes", 5e6), ("host", "disk.written_bytes", 9e6), ("host", "disk.busy_s", 0.89)],
        *[("others", name, 0.0) for name in ("cpu", "disk")],
        *[("others", "seen.cpu", seen), ("others", "seen.read", read), ("others", "seen.written", written)],
    ]
    return [(STARTED + t, "db1", where, name, value, "") for t in SECONDS for where, name, value in metrics]


MOVED = (
    "programs that are no part of the run moved 4.0 MB/s to and from the disk, most of it by find, "
    "which was busy for 95% of the time"
)


@pytest.mark.parametrize(
    ("others", "read", "said"),
    [
        (4e6, 3e6, [MOVED]),
        (1e6, 3e6, []),
        # What the system itself moves says nothing of the others, and makes them neither better nor worse.
        (1e6, 0.0, []),
        (4e6, 900e6, [MOVED]),
    ],
)  # fmt: skip
def test_a_disk_that_others_use_disturbs_by_what_they_move(others: float, read: float, said: list[str]) -> None:
    found = look(*GOOD, *disk(busy=0.95, others=others, read=read))
    assert why(found) == said
    assert all(not each.hard for each in disturbances(found)), "it may count where it lasts"


def test_the_disk_that_others_used_is_kept_and_checked() -> None:
    found = look(*GOOD, *disk(busy=0.95, others=4e6)).disk_taken.proof
    assert found == {"disk_taken": {"bytes_per_s": 4_000_000, "busy": 0.95, "program": "find"}}
    (check,) = checks.disk_taken_by_others(record(proof=found))
    assert (check.ok, check.found) == (False, "4.0 MB/s for other programs (most by find), busy for 95% of the time")
    assert checks.disk_taken_by_others(record(proof=look(*GOOD).disk_taken.proof)) == []


# -- neighbours that a container hides --------------------------------------------------------------------------------


def test_what_a_container_hides_is_what_the_machine_counted_beyond_all_that_it_sees() -> None:
    """Of 1.9 cores in use 1.5 are of programs that are seen, of the disk's 5 and 9 MB/s 1 and 2."""
    found = look(*printed(*[100.0] * 10), *hidden(user=1.9, seen=1.5, read=1e6, written=2e6))
    assert found.cpu_taken.others == pytest.approx(0.2)
    # What was written for us beyond the 2 MB/s, up to as much again, may be the file system's journal.
    assert found.disk_taken.others == pytest.approx(4e6 + 5e6)
    outside = "most of it by programs outside of this container"
    assert why(found) == [
        f"20% of the CPU was used by programs that are no part of the run, {outside}",
        "programs that are no part of the run moved 9.0 MB/s to and from the disk, "
        f"{outside}, which was busy for 89% of the time",
    ]
    assert why(look(*printed(*[100.0] * 10), *hidden(user=1.9, seen=1.85, read=4e6, written=5e6))) == []


# -- cuts that no link shows ------------------------------------------------------------------------------------------


def timeouts(*per_s: float, host: str = "db1", of: str = "timeouts") -> list[tuple[Any, ...]]:
    """TCP timers that ran out, by second of the load."""
    return [(STARTED + i, host, "host", f"tcp.{of}", value, "1/s") for i, value in enumerate(per_s, 1)]


CUT = printed(100, 100, 100, 0, 0, 0, 100, 100, 100, 100)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([*CUT, *timeouts(0, 0, 0, 4, 4, 2, 0, 0, 0, 0)], ["3.0 s, in which 10 of its TCP timers ran out"]),
        # The system itself did nothing: its kernel has acknowledged all that came.
        ([*CUT, *timeouts(*[0.0] * 10)], []),
        # Connections of other programs, to what does not answer, time out all day.
        ([*CUT, *timeouts(*[2.0] * 10)], []),
        # The same, and a system that stood still from the first to the fifth second of ten: no second is far from it.
        ([*printed(100, 0, 0, 0, 0, 0, 100, 100, 100, 100), *timeouts(*[2.0] * 10)], []),
        # `lo` of a lab's network down for 5 s, as MariaDB and sysbench at 100/s were seen to bear it.
        (
            [*printed(118.8, 3.0, 0, 0, 0, 0, 0, 703.1, 100.0, 100.0), *timeouts(0, 5, 8, 10, 6, 4, 2, 0, 4, 0)],
            ["5.0 s, in which 30 of its TCP timers ran out"],
        ),
        # The same a second earlier: as much as the cut itself behind it is all of the load.
        (
            [*printed(3.0, 0, 0, 0, 0, 0, 703.1, 100.0, 100.0, 100.0), *timeouts(5, 8, 10, 6, 4, 2, 0, 4, 0, 0)],
            ["5.0 s, in which 30 of its TCP timers ran out"],
        ),
        # Nothing of a load lies apart from where nothing was done. Of 8 connections to what does not answer all 48
        # timers of 8 s were of a SYN, of 4 that stood none of 16 in 4 s (seen in a network namespace).
        ([*printed(*[0] * 10), *timeouts(*[6.0] * 10), *timeouts(*[6.0] * 10, of="syn_retransmitted")], []),
        (
            [*printed(*[0] * 10), *timeouts(*[6.0] * 10), *timeouts(*[2.0] * 10, of="syn_retransmitted")],
            ["10.0 s, in which 40 of its TCP timers ran out"],
        ),
        # A server's answers to SYNs that come again, which no timer sends, take nothing off other seconds.
        (
            [
                *printed(*[0] * 10),
                *timeouts(*[6.0] * 5, *[0.0] * 5),
                *timeouts(*[0.0] * 5, *[6.0] * 5, of="syn_retransmitted"),
            ],
            ["10.0 s, in which 30 of its TCP timers ran out"],
        ),
        # Some packets are lost in any network; the load went on.
        ([*printed(*[100.0] * 10), *timeouts(0, 0, 0, 4, 4, 2, 0, 0, 0, 0)], []),
    ],
)
def test_a_cut_in_the_middle_is_empty_seconds_in_which_tcp_got_no_answer(
    seen: list[tuple[Any, ...]], said: list[str]
) -> None:
    rows = [*without(GOOD, "sysbench"), *seen]
    expected = [f"the network of host db1 was cut: nothing was done for {each}" for each in said]
    assert why(look(*rows)) == expected


def test_a_load_that_lasts_longer_than_asked_shows_a_cut_of_a_generator_without_lines() -> None:
    quiet = without(GOOD, "sysbench")
    silent: dict[str, Any] = {"summary": with_values(total_time_s=10.0), "proof": {"asked_s": 6, "rates": None}}
    cut = look(*quiet, *timeouts(0, 0, 0, 0, 0, 0, 0, 3, 2, 0), **silent)
    assert why(cut) == [
        "the network of host db1 was cut: nothing was done for 4.0 s, in which 5 of its TCP timers ran out"
    ]
    assert why(look(*quiet, *timeouts(*[0.0] * 10), **silent)) == []


# -- clocks, lines, requests ------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_is_named_with_its_step() -> None:
    jumped = [*probed(*SECONDS[:5], step=-1.5), *probed(*SECONDS[5:]), *printed(*[100.0] * 10)]
    assert why(look(*jumped)) == ["the clock of host db1 was set by -1.50 s while the load ran"]
    # Set back to before the load: its times are those of the clock as it is at its end.
    before = [*probed(*(60 + t for t in SECONDS[:5])), *probed(5.5, step=-60.0), *probed(*SECONDS[6:])]
    assert why(look(*before, *printed(*[100.0] * 10)))[-1] == (
        "the clock of host db1 was set by -60.00 s while the load ran"
    )
    slewed = [*probed(*SECONDS[:5], step=0.0005), *probed(*SECONDS[5:]), *printed(*[100.0] * 10)]
    assert why(look(*slewed)) == []


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([100.0] * 3 + [None] * 3 + [100.0] * 4, ["the load generator printed no rate for 4.0 s: 7 lines of 10 came"]),
        ([100.0] * 6 + [None] * 4, ["the load generator printed no rate for 4.0 s: 6 lines of 10 came"]),
        ([None] * 3 + [100.0] * 7, ["the load generator printed no rate for 4.0 s: 7 lines of 10 came"]),
        ([None] * 10, ["the load generator printed no rate for 10.0 s: 0 lines of 10 came"]),
        # sysbench ends before it prints its last line, and on a full machine leaves one out.
        ([100.0] * 4 + [None] + [100.0] * 5, []),
        ([100.0] * 9 + [None], []),
    ],
)
def test_lines_that_did_not_come(rates: list[float | None], said: list[str]) -> None:
    assert why(look(*without(GOOD, "sysbench"), *printed(*rates))) == said


def test_a_request_is_never_longer_than_its_load() -> None:
    longer = with_values(latency_max_ms=11_500)
    assert why(look(*GOOD, summary=longer)) == ["a request took 11.5 s in a load of 10.0 s"]
    assert why(look(*GOOD, summary=with_values(latency_max_ms=9_900))) == []


# -- real stalls ------------------------------------------------------------------------------------------------------


def test_a_real_stall_counts_and_is_shown() -> None:
    """Nothing is done for 4 s, while hosts and generator are alive and nobody is stopped: the system's own doing."""
    stalled = look(*without(GOOD, "sysbench"), *printed(100, 100, 0, 0, 0, 0, 100, 0, 0, 100))
    assert why(stalled) == []
    assert stalls(stalled) == {"stalls": {"count": 2, "longest_s": 4.0}}
    told = summary.stalls_in_words([record("a", proof=stalls(stalled)), record("b")])
    assert told.startswith(
        "In 1 of 2 trials the system under test came to a halt, 2 times in all, for 4 s at most (a)."
    )
    assert summary.stalls_in_words([record("b")]) == ""


@pytest.mark.parametrize(
    "rates",
    [
        [100.0] * 9 + [0.0],  # one second may be the last, cut short
        [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0],  # 1.1/s: three empty seconds miss 3 transactions
        [100.0] * 10,
        [0.0] * 10,
    ],
)
def test_seconds_in_which_nothing_ends_by_chance_are_no_stall(rates: list[float]) -> None:
    assert stalls(look(*without(GOOD, "sysbench"), *printed(*rates))) == {}


# -- what the hosts tell ----------------------------------------------------------------------------------------------


def lines(*said: tuple[str, str, float]) -> list[str]:
    return [json.dumps({"job": job, "state": state, "t": t}) for job, state, t in said]


def test_stops_are_put_together_job_by_job() -> None:
    told = lines(
        ("mariadb-0a1b2c3d", "stopped", 10.0),
        ("probe-host-11111111", "stopped", 11.0),
        ("mariadb-0a1b2c3d", "continued", 12.5),
        ("mariadb-0a1b2c3d", "stopped", 20.0),
        ("sysbench-22222222", "continued", 21.0),
    )
    late = json.dumps({"job": "sysbench-22222222", "state": "late", "t": 30.0, "late_s": 4.0})
    assert stops_in("db1", [*told, late]) == [
        Stop("db1", "mariadb", "mariadb-0a1b2c3d", "command", 10.0, 12.5),
        Stop("db1", "probe-host", "probe-host-11111111", "command", 11.0, None),
        Stop("db1", "mariadb", "mariadb-0a1b2c3d", "command", 20.0, None),
        Stop("db1", "sysbench", "sysbench-22222222", "supervisor", 26.0, 30.0),
    ]


@pytest.mark.parametrize(
    ("began", "ended", "alive", "first", "concerns"),
    [
        (1, 2, True, None, False),
        (990, 999, True, None, True),  # the host's clock may be behind
        (990, 999, True, 999.5, False),  # by its own clock it was over
        (990, 1000, True, 999.5, True),
        (3, None, True, 999.5, True),  # it still stands
        (3, None, False, 999.5, False),  # it was killed as it stood, long ago
        (1001, None, False, 999.5, True),  # it was killed as it stood, in this trial
    ],
)
def test_which_stops_are_a_trial_s(
    began: float, ended: float | None, alive: bool, first: float, concerns: bool
) -> None:
    stop = Stop("a", "x", "x-1", "command", began, ended)
    found = of_trial([[stop], []], {"a": first} if first else {}, 1000.0, {"x-1"} if alive else set())
    assert found == [stop] * concerns


class Stopped:
    """A session with one host, whose MariaDB somebody stopped for a while, and then stopped again."""

    running = frozenset({"mariadb-0a1b2c3d"})

    def __init__(self) -> None:
        self.hosts, self.standing, self.name = {"db1": self}, {}, "db1"

    id = "mine"

    def path(self, *parts: str) -> str:
        return "/".join(("/work", *parts))

    def read(self, path: str) -> bytes:
        assert path == "/work/jobs/mine.stops"
        states = [("stopped", 10.0), ("continued", 12.5), ("stopped", 1_700_000_000.0)]
        return "".join(f"{line}\n" for line in lines(*(("mariadb-0a1b2c3d", *each) for each in states))).encode()


def test_a_line_that_a_full_disk_took_half_of_keeps_no_other_from_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {"lease": str(tmp_path / "machine.host"), "session": "mine", "lease_s": 20}
    (tmp_path / "mariadb-0a1b2c3d").mkdir()
    (tmp_path / "mariadb-0a1b2c3d" / "job.json").write_text(json.dumps(job))
    log = agent.Supervisor(str(tmp_path / "mariadb-0a1b2c3d"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log.tell("stopped")
    size = (tmp_path / "mine.stops").stat().st_size
    # The disk has room for half of what is written next.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + size // 2, hard))
    try:
        log.tell("continued")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert size < (tmp_path / "mine.stops").stat().st_size < 2 * size
    log.tell("stopped")
    host = Stopped()
    monkeypatch.setattr(host, "path", lambda *_: str(tmp_path / "mine.stops"))
    monkeypatch.setattr(host, "read", lambda path: Path(path).read_bytes())
    found = stops(host, "mine")  # type: ignore[arg-type]
    assert [(stop.job, stop.what, stop.ended) for stop in found] == [("mariadb", "command", None)] * 2


def failing(session: Stopped, problem: BenchbookError) -> None:
    with watching(session, []):  # type: ignore[arg-type]
        raise problem


def test_what_fails_while_a_server_stands_still_names_the_server() -> None:
    with pytest.raises(LeftStopped) as caught:
        failing(Stopped(), TrialFailed("sysbench took longer than it may", output="FATAL"))
    said = "mariadb on db1 was stopped at 2023-11-14 22:13:20 UTC and has not gone on: sysbench took longer than it may"
    assert (str(caught.value), caught.value.output) == (said, "FATAL")
    gone = Stopped()
    gone.running = frozenset()
    for session, problem in ((gone, TrialFailed("late")), (Stopped(), HostUnreachable("away"))):
        with pytest.raises(type(problem), match=str(problem)):
            failing(session, problem)


# -- the window -------------------------------------------------------------------------------------------------------


def samples(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return TrialSamples(STARTED, ENDED, pd.DataFrame(rows, columns=COLUMNS), {}, {}).samples()


def test_a_sample_that_began_before_the_load_is_none_of_it() -> None:
    """One sample a second at half past, from before the load on: that of 1000.5 is half of the quiet before."""
    seen = samples(probed(-0.5, 0.5, 1.5, 2.5, 11.0))
    assert sorted(set(of_load(seen, STARTED, ENDED).t - STARTED)) == [1.5, 2.5]


def test_where_there_is_no_other_sample_of_a_host_that_one_must_do() -> None:
    seen = samples([*probed(-0.5, 0.5), *probed(-0.2, 0.8, 1.8, host="executor")])
    inside = of_load(seen, STARTED, STARTED + 2)
    assert {(one.host, round(one.t - STARTED, 1)) for one in inside.itertuples()} == {("db1", 0.5), ("executor", 1.8)}


# -- the clocks of driver and hosts -----------------------------------------------------------------------------------


class Exchanges:
    """A driver's clock, and a host's that is 0.2 s ahead; each exchange `took` so long on its way there and back."""

    def __init__(self, *took: tuple[float, float]):
        self.at, self.took = 5000.0, list(took)

    def time(self) -> float:
        return self.at

    def now(self) -> float:
        there, back = self.took.pop(0)
        read = self.at + there + 0.2
        self.at += there + back
        return read


def offset(monkeypatch: pytest.MonkeyPatch, *took: tuple[float, float]) -> tuple[Any, Exchanges]:
    host = Exchanges(*took)
    monkeypatch.setattr(sessions, "time", host)
    return pytest.approx(clock_offset(cast(Host, host)), abs=1e-6), host


def test_of_several_exchanges_with_a_clock_the_shortest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy host answers after 160 ms, nearly all of them on the way there; at the fourth try within 30 ms."""
    busy = [(0.15, 0.01)] * 3
    found, host = offset(monkeypatch, *busy, (0.02, 0.01), *busy, (0.15, 0.01))
    assert found == (0.205, 0.015)  # 0.2 s, and half of the 10 ms by which the way there was longer
    assert host.took == []


def test_a_clock_that_is_known_well_enough_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found, host = offset(monkeypatch, (0.15, 0.01), (0.004, 0.004), (0.001, 0.001))
    assert found == (0.2, 0.004)
    assert len(host.took) == 1


def test_hosts_that_are_one_machine_have_one_clock_and_the_best_exchange_with_it_is_shown() -> None:
    facts = {"cores": 2, "boot_id": "b"}
    hosts = {
        "client": HostFacts(**facts, clock_offset_s=0.092, clock_error_s=0.08),
        "db1": HostFacts(**facts, clock_offset_s=-0.001, clock_error_s=0.004),
    }
    assert differences._machine(["client", "db1"], hosts)["clock offset"] == "-1 ± 4 ms"


CLOCKS = {"client": (0.4, 0.1), "db1": (-1.0, 0.1)}


@pytest.mark.parametrize(
    ("offsets", "timed_here", "said"),
    [
        # 1.4 s apart, of which 0.2 s may be the way to the hosts and back.
        (CLOCKS, False, r"of host client is ahead of that of host db1: .* \(got '1\.4 s'\)\. Fix: set both clocks"),
        ({"client": (0.4, 0.3), "db1": (-1.0, 0.2)}, False, ""),
        # Samples would stand beside another time, whoever may set the clocks.
        ({"client": (0.0, 0.1), "db1": (5.0, 0.1)}, False, r"of host db1 is ahead .*other times \(got '5\.0 s'\)"),
        # A driver whose clock is wrong is no matter to loads that their hosts time.
        ({"client": (-60.0, 0.1), "db1": (-60.1, 0.1)}, False, ""),
        ({"client": (-60.0, 0.1), "db1": (-60.1, 0.1)}, True, r"of the driver is ahead of .* db1: .*'60\.1 s'"),
    ],
)
def test_hosts_whose_clocks_are_apart_are_refused_before_any_load(
    offsets: dict[str, tuple[float, float]], timed_here: bool, said: str
) -> None:
    about = {"cores": 2, "disk_free_bytes": 1}
    facts = {
        name: HostFacts(**about, clock_offset_s=off, clock_error_s=error) for name, (off, error) in offsets.items()
    }
    session = cast(
        Session,
        SimpleNamespace(
            each=lambda *_: facts,
            hosts={},
            inventory=SimpleNamespace(file="mine.yaml", lab=True, hosts={}, endpoints={}),
            reaped={},
        ),
    )
    with pytest.raises(HostUnusable, match=said) if said else nullcontext():
        host_facts.preflight(session, disk_bytes=0, timed_here=timed_here)


# -- heartbeats -------------------------------------------------------------------------------------------------------


class Clocks:
    """A wall clock and a monotonic one that are read for nothing; `set_s` is by how much the wall clock was set."""

    def __init__(self) -> None:
        self.monotonic_s, self.set_s = 50.0, 0.0

    def monotonic(self) -> float:
        return self.monotonic_s

    def time(self) -> float:
        return 9000.0 + self.monotonic_s + self.set_s


def test_a_heart_tells_how_late_it_beat_and_by_how_much_the_clock_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, heart = Clocks(), run_probe.Heart()
    monkeypatch.setattr(run_probe, "time", clocks)
    assert heart.beat(50.0) == {"t": 9050.0, "late": 0.0, "step": 0.0}
    clocks.monotonic_s = 53.5
    assert heart.beat(51.0) == {"t": 9053.5, "late": 2.5, "step": 0.0}
    clocks.monotonic_s, clocks.set_s = 54.0, -3.0
    assert heart.beat(54.0) == {"t": 9051.0, "late": 0.0, "step": -3.0}


def test_heartbeats_stand_in_the_series_with_or_without_a_sample() -> None:
    samples = [
        {"t": 1.0, "late": 0.01, "step": 0.0, "v": {"a": 1}},
        {"t": 2.0, "late": 0.02, "step": 0.5, "error": "gone"},
    ]
    found = to_series(samples, "db1", "host", {"a": Metric("B")})
    assert found[["t", "metric", "value", "unit"]].values.tolist() == [
        [1.0, "heartbeat.late_s", 0.01, "s"],
        [1.0, "a", 1.0, "B"],
        [2.0, "heartbeat.late_s", 0.02, "s"],
        [2.0, "clock.step_s", 0.5, "s"],
    ]


DRIVER = """
from benchbook.hosts.heartbeat import DriverHeartbeat
with DriverHeartbeat() as heart:
    print("begun", flush=True)
    input()
print(heart.stood_s())
"""


def test_a_driver_notices_that_it_was_stopped() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        child.send_signal(signal.SIGSTOP)
        until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_STOPPED, "it is stopped")
        time.sleep(1.5)
        child.send_signal(signal.SIGCONT)
        noticed = float(child.communicate("\n")[0])
    assert noticed > 1.0
