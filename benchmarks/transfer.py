"""What our transfer costs beside `mongodump | mongorestore`, on the same servers in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from benchbook import published
from benchbook.build import programs
from benchbook.campaign import design
from benchbook.campaign.design import Cell, Levels, Trial
from benchbook.campaign.record import Quantity
from benchbook.hosts import lab
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest
from benchbook.reports.transfer import transfer_kind
from benchbook.reports.transfer.copying import Transfer
from benchbook.reports.transfer.transfer_kind import PEER_LEVELS, PEER_TABLE, TransferParameters
from benchbook.stats.estimates import mean_interval
from benchmarks.lab import ratio
from mongo_transfer.settings import cores

REPORT = "ddt_full_scale"
# Starting Python costs as much CPU as some 30,000 documents: with fewer, that is what would be compared.
PAIRS, DOCUMENTS = 5, 100_000
# Our transfer as somebody would start it: the defaults of its command.
DEFAULTS: Levels = {
    "source_threads": 2,
    "target_threads": 6,
    "cache_bucket_size": 8,
    "cache_bucket_num": 8,
    "data_batch_size": 1000,
}
# Buckets, and batches in each, of 128 documents: a bound of 512 to 32,768 documents in flight.
CACHES = (2, 4, 8, 16)

Summary = dict[str, Quantity]


def measure(console: Console) -> dict[str, object]:
    """documents/s of our transfer over those of mongodump | mongorestore, CPU, the bound, memory by cache size"""
    ours, theirs = _trial("pymongo", "bench", DEFAULTS), _trial("mongodump", PEER_TABLE, PEER_LEVELS)
    with _running() as experiment:
        experiment.begin([ours], lambda step: None)
        pairs = [_pair(experiment, (ours, theirs), console, number) for number in range(PAIRS)]
        sweep = [_by_cache(experiment, size, console) for size in CACHES]
    return {**compared(pairs, cores()), "documents": DOCUMENTS, "memory_by_cache": sweep}


def compared(pairs: list[tuple[Summary, Summary]], machine: int) -> dict[str, object]:
    """Ratios ours/theirs with 95% intervals over the pairs (of logarithms), and CPU s per million documents.

    `rate_ratio_bound`: of a copier that takes nothing of the `machine` cores that it shares with the servers, and
    leaves none of them idle, where the servers take what they take for ours.
    """
    return {
        "rate_ratio": _ratio(pairs, "wall_qps"),
        "cpu_ratio": _ratio(pairs, "cpu_s_per_million"),
        "cpu_s_per_million": _of_both(pairs, lambda summary: summary["cpu_s_per_million"].value),
        "servers_cpu_s_per_million": _of_both(pairs, _servers_cpu),
        "rate_ratio_bound": ratio([_bound(*pair, machine) for pair in pairs]),
        "pairs": len(pairs),
    }


def _of_both(pairs: list[tuple[Summary, Summary]], figure: Callable[[Summary], float]) -> dict[str, object]:
    return {
        name: mean_interval([figure(pair[side]) for pair in pairs])._asdict()
        for side, name in enumerate(("pymongo", "mongodump"))
    }


def _servers_cpu(summary: Summary) -> float:
    """CPU s of source and target together per million documents, while they were copied."""
    used = summary["source_cores"].value + summary["target_cores"].value
    return 1e6 * used * summary["total_time_s"].value / summary["documents"].value


def _bound(ours: Summary, theirs: Summary, machine: int) -> tuple[float, float]:
    """Documents/s of which the two servers alone are the limit, and theirs."""
    return 1e6 * machine / _servers_cpu(ours), theirs["wall_qps"].value


def _ratio(pairs: list[tuple[Summary, Summary]], metric: str) -> dict[str, float]:
    return ratio([(ours[metric].value, theirs[metric].value) for ours, theirs in pairs])


def _pair(experiment: Transfer, trials: tuple[Trial, Trial], console: Console, number: int) -> tuple[Summary, Summary]:
    """Both on an empty target each, in alternating order."""
    found: dict[str, Summary] = {}
    for trial in trials if number % 2 == 0 else reversed(trials):
        found[trial.cell.system] = experiment.measure(trial, lambda into, rate: None).summary
    rates = ", ".join(f"{name} {summary['wall_qps'].value:.0f} documents/s" for name, summary in found.items())
    console.print(f"  pair {number + 1}/{PAIRS}: {rates}")
    return found["pymongo"], found["mongodump"]


def _by_cache(experiment: Transfer, size: int, console: Console) -> dict[str, float]:
    levels = {**DEFAULTS, "cache_bucket_size": size, "cache_bucket_num": size, "data_batch_size": 128}
    measured = experiment.measure(_trial("pymongo", "bench", levels), lambda into, rate: None)
    said = measured.proof["said"]
    found = {
        "cache": size,
        "documents_in_flight_bound": said["knobs"]["documents_in_flight_bound"],
        "most_documents_in_flight": said["most_documents_in_flight"],
        "peak_rss_mb": said["peak_rss_mb"],
    }
    console.print(f"  cache {size} x {size} x 128: {found}")
    return found


def _trial(engine: str, table: str, levels: Levels) -> Trial:
    (planned,) = design.plan([Cell(table=table, system=engine, levels=levels)], 1, seed=1, asked={"bench": time.time()})
    return planned


@contextmanager
def _running() -> Iterator[Transfer]:
    parameters = TransferParameters(inventory="lab_ddt", engines=["pymongo", "mongodump"], documents=DOCUMENTS)
    inventory = load_inventory(parameters.inventory)
    kind = transfer_kind.TransferKind()
    request = RunRequest(kind, published.load(REPORT), parameters, load_profile("smoke"), inventory)
    for name in kind.builds(request):
        programs.build(name)
    experiment = kind.experiment(request)
    with lab.up_while_used(inventory, lambda said: None), experiment.running():
        yield experiment
