"""The parser of ab, on what ab 2.3 printed."""

from __future__ import annotations

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.workloads import ab

PRINTED_BY = FIXTURES / "ab"


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


def test_every_number_of_a_whole_run_is_read() -> None:
    assert ab.parse(printed("success")) == ab.AbSummary(
        complete=500,
        failed=0,
        non_2xx=0,
        requests_per_s=320.24,
        time_s=1.561,
        concurrency=10,
        mean_ms=31.227,
        percentiles_ms={50: 29, 66: 34, 75: 37, 80: 39, 90: 43, 95: 47, 98: 53, 99: 56, 100: 61},
    )


@pytest.mark.parametrize(
    ("name", "complete", "failed", "non_2xx"),
    [
        ("quiet", 300, 0, 0),
        ("keepalive", 200, 0, 0),
        ("non_2xx", 200, 0, 200),
        ("lengths_differ", 200, 199, 0),
    ],
)
def test_requests_are_counted_by_what_became_of_them(name: str, complete: int, failed: int, non_2xx: int) -> None:
    summary = ab.parse(printed(name))
    assert (summary.complete, summary.failed, summary.non_2xx) == (complete, failed, non_2xx)


def test_a_run_ended_by_its_time_limit_is_whole() -> None:
    summary = ab.parse(printed("timelimit"))
    assert summary.concurrency == 10
    # ab divides by its unrounded time; the printed one has three decimals.
    assert summary.requests_per_s == pytest.approx(summary.complete / summary.time_s, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("connection_refused", "Connection refused"),
        ("server_stopped", "Total of 381 requests completed"),
        ("timed_out", "timeout specified has expired"),
        ("bad_usage", "Cannot use concurrency level"),
        ("interrupted", "before its run was over"),
        ("quiet_interrupted", "before its run was over"),
        ("terminated", "before its run was over"),
    ],
)
def test_a_run_that_did_not_end_fails_by_name(name: str, said: str) -> None:
    with pytest.raises(WorkloadFailed, match=said):
        ab.parse(printed(name))


@pytest.mark.parametrize(
    ("label", "figure"),
    [
        ("Complete requests", "events"),
        ("Failed requests", "failed"),
        ("Requests per second", "tps"),
        ("Time taken for tests", "total_time_s"),
        ("Time per request", "latency_mean_ms"),
    ],
)
def test_a_missing_line_is_named_and_never_zero(label: str, figure: str) -> None:
    text = printed("success").replace(f"{label}:", "Gone:")
    with pytest.raises(OutputNotParseable, match=f"it has no {figure}"):
        ab.parse(text)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(WorkloadFailed, match="prints no rate above 0"):
        ab.parse(printed("success").replace("320.24", "0.00"))


def test_a_table_of_percentiles_that_is_cut_is_refused() -> None:
    whole = printed("success")
    with pytest.raises(OutputNotParseable, match=r"is cut: it has no end\. Fix: .*-d.*; it ends with: .*99%"):
        ab.parse(whole[: whole.index(" 100%")])


def test_one_request_has_no_percentiles() -> None:
    with pytest.raises(OutputNotParseable, match="percentiles"):
        ab.parse(printed("one_request"))


@pytest.mark.parametrize("text", ["", "sysbench 1.0.20\n"])
def test_another_tools_output_is_refused(text: str) -> None:
    with pytest.raises(OutputNotParseable, match="not the output of ApacheBench"):
        ab.parse(text)
