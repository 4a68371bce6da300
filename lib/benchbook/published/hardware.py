"""The published hosts' hardware as numbers: how many cores served, where the report says so."""

from __future__ import annotations

import re

from benchbook.published.report_file import HostFact, Report

_CORES = re.compile(r"([0-9]{1,6})\s*(?:vCPUs?|cores?)\b", re.IGNORECASE)


def cores(host: HostFact) -> int | None:
    """Cores of one such host ("16 vCPU", "40 cores, Intel ..."); None where none are printed."""
    printed = _CORES.search(host.cpu or "")
    return int(printed[1]) if printed else None


def server_cores(report: Report) -> int | None:
    """Cores of all published hosts together that print them; None where none does.

    A load generator's host counts only if its cores are printed: reports that leave them out mean the servers.
    """
    found = [count * host.count for host in report.hosts if (count := cores(host)) is not None]
    return sum(found) or None


def loads_itself(report: Report) -> bool:
    """Whether a published server carried its own load: a load generator ran there beside something else."""
    loads = {experiment.load for experiment in report.design}
    return any(loads & set(host.runs) and set(host.runs) - loads for host in report.hosts)
