"""Rates, means and quantiles from scraped series, against values worked out by hand; and what scrapes them."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pandas as pd
import pytest
from kit import FIXTURES
from scraped import long_table

from benchbook.errors import BadInput, OutputNotParseable
from benchbook.hosts.session import Session
from benchbook.probes import prometheus as prom
from benchbook.probes.probe import of_prometheus
from benchbook.probes.remote import prometheus_probe
from benchbook.probes.watch import watching

PRINTED_BY = FIXTURES / "dm"


def scrapes(*values: dict[str, float], source: str = "s") -> pd.DataFrame:
    """One scrape a second from t = 100."""
    return prom.scraped(long_table([{"t": 100 + i, "source": source, "v": v} for i, v in enumerate(values)]))


# -- reading ----------------------------------------------------------------------------------------------------


def test_a_sample_becomes_metric_labels_and_value() -> None:
    frame = scrapes({'jobs{type="insert",queueNo="q \\"0\\", x"}': 3.0, "up": 1.0})
    assert frame.iloc[0].to_list() == [100.0, "s", "jobs", (("queueNo", 'q "0", x'), ("type", "insert")), 3.0]
    assert frame.iloc[1].to_list() == [100.0, "s", "up", (), 1.0]


def test_what_is_no_series_is_named() -> None:
    with pytest.raises(OutputNotParseable, match="is no Prometheus series"):
        scrapes({"a{b": 1.0})


def test_a_failed_scrape_is_a_gap() -> None:
    lines = [{"t": 1, "v": {"c": 5}, "late": 0.1}, {"t": 2, "error": "refused"}, {"t": 3, "v": {"c": 9}}]
    frame = prom.scraped(long_table([{"source": "s", **line} for line in lines]))
    assert prom.rate(frame, "c").to_numpy().tolist() == [[3.0, 2.0]]  # 4 in 2 s


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
    return prometheus_probe.kept((PRINTED_BY / name).read_bytes(), "[a-z]")


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
    frame = prom.scraped(long_table(list(map(json.loads, (PRINTED_BY / "samples.jsonl").read_text().splitlines()))))
    jobs = prom.rate(frame, "dm_syncer_finished_jobs_total")
    total = prom.increase(frame, "dm_syncer_finished_jobs_total")
    assert (jobs.value * np.diff(frame[frame.source == "dm"].t.unique())).sum() == pytest.approx(total)
    assert 0 < prom.mean_from_histogram(frame, "dm_syncer_txn_duration_time") < 2


# -- the probe ----------------------------------------------------------------------------------------------------

BODY = b"""# HELP c_total Things.
# TYPE c_total counter
c_total{le="a} b",x="1"} 5 1795232309000
c_total{x="2"} 1.5e+06
other 1
c_last 2
"""


def test_series_are_kept_that_match_from_their_beginning() -> None:
    found = prometheus_probe.kept(BODY, "c_")
    assert found == {'c_total{le="a} b",x="1"}': 5.0, 'c_total{x="2"}': 1.5e6, "c_last": 2.0}


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
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.real
def test_the_first_sample_is_before_the_block_and_the_last_after_it(session: Session, endpoint: str) -> None:
    """The next tick is an hour away. An answer that breaks off is no sample, and said so."""
    host = session.hosts["db1"]
    probes = [of_prometheus(host, name, f"{endpoint}/{name}", "c_last", every_s=3600.0) for name in ("whole", "broken")]
    with watching(session, probes) as watched:
        began = ended = time.time()
    t = prom.scraped(watched.series).t.tolist()
    assert len(t) == 2
    assert t[0] - 0.1 < began
    assert t[1] + 0.1 > ended
    assert set(watched.cores) == {"whole@db1", "broken@db1"}
    assert watched.failed["broken@db1"].startswith(f"IncompleteRead: IncompleteRead({len(BODY)} bytes read")
