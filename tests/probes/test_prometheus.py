"""Rates, means and quantiles from scraped samples, against values worked out by hand; and the sampler itself."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest
from kit import FIXTURES

from benchbook.errors import BadInput, OutputNotParseable, ProbeFailed
from benchbook.hosts.agent import Ended, Job
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes import prometheus as prom
from benchbook.probes import scrape
from benchbook.probes.remote import sample_prometheus as sampler
from benchbook.probes.scrape import StandingSampler, Target, scraping
from benchbook.probes.watch import Followed, own_cores

PRINTED_BY = FIXTURES / "dm"


def scrapes(*values: dict[str, float], source: str = "s") -> pd.DataFrame:
    """One scrape a second from t = 100."""
    return prom.read_samples(
        "".join(json.dumps({"t": 100 + i, "source": source, "v": v}) + "\n" for i, v in enumerate(values))
    )


# -- reading ----------------------------------------------------------------------------------------------------


def test_a_sample_becomes_metric_labels_and_value() -> None:
    frame = scrapes({'jobs{type="insert",queueNo="q \\"0\\", x"}': 3.0, "up": 1.0})
    assert frame.iloc[0].to_list() == [100.0, "s", "jobs", (("queueNo", 'q "0", x'), ("type", "insert")), 3.0]
    assert frame.iloc[1].to_list() == [100.0, "s", "up", (), 1.0]


def test_a_line_cut_short_by_a_kill_is_left_out() -> None:
    assert len(prom.read_samples('{"t":1,"source":"s","v":{"up":1}}\n{"t":2,"source":"s","v":{"u')) == 1


@pytest.mark.parametrize("line", ["not json", "[1]", '{"t": 1}', '{"t":1,"source":"s","v":{"a{b":1}}'])
def test_what_is_no_sample_is_named(line: str) -> None:
    with pytest.raises(OutputNotParseable):
        prom.read_samples(line + "\n")


def test_a_failed_scrape_is_a_gap_and_is_listed() -> None:
    text = (
        '{"t":1,"source":"s","v":{"c":5}}\n{"t":2,"source":"s","error":"refused"}\n{"t":3,"source":"s","v":{"c":9}}\n'
    )
    assert prom.failed_scrapes(text).to_numpy().tolist() == [[2, "s", "refused"]]
    assert prom.rate(prom.read_samples(text), "c").to_numpy().tolist() == [[3.0, 2.0]]  # 4 in 2 s


def test_a_metric_that_was_never_scraped_is_an_error_not_a_zero() -> None:
    frame = scrapes({"up": 1})
    assert not prom.has(frame, "down")
    with pytest.raises(OutputNotParseable, match=r"no sample of the metric down; there is up"):
        prom.rate(frame, "down")


# -- counters ---------------------------------------------------------------------------------------------------


def test_rate_is_growth_per_second_summed_over_series() -> None:
    frame = scrapes({'c{q="0"}': 10, 'c{q="1"}': 0}, {'c{q="0"}': 14, 'c{q="1"}': 1}, {'c{q="0"}': 14, 'c{q="1"}': 8})
    assert prom.rate(frame, "c").to_numpy().tolist() == [[101.0, 5.0], [102.0, 7.0]]
    assert prom.rate(prom.where(frame, q="1"), "c").to_numpy().tolist() == [[101.0, 1.0], [102.0, 7.0]]


def test_a_counter_that_falls_grew_from_zero() -> None:
    """As Prometheus: 100, 110, 3, 5 has grown by 10 + 3 + 2."""
    frame = scrapes({"c": 100}, {"c": 110}, {"c": 3}, {"c": 5})
    assert prom.rate(frame, "c").value.to_list() == [10.0, 3.0, 2.0]
    assert prom.increase(frame, "c") == 15.0


def test_a_series_born_between_two_scrapes_grew_from_zero() -> None:
    """DM drops a task's series with the task: the next task's begin at 0, even if soon above the old."""
    frame = scrapes({"up": 1}, {"up": 1, "c": 7}, {"up": 1}, {"up": 1, "c": 9})
    assert prom.rate(frame, "c").value.to_list() == [7.0, 0.0, 9.0]


def test_the_first_scrape_is_no_growth() -> None:
    assert prom.rate(scrapes({"c": 1000}, {"c": 1001}), "c").value.to_list() == [1.0]


def test_sources_are_kept_apart() -> None:
    a, b = scrapes({"c": 1}, {"c": 3}), scrapes({"c": 10}, {"c": 15}, source="z")
    both = pd.concat([a, b.assign(t=b.t + 0.004)], ignore_index=True)
    assert [prom.rate(both[both.source == name], "c").value.to_list() for name in "sz"] == [[2.0], [5.0]]
    with pytest.raises(BadInput, match=r"several sources have c"):
        prom.rate(both, "c")


def test_between_and_where() -> None:
    frame = scrapes({'g{n="a"}': 1, 'g{n="b"}': 2, "up": 9}, {'g{n="a"}': 3, 'g{n="b"}': 5, "up": 9})
    # A series without the label stays: it also tells when its source was scraped.
    assert prom.where(frame, n="b").value.to_list() == [2.0, 9.0, 5.0, 9.0]
    assert len(prom.where(frame, n=["a", "b"])) == len(frame) == 6
    assert prom.between(frame, 101, 101).value.to_list() == [3.0, 5.0, 9.0]


# -- histograms -------------------------------------------------------------------------------------------------

BOUNDS = np.array([0.1, 0.2, 0.4, math.inf])
COUNTS = np.array([10.0, 30.0, 90.0, 100.0])  # 10, 20, 60 and 10 observations in the four buckets


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        (0.05, 0.05),  # rank 5 of 10 in [0, 0.1]
        (0.10, 0.10),  # rank 10: the end of the first bucket
        (0.25, 0.175),  # rank 25: 15 of 20 into [0.1, 0.2]
        (0.50, 0.2 + 0.2 * 20 / 60),  # rank 50: 20 of 60 into [0.2, 0.4]
        (0.90, 0.40),  # rank 90: the end of the third
        (0.95, 0.40),  # in the +Inf bucket: the second highest bound
        (1.00, 0.40),
    ],
)
def test_quantile_worked_by_hand(q: float, expected: float) -> None:
    assert prom.bucket_quantile(q, BOUNDS, COUNTS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        ([0.1, math.inf], [0.0, 0.0]),  # nothing observed
        ([0.1, 0.2], [1.0, 2.0]),  # no +Inf bucket
        ([math.inf], [3.0]),  # one bucket
    ],
)
def test_quantile_of_what_is_no_histogram_is_nan(bounds: list[float], counts: list[float]) -> None:
    assert math.isnan(prom.bucket_quantile(0.5, np.array(bounds), np.array(counts)))


def test_the_lowest_bucket_begins_at_zero_unless_its_bound_is_not_positive() -> None:
    assert prom.bucket_quantile(0.5, np.array([-1.0, 1.0, math.inf]), np.array([8.0, 10.0, 10.0])) == -1.0
    assert prom.bucket_quantile(0.5, np.array([8.0, math.inf]), np.array([10.0, 10.0])) == 4.0


def test_counts_that_fall_because_a_scrape_is_not_atomic_are_made_monotone() -> None:
    assert prom.bucket_quantile(0.5, np.array([1.0, 2.0, math.inf]), np.array([6.0, 5.0, 6.0])) == pytest.approx(0.5)


def histogram(le01: float, le02: float, inf: float, total: float, kind: str = "a") -> dict[str, float]:
    cells = {"0.1": le01, "0.2": le02, "+Inf": inf}
    buckets = {f'h_bucket{{type="{kind}",le="{le}"}}': n for le, n in cells.items()}
    return {**buckets, f'h_sum{{type="{kind}"}}': total, f'h_count{{type="{kind}"}}': inf}


def test_quantile_and_mean_are_of_the_window_only() -> None:
    """100 old observations under 0.1; then 4 between 0.1 and 0.2 (sum 0.6), then 10 under 0.1 (sum 0.5)."""
    frame = scrapes(histogram(100, 100, 100, 5.0), histogram(100, 104, 104, 5.6), histogram(110, 114, 114, 6.1))
    each = prom.histogram_quantile(frame, "h", 0.5, window=1)
    assert each.to_numpy().tolist() == [[101.0, pytest.approx(0.15)], [102.0, pytest.approx(0.05)]]
    # Whole: 10 under 0.1 and 4 up to 0.2; rank 7 of 10 in the first bucket.
    assert prom.histogram_quantile(frame, "h", 0.5).to_numpy().tolist() == [[102.0, pytest.approx(0.07)]]
    assert prom.mean_from_histogram(frame, "h") == pytest.approx(1.1 / 14)


def test_histograms_are_added_and_one_that_observed_nothing_has_no_figure() -> None:
    """Of type a: 2 under 0.1, sum 0.1. Of type b nothing new. Of type c: 6 between 0.1 and 0.2, sum 0.9."""
    before = {**histogram(0, 0, 0, 0), **histogram(5, 5, 5, 1, "b"), **histogram(0, 0, 0, 0, "c")}
    after = {**histogram(2, 2, 2, 0.1), **histogram(5, 5, 5, 1, "b"), **histogram(0, 6, 6, 0.9, "c")}
    frame = scrapes(before, after)

    def found(*types: str) -> list[float]:
        mine = prom.where(frame, type=types)
        return [prom.histogram_quantile(mine, "h", 0.5).value.item(), prom.mean_from_histogram(mine, "h")]

    assert found("a") == pytest.approx([0.05, 0.05])
    assert found("b") == pytest.approx([math.nan, math.nan], nan_ok=True)
    # Rank 4 of 8: the second of the 6 in [0.1, 0.2].
    assert found("a", "b", "c") == pytest.approx([0.1 + 0.1 * 2 / 6, 1.0 / 8])


def test_a_quantile_outside_0_to_1_is_refused() -> None:
    with pytest.raises(BadInput, match=r"between 0 and 1"):
        prom.histogram_quantile(scrapes(histogram(1, 1, 1, 1)), "h", 99)


# -- on what DM and TiDB said -------------------------------------------------------------------------------------


def exposition(name: str) -> dict[str, float]:
    return sampler.keep((PRINTED_BY / name).read_bytes(), re.compile(b"[a-z]"))


def test_two_real_scrapes_of_tidb() -> None:
    frame = scrapes(exposition("metrics_tidb_1.txt"), exposition("metrics_tidb_2.txt"))
    replaces, statements = prom.where(frame, sql_type="Replace"), prom.where(frame, type="Replace")
    grown = prom.increase(statements, "tidb_executor_statement_total")
    rows = prom.increase(replaces, "tidb_server_affected_rows")
    before, after = (
        exposition(f"metrics_tidb_{i}.txt")['tidb_executor_statement_total{type="Replace"}'] for i in (1, 2)
    )
    assert grown == after - before == rows > 0
    p99 = prom.histogram_quantile(replaces, "tidb_server_handle_query_duration_seconds", 0.99)
    # 4060 REPLACEs between the scrapes, 3984 of them within 16 ms and 4028 within 32 ms: rank 4019.4 is 35.4 of the 44
    # in that bucket.
    assert p99.value.item() == pytest.approx(0.016 + 0.016 * 35.4 / 44)


def test_real_samples_of_a_sync() -> None:
    frame = prom.read_samples((PRINTED_BY / "samples.jsonl").read_text())
    jobs = prom.rate(frame, "dm_syncer_finished_jobs_total")
    total = prom.increase(frame, "dm_syncer_finished_jobs_total")
    assert (jobs.value * np.diff(frame[frame.source == "dm"].t.unique())).sum() == pytest.approx(total)
    assert 0 < prom.mean_from_histogram(frame, "dm_syncer_txn_duration_time") < 2


# -- the sampler --------------------------------------------------------------------------------------------------

BODY = b"""# HELP c_total Things.
# TYPE c_total counter
c_total{le="a} b",x="1"} 5 1795232309000
c_total{x="2"} 1.5e+06
other 1
c_gauge NaN
c_plain +Inf
c_last 2
"""


def test_the_sampler_keeps_what_matches_and_is_finite() -> None:
    assert sampler.keep(BODY, re.compile(b"c_")) == {
        'c_total{le="a} b",x="1"}': 5.0,
        'c_total{x="2"}': 1.5e6,
        "c_last": 2.0,
    }


class Handler(BaseHTTPRequestHandler):
    """Answers with BODY; at /broken it has ended before it has said all that it announced."""

    def do_GET(self) -> None:
        self.send_response(200)
        if self.path == "/broken":
            self.send_header("Content-Length", str(len(BODY) + 1))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()


@pytest.mark.real
def test_an_answer_that_breaks_off_is_a_failed_scrape(endpoint: str) -> None:
    broken = endpoint.replace("/metrics", "/broken")
    said = json.loads(sampler.look("a", broken, re.compile(b"c_"), 5.0))
    assert "v" not in said
    assert said["error"].startswith(f"IncompleteRead: IncompleteRead({len(BODY)} bytes read")


def test_the_sampler_writes_whole_lines_until_it_is_told_to_end(endpoint: str, tmp_path: Path) -> None:
    out = tmp_path / "samples"
    argv = [sys.executable, sampler.__file__, "--out", str(out), "--interval", "0.05", "--match", "c_"]
    targets = ["--target", f"a={endpoint}", "--target", "b=http://127.0.0.1:1/metrics"]
    with subprocess.Popen([*argv, *targets]) as process:
        while not out.exists() or out.read_text().count("\n") < 8:
            assert process.poll() is None
            threading.Event().wait(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    text = out.read_text()
    frame, failed = prom.read_samples(text), prom.failed_scrapes(text)
    assert text.endswith("\n")
    assert set(frame.source) == {"a"}
    assert set(failed.source) == {"b"}
    assert failed.error.str.contains("refused").all()


def test_the_sampler_looks_at_once_where_it_is_asked_to(endpoint: str, tmp_path: Path) -> None:
    """Its next tick is up to an hour away: every line here was asked for."""
    out = tmp_path / "samples"
    argv = [sys.executable, sampler.__file__, "--out", str(out), "--interval", "3600", "--match", "c_"]
    targets = ["--target", f"a={endpoint}", "--target", "b=http://127.0.0.1:1/metrics"]
    with subprocess.Popen([*argv, *targets]) as process:
        # Once it has taken the signal off its default, which would end it.
        while not waits_for_signals(process.pid):
            threading.Event().wait(0.02)
        for lines in (2, 4):
            process.send_signal(signal.SIGUSR1)
            while out.read_text().count("\n") < lines:
                assert process.poll() is None
                threading.Event().wait(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    text = out.read_text()
    assert [json.loads(each)["asked"] for each in text.splitlines()] == [True] * 4
    assert sorted(prom.read_samples(text).value) == [2.0, 2.0, 5.0, 5.0, 1.5e6, 1.5e6]
    assert prom.failed_scrapes(text).source.tolist() == ["b", "b"]


def waits_for_signals(pid: int) -> bool:
    """By any of its threads: the one that waits takes what the others block.

    proc(5): `SigBlk`, a mask in which signal n is bit n - 1.
    """
    states = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    blocked = [re.search(r"SigBlk:\s*(\w+)", state) for state in states]
    return any(found and int(found[1], 16) >> (signal.SIGUSR1 - 1) & 1 for found in blocked)


def test_a_target_without_an_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sampler.main(["--out", "x", "--match", "c", "--target", "a=host"])
    assert "expected NAME=http" in capsys.readouterr().err


# -- a sampler that stands over many trials -------------------------------------------------------------------------


class Growing:
    """A host with one file that grows, and a sampler that writes `answer` to it when it is asked to look."""

    name, content, answer = "db1", b"", b""

    def read(self, path: str, *, offset: int = 0) -> bytes:
        files = {"pid": b'{"group": 7}', "samples": self.content}
        return files.get(path.rpartition("/")[2], b"")[offset:]

    def run(self, argv: list[object], *, check: bool) -> SimpleNamespace:
        if argv == ["cat", "/proc/1/stat"]:
            return SimpleNamespace(stdout=f"1 (python3) S {'0 ' * 18}4711 0")
        assert (argv, check) == (["kill", "-s", "USR1", "--", "-7"], False)
        self.content += self.answer
        return SimpleNamespace(stdout="")


def line(t: float, cpu: float = 0.0, **more: object) -> bytes:
    return json.dumps({"t": t, "source": "s", "cpu": cpu, "v": {"c": t}, **more}).encode() + b"\n"


@pytest.fixture
def grows() -> tuple[Growing, StandingSampler]:
    host = Growing()
    there = cast(Host, host)
    return host, StandingSampler(
        Target(there, "s", "http://s/", "c"), Followed(Job(there, "/j", [], 1, "4711", 3.0)), 0.5
    )


def times(lines: list[str]) -> list[float]:
    return [json.loads(each)["t"] for each in lines]


def test_a_trial_sees_the_samples_since_its_begin_and_the_one_before_for_its_first_rate(
    grows: tuple[Growing, StandingSampler],
) -> None:
    host, one = grows
    host.content = line(1.0) + line(1.5)
    one.file.look()
    host.content += line(2.0)
    host.answer = line(2.3, asked=True)
    assert times(one.seen()) == [1.5, 2.0, 2.3]
    one.file.look()
    # A server was down for a while: its counters may have begun anew, and what they were is no baseline.
    host.content += line(5.0)
    host.answer = line(5.4, asked=True)
    assert times(one.seen()) == [5.0, 5.4]


def test_no_tick_stands_beside_the_sample_that_was_asked_for(grows: tuple[Growing, StandingSampler]) -> None:
    """0.125 s is a quarter of the interval: nearer ones would make a rate of next to nothing, over next to no time."""
    host, one = grows
    host.content = line(1.4)
    one.file.look()
    host.content += line(1.5) + line(2.0)
    # The tick of 2.1 s began later and was through sooner; the last one is still being written.
    host.answer = line(2.1) + line(2.08, asked=True) + line(2.5)[:9]
    assert times(one.seen()) == [1.5, 2.08]


def test_a_sampler_that_does_not_answer_or_was_killed_fails_the_trial(
    grows: tuple[Growing, StandingSampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, one = grows
    host.content = line(1.0)
    monkeypatch.setattr(scrape, "ANSWERS_WITHIN_S", 0.05)
    with pytest.raises(ProbeFailed, match="probe prometheus of s on db1 does not answer"):
        one.seen()
    monkeypatch.setattr(Job, "status", lambda self: Ended("exited", None, 9, 1.0, 2.0))
    with pytest.raises(ProbeFailed, match="was killed by signal 9"):
        one.seen()


def test_what_a_standing_sampler_used_itself_is_counted_per_trial() -> None:
    assert own_cores([json.loads(line(10.0, 3.0)), json.loads(line(12.0, 3.5))]) == 0.25
    assert own_cores([json.loads(line(10.0, 3.0))]) == own_cores([]) == 0.0


def test_the_load_begins_when_a_sampler_that_was_started_for_it_has_looked() -> None:
    """Here it looks at the third time of asking; one that has ended is waited for no more."""
    host, asked = Growing(), []

    class Sampling:
        folder = "/j"

        def __init__(self) -> None:
            self.host = host

        def status(self) -> None:
            asked.append(None)
            if len(asked) == 2:
                host.content = line(1.0)

    file = Followed(cast(Job, Sampling()))
    file.await_first()
    assert (len(asked), file.last) == (2, line(1.0).decode())
    ended = Followed(cast(Job, SimpleNamespace(host=Growing(), folder="/j", status=lambda: "killed")))
    ended.await_first()
    assert ended.last == ""


@pytest.mark.real
def test_a_sampler_has_looked_before_the_load_begins(session: Session) -> None:
    """The block here takes no time at all: what is seen of it was seen before. Nobody listens at the endpoint."""
    target = Target(session.hosts["db1"], "s", "http://127.0.0.1:1/metrics", "c")
    with scraping(session, [target]):
        key = next(key for key in session.standing if key[0] == "scrape")
        assert "error" in session.standing[key].file.last


@pytest.mark.real
def test_the_last_sample_is_of_the_blocks_end_and_no_tick_stands_beside_it(session: Session, endpoint: str) -> None:
    target = Target(session.hosts["db1"], "s", endpoint, "c_last")
    with scraping(session, [target], 0.5) as scraped:
        key = next(key for key in session.standing if key[0] == "scrape" and endpoint in key)
        file = session.standing[key].file
        # Two ticks: the later one may be too near the end to count.
        while file.job.host.read(f"{file.job.folder}/samples", offset=file.offset).count(b"\n") < 2:
            threading.Event().wait(0.02)
        ended = round(time.time(), 3)
    t = prom.read_samples(scraped.samples).t.to_numpy()
    assert t[-1] >= ended
    assert len(t) > 1
    assert (t[1:] - t[:-1] > 0.125).all()
