"""What a campaign came to: results.json, and its series cut out for figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook import paths
from benchbook.analysis import circumstances, cpu_use, formatting, machine_time, results
from benchbook.analysis.results import JudgedClaim, Results, SystemSummary, Table
from benchbook.audit.whole import audit
from benchbook.campaign.environment import Environment
from benchbook.campaign.load_window import load_began, window
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array


def write(published: Published, campaign: Campaign, tables: list[Table], claims: Sequence[JudgedClaim] = ()) -> Path:
    """Write `results.json` of the campaign; the site's JSON is this file."""
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
        tables=tables,
        machine_time=machine_time.account(published, campaign),
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


def trial_series(
    records: Sequence[Record],
    series: Callable[[str], pa.Table],
    environment: Environment,
    metric: str,
    source: str,
    levels: Sequence[str],
) -> pd.DataFrame:
    """[t (s since the load began), value, repetition, *levels] of every trial; metric "cpu" = cores in use.

    `series` gives the long table of a trial by its id, as `Campaign.coded_series`.
    """
    parts = [_while_loaded(record, *_samples(record, series, environment, metric, source)) for record in records]
    if not parts:
        return pd.DataFrame()
    t, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = [len(times) for times, _ in parts]
    of_trials = {"repetition": [r.repetition for r in records], **{n: [r.levels[n] for r in records] for n in levels}}
    repeated = {name: pd.Series(values).repeat(counts).to_numpy() for name, values in of_trials.items()}
    return pd.DataFrame({"t": t, "value": value, **repeated})


def _samples(
    record: Record, series: Callable[[str], pa.Table], environment: Environment, metric: str, source: str
) -> tuple[Array, Array]:
    """When (s since the epoch) and what was sampled of one metric."""
    table = series(record.id)
    if metric == "cpu":
        return _cpu(record, cpu_use.over_time(table), environment)
    if not table.num_rows:
        return np.empty(0), np.empty(0)
    mine = table.filter(pc.and_(pc.equal(table["source"], source), pc.equal(table["metric"], metric)))
    return mine["t"].to_numpy(), mine["value"].to_numpy()


def _while_loaded(record: Record, t: Array, value: Array) -> tuple[Array, Array]:
    began, over = window(record)
    inside = (t >= began) & (t <= over)
    return t[inside] - load_began(record), value[inside]


def _cpu(record: Record, busy: Mapping[str, tuple[Array, Array]], environment: Environment) -> tuple[Array, Array]:
    """Cores in use, summed over the machines: of hosts that share one, each has seen all of it.

    At the moments of one of them: machines are sampled at moments of their own, in short loads twice a second.
    """
    # Where its client runs, the client speaks for the machine: the last one to be named does.
    named = sorted(busy, key=lambda host: host == record.client)
    machines = list({environment.machine_of(host): busy[host] for host in named}.values())
    if not machines:
        return np.empty(0), np.empty(0)
    t, cores = machines[-1]
    return t, cores + sum(np.interp(t, *other) for other in machines[:-1])


def spread(frame: pd.DataFrame, levels: Sequence[str]) -> str:
    """Mean of each panel, in words, for a figure's alt text."""
    if frame.empty:
        return "no samples"
    means = frame.groupby(list(levels), sort=False).value.mean().reset_index()
    return "; ".join(
        f"{', '.join(str(row[name]) for name in levels)}: mean {formatting.number(row['value'])}"
        for _, row in means.iterrows()
    )
