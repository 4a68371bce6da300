"""What is watched and scraped while a task runs, and the series that it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pandas as pd

from benchbook.errors import WorkloadFailed
from benchbook.probes import prometheus
from benchbook.probes.probe import make
from benchbook.probes.samples import COLUMNS
from benchbook.probes.scrape import Scraped, Target, scraping
from benchbook.probes.watch import Watched, watching
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.pipeline import Pipeline


@contextmanager
def observing(pipeline: Pipeline, every_s: float) -> Iterator[tuple[Watched, Scraped]]:
    """Watch the machines and the upstream, scrape DM and TiDB, while the block runs."""
    upstream, worker, tidb = pipeline.upstream.hosts[0], pipeline.dm.worker, pipeline.target.hosts[0]
    machines = {host.name: host for host in (pipeline.client, upstream, worker, tidb)}
    probes = [
        *(make("host", host) for host in machines.values()),
        make("mysql", upstream, pipeline.upstream.endpoints()[0]),
    ]
    status = f"http://{tidb.address}:{pipeline.target.status_port}/metrics"
    targets = [
        Target(worker, "dm", pipeline.dm.metrics_url, dm_summary.DM_MATCH),
        Target(tidb, "tidb", status, dm_summary.TIDB_MATCH),
    ]
    with ExitStack() as stack:
        watched = stack.enter_context(watching(pipeline.session, probes))
        scraped = stack.enter_context(scraping(pipeline.session, targets, every_s))
        yield watched, scraped


def samples_of(scraped: Scraped) -> dict[str, pd.DataFrame]:
    """The samples of DM and of TiDB. Raises WorkloadFailed where no scrape succeeded."""
    return {source: _of(scraped, source) for source in ("dm", "tidb")}


def _of(scraped: Scraped, source: str) -> pd.DataFrame:
    frame = prometheus.read_samples(scraped.samples)
    mine = frame[frame.source == source]
    if mine.empty:
        failed = prometheus.failed_scrapes(scraped.samples)
        said = failed[failed.source == source].error.tolist()[-1:]
        raise WorkloadFailed(f"no scrape of {source}'s metrics succeeded: {said or 'none was made'}")
    return mine


def series_of(
    pipeline: Pipeline, watched: Watched, samples: dict[str, pd.DataFrame], *more: pd.DataFrame
) -> pd.DataFrame:
    """All of it as rows of the long table."""
    hosts = {"dm": pipeline.dm.worker.name, "tidb": pipeline.target.hosts[0].name}
    parts = [watched.series, dm_summary.to_series(samples["dm"], samples["tidb"], hosts), *more]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]
