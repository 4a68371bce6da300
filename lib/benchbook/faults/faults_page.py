"""The page of a fault campaign: faults per phase, violations per invariant, trials lost per fault, every round."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchbook.faults.fault_catalogue import PHASES
from benchbook.faults.fault_checker import INVARIANTS
from benchbook.faults.fault_results import FaultResults
from benchbook.given.whole_file import replace_text
from benchbook.site import publish


def write(found: FaultResults, site: Path) -> Path:
    """Write `site/faults.html`; returns its path."""
    html = publish.rendered(
        "faults.html.j2",
        found=found,
        summary=found.summary,
        phases=PHASES,
        invariants=INVARIANTS,
        per_fault=per_fault(found),
    )
    return replace_text(site / "faults.html", html)


def per_fault(found: FaultResults) -> list[dict[str, object]]:
    """A row for each fault and target: rounds per phase and with a violation, most trials lost, longest to clean."""
    rows = []
    for fault, target in sorted({(one.fault, one.target) for one in found.rounds}):
        mine = [one for one in found.rounds if (one.fault, one.target) == (fault, target)]
        phases = Counter(one.phase for one in mine)
        rows.append(
            {
                "fault": fault,
                "target": target,
                "phases": [phases[phase] for phase in PHASES],
                "violated": sum(bool(one.violations) for one in mine),
                "lost": max(one.trials_lost for one in mine),
                "clean_s": max(one.clean_s for one in mine),
            }
        )
    return rows
