"""What a trial of DM left when it was over, and the measurement made of it. Pure: no host, no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.campaign.experiment import Measurement
from benchbook.campaign.validity import declared_rates
from benchbook.errors import WorkloadFailed
from benchbook.hosts.agent import Ended
from benchbook.hosts.host_models import Json
from benchbook.probes import prometheus
from benchbook.probes.samples import COLUMNS, LATE, STEP
from benchbook.probes.watch import Watched
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.dm_log import finished, rows_per_statement, unit_runs
from benchbook.reports.dm.task import TASK
from benchbook.systems import dm_config
from benchbook.workloads import sysbench_output
from benchbook.workloads.sysbench_output import interval_series

# The sources of what is scraped.
SCRAPED = ("dm", "tidb")


@dataclass(frozen=True)
class DmOutcome:
    """What a trial left: its task, when it was watched, and what was seen.

    `hosts` maps "client", "dm" and "tidb" to host names.
    """

    task: dm_config.Task
    hosts: Mapping[str, str]
    started: float
    ended: float
    watched: Watched

    def full(
        self, *, sample_s: float, load_bytes: int, progress: Sequence[tuple[float, float]], log: str, statements: str
    ) -> Measurement:
        """Return the measurement of a dump and load. Raise OutputNotParseable for a log without a finished one.

        progress : (s since the epoch, bytes loaded); log : dm-worker's; statements : as `dm_log.count_command` prints.
        """
        runs = unit_runs(log, TASK)
        dump, load = (finished(runs, TASK, unit) for unit in ("Dump", "Load"))
        samples = samples_of(self.watched)
        summary = dm_summary.of_full(
            samples["dm"],
            prometheus.between(samples["tidb"], load.began - sample_s, self.ended),
            dump_s=dump.seconds or 0.0,
            load_s=load.seconds or 0.0,
            load_bytes=load_bytes,
            rows_per_statement=rows_per_statement(statements),
        )
        loaded = pd.DataFrame(progress, columns=["t", "value"]).assign(
            host=self.hosts["dm"], source="dm", metric="loaded_bytes", unit="B"
        )
        return self._measurement(
            command="dm-ctl start-task task.yaml",
            # By DM's own log: what stands before and after is asking and waiting, and would pass for idle cores.
            started=dump.began,
            # Machines are sampled twice as often as DM (see pipeline): in so many seconds one sample begins and ends.
            ended=min(self.ended, max(load.ended or self.ended, dump.began + sample_s)),
            exit_status=None,
            summary=summary,
            histogram=[],
            output=dm_config.task_file(self.task, redacted=True),
            series=series_of(self.hosts, self.watched, samples, loaded),
            proof={},
        )

    def sync(self, *, command: str, load: Ended, printed: str) -> Measurement:
        """Return that of a sync under load, which ran until its job's end for as long as its output says."""
        output, samples = sysbench_output.parse(printed), samples_of(self.watched)
        samples["dm"] = dm_summary.with_updates_once(samples["dm"])
        began = load.ended - output.summary["total_time_s"]
        mysql = self.watched.series[self.watched.series.source == "mysql"]
        applied = dm_summary.grown(samples["dm"], dm_summary.JOBS, **dm_summary.ROWS)
        lag = dm_summary.lag(samples["dm"], dm_summary.committed(mysql, applied), began)
        rows = [interval_series(output, load, self.hosts["client"]), dm_summary.lag_series(lag, self.hosts["dm"])]
        return self._measurement(
            command=command,
            started=began,
            ended=self.ended,
            exit_status=load.exit,
            summary=dm_summary.of_sync(samples["dm"], samples["tidb"], output.summary, lag, began, load.ended),
            histogram=output.histogram,
            output=f"{printed}\n{dm_config.task_file(self.task, redacted=True)}",
            series=series_of(self.hosts, self.watched, samples, *rows),
            proof=declared_rates("sysbench", 1.0, began, load.ended),
        )

    def _measurement(self, *, proof: Json, **found: Any) -> Measurement:
        known = {**self.watched.proof, **proof}
        # Its progress and its end are what the driver saw of dm-master's answers.
        return Measurement(client=self.hosts["client"], proof=known, timed_by_driver=True, **found)


def samples_of(watched: Watched) -> dict[str, pd.DataFrame]:
    """Return the scrapes of DM and of TiDB. Raise WorkloadFailed where none succeeded."""
    frame = prometheus.scraped(watched.series[watched.series.source.isin(SCRAPED)])
    for source in SCRAPED:
        if not (frame.source == source).any():
            failed = [why for who, why in watched.failed.items() if who.startswith(f"{source}@")]
            raise WorkloadFailed(f"no scrape of {source}'s metrics succeeded: {failed or 'none was made'}")
    return {source: frame[frame.source == source] for source in SCRAPED}


def series_of(
    hosts: Mapping[str, str], watched: Watched, samples: dict[str, pd.DataFrame], *more: pd.DataFrame
) -> pd.DataFrame:
    """Return all of it as rows of the long table, with rates in place of what was scraped.

    hosts : "dm" and "tidb" by the names of their hosts.
    """
    seen = watched.series
    kept = seen[~seen.source.isin(SCRAPED) | seen.metric.isin([LATE, STEP])]
    parts = [kept, dm_summary.to_series(samples["dm"], samples["tidb"], hosts), *more]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]
