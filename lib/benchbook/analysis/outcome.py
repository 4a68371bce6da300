"""What a campaign came to: results.json, and its series cut out for figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchbook.analysis import circumstances, formatting, machine_time, results
from benchbook.analysis.results import JudgedClaim, Results, SystemSummary, Table, Trials
from benchbook.audit.whole import audit
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.probes.samples import busy_cores
from benchbook.published.tables import Published


def write(published: Published, campaign: Campaign, tables: list[Table], claims: Sequence[JudgedClaim] = ()) -> Path:
    """Write `results.json` of the campaign; the site's JSON is this file."""
    records, failed, audited = campaign.records(), campaign.failures(), audit(published)
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
        trials=Trials(
            planned=len(campaign.trials),
            done=len(records),
            failed=len(failed),
            disturbed=len(campaign.disturbed()),
        ),
        tables=tables,
        machine_time=machine_time.account(published, campaign),
        audit=audited.findings,
        audit_passed={str(kind): count for kind, count in audited.passed.items()},
        claims=list(claims),
        figures=[{"file": path.name} for path in sorted((campaign.folder / "figures").glob("*.png"))],
    )
    return results.write(found, campaign.folder / "results.json")


def _systems(campaign: Campaign) -> list[SystemSummary]:
    return [
        SystemSummary.model_validate(about.model_dump(include=set(SystemSummary.model_fields)))
        for about in campaign.environment().systems.values()
    ]


def trial_series(
    records: Sequence[Record],
    series: Callable[[str], pd.DataFrame],
    environment: Environment,
    metric: str,
    source: str,
    levels: Sequence[str],
) -> pd.DataFrame:
    """[*levels, repetition, t (s since the load began), value] of every trial; metric "cpu" = cores in use per host."""
    parts = [_one(record, series(record.id), environment, metric, source, levels) for record in records]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _one(
    record: Record, series: pd.DataFrame, environment: Environment, metric: str, source: str, levels: Sequence[str]
) -> pd.DataFrame:
    if metric == "cpu":
        rows = _cpu(record, series, environment)
    else:
        rows = series[(series.source == source) & (series.metric == metric)][["t", "value"]]
    begin = record.ended - record.summary["total_time_s"].value if "total_time_s" in record.summary else record.started
    inside = rows[(rows.t >= record.started) & (rows.t <= record.ended + 1)]
    about = {name: record.levels[name] for name in levels}
    return inside.assign(t=inside.t - begin, repetition=record.repetition, **about)


def _cpu(record: Record, series: pd.DataFrame, environment: Environment) -> pd.DataFrame:
    """Cores in use: of the one machine where all hosts are one, else summed over the hosts, second by second."""
    busy = busy_cores(series)
    if environment.shares_machine(record.client):
        return busy[busy.host == record.client].rename(columns={"busy": "value"})[["t", "value"]]
    return busy.assign(t=busy.t.round()).groupby("t").busy.sum().rename("value").reset_index()


def spread(frame: pd.DataFrame, levels: Sequence[str]) -> str:
    """Mean of each panel, in words, for a figure's alt text."""
    if frame.empty:
        return "no samples"
    means = frame.groupby(list(levels), sort=False).value.mean().reset_index()
    return "; ".join(
        f"{', '.join(str(row[name]) for name in levels)}: mean {formatting.number(row['value'])}"
        for _, row in means.iterrows()
    )
