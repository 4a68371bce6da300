"""The published hosts' hardware as numbers: how many cores and processors served, where the report says so."""

from __future__ import annotations

import re

from benchbook.published.report_file import HostFact, Report

_CORES = re.compile(r"(?:\b([0-9]{1,2})\s*[x×]\s*)?([0-9]{1,6})[\s-]*(?:vCPUs?|cores?)\b", re.IGNORECASE)
_THREADS = re.compile(
    r"\b([0-9]{1,6})[\s-]*(?:hyper-?thread(?:s|ed)?|threads|logical (?:cores|CPUs|processors))\b", re.IGNORECASE
)


def cores(host: HostFact) -> int | None:
    """Return cores of one such host ("16 vCPU", "40 cores, Intel ...", "2 x 20 cores"); None where none are printed."""
    printed = _CORES.search(host.cpu or "")
    return int(printed[1] or 1) * int(printed[2]) if printed else None


def processors(host: HostFact) -> int | None:
    """Processors that an operating system sees there: the threads of the cores, where they are printed beside these."""
    printed = _THREADS.search(host.cpu or "")
    return int(printed[1]) if printed else cores(host)


def server_cores(report: Report) -> int | None:
    """Return cores of all published hosts together that served and print them; None where none does.

    What ran a load generator alone did not serve: its cores are no part of what the published load met.
    """
    return sum(count * host.count for host in _serving(report) if (count := cores(host)) is not None) or None


def server_processors(report: Report) -> int | None:
    """Processors of the same hosts; None where none prints its cores."""
    return sum(count * host.count for host in _serving(report) if (count := processors(host)) is not None) or None


def _serving(report: Report) -> list[HostFact]:
    loads = _loads(report)
    return [host for host in report.hosts if not host.runs or set(host.runs) - loads]


def loads_itself(report: Report) -> bool:
    """Return whether a published server carried its own load: a load generator ran there beside something else."""
    loads = _loads(report)
    return any(loads & set(host.runs) and set(host.runs) - loads for host in report.hosts)


def _loads(report: Report) -> set[str]:
    """Return the load generators of its design, under the names that `runs` of a host has them by."""
    return {experiment.load for experiment in report.design}
