"""What is watched and scraped while a task runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchbook.hosts.endpoint import at
from benchbook.probes.probe import make, of_others, of_profile
from benchbook.probes.scrape import Scraped, Target, scraping
from benchbook.probes.watch import Watched, watching
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.pipeline import Pipeline


def machines_every_s(sample_s: float) -> float:
    """How often machines are sampled, where DM and TiDB are every `sample_s`.

    A dump and load may be over in a second: one sample of it is as much of the quiet around it.
    """
    return sample_s / 2


@contextmanager
def observing(pipeline: Pipeline, sample_s: float) -> Iterator[tuple[Watched, Scraped]]:
    """Watch the machines and the upstream, scrape DM and TiDB every `sample_s`, while the block runs."""
    upstream, worker, tidb = pipeline.upstream.hosts[0], pipeline.dm.worker, pipeline.target.hosts[0]
    machines = {host.name: host for host in (pipeline.client, upstream, worker, tidb)}
    ends = ((upstream, pipeline.upstream.endpoints()[0]), (tidb, pipeline.target.endpoints()[0]))
    servers = [(host, end, host.name) for host, end in ends]
    probes = [
        *(make("host", host, every_s=machines_every_s(sample_s)) for host in machines.values()),
        *of_others(machines.values()),
        make("mysql", upstream, pipeline.upstream.endpoints()[0]),
        *of_profile(pipeline.profile.probes, machines.values(), servers),
    ]
    status = f"http://{at(tidb.address, pipeline.target.status_port)}/metrics"
    targets = [
        Target(worker, "dm", pipeline.dm.metrics_url, dm_summary.DM_MATCH),
        Target(tidb, "tidb", status, dm_summary.TIDB_MATCH),
    ]
    with ExitStack() as stack:
        watched = stack.enter_context(watching(pipeline.session, probes))
        scraped = stack.enter_context(scraping(pipeline.session, targets, sample_s))
        yield watched, scraped
