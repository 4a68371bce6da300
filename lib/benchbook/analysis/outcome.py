"""What a campaign came to, as results.json."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchbook import paths
from benchbook.analysis import circumstances, results
from benchbook.analysis.beside import in_rows
from benchbook.analysis.results import JudgedClaim, Results, SystemSummary
from benchbook.audit.whole import audit
from benchbook.campaign.store import Campaign
from benchbook.published.tables import Published


def write(published: Published, campaign: Campaign, beside: pd.DataFrame, claims: Sequence[JudgedClaim] = ()) -> Path:
    """Write `results.json` of the campaign; the site's JSON is this file. `beside`: schema.BESIDE."""
    records, audited = campaign.records(), audit(published)
    moments = [m for r in records for m in (r.started, r.ended)] or [datetime.now(UTC).timestamp()]
    found = Results(
        report=campaign.report,
        title=published.report.title,
        profile=campaign.profile,
        inventory=campaign.inventory,
        campaign=campaign.id,
        started=datetime.fromtimestamp(min(moments), UTC),
        finished=datetime.fromtimestamp(max(moments), UTC),
        systems=_systems(campaign),
        setting=circumstances.of_campaign(published, campaign),
        trials=results.counted(campaign),
        cells=in_rows(beside),
        machine_time=circumstances.account(published, campaign),
        audit=audited.findings,
        audit_passed={str(kind): count for kind, count in audited.passed.items()},
        claims=list(claims),
        figures=[{"file": path.name} for path in sorted((campaign.folder / "figures").glob("*.png"))],
    )
    return results.write(found, campaign.folder / paths.RESULTS)


def _systems(campaign: Campaign) -> list[SystemSummary]:
    return [
        SystemSummary.model_validate(about.model_dump(include=set(SystemSummary.model_fields)))
        for about in campaign.environment().systems.values()
    ]
