"""The published hosts' hardware as numbers: how many cores served, where the report says so."""

from __future__ import annotations

import re

from benchbook.published.report_file import HostFact, Report

_CORES = re.compile(r"(?:\b([0-9]{1,2})\s*[x×]\s*)?([0-9]{1,6})[\s-]*(?:vCPUs?|cores?)\b", re.IGNORECASE)


def cores(host: HostFact) -> int | None:
    """Cores of one such host ("16 vCPU", "40 cores, Intel ...", "2 x 20 cores"); None where none are printed."""
    printed = _CORES.search(host.cpu or "")
    return int(printed[1] or 1) * int(printed[2]) if printed else None


def server_cores(report: Report) -> int | None:
    """Cores of all published hosts together that served and print them; None where none does.

    What ran a load generator alone did not serve: its cores are no part of what the published load met.
    """
    loads = _loads(report)
    serving = [host for host in report.hosts if not host.runs or set(host.runs) - loads]
    return sum(count * host.count for host in serving if (count := cores(host)) is not None) or None


def loads_itself(report: Report) -> bool:
    """Whether a published server carried its own load: a load generator ran there beside something else."""
    loads = _loads(report)
    return any(loads & set(host.runs) and set(host.runs) - loads for host in report.hosts)


def _loads(report: Report) -> set[str]:
    """The load generators of its design, under the names that `runs` of a host has them by."""
    return {experiment.load for experiment in report.design}
