"""Sanity of every record, before anybody believes it, and what the repetitions of a campaign say of each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.analysis.cpu_use import HostUse, OfRecord
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Quantity, Record
from benchbook.campaign.validity import DISK_BY_OTHERS, cpu_was_taken
from benchbook.documents.units import is_rate, is_time
from benchbook.errors import counted
from benchbook.published.tables import Published
from benchbook.stats import latency

# Threads spend a little of their time outside a transaction: Little's law holds within this share in a closed loop.
LITTLE_TOLERANCE = 0.05
# A client that uses more of its machine than this may itself be the limit.
CLIENT_BUSY = 0.9
SHARED = "shares its machine with the servers"
IN_CLIENT = "the engine runs in the load generator: its CPU cannot tell which of them limits"


@dataclass(frozen=True)
class Check:
    """One question that a record answers: whether it passed, and what was found, in words with the figures."""

    trial: str
    check: str
    ok: bool
    found: str


def little(record: Record, *, own_time: bool = False, least_busy: float | None = None) -> Check:
    """Little (1961), Oper. Res. 9(3): requests in the system = throughput x mean time in it; here, the threads.

    `own_time`: its total is the time of its transactions alone, however long threads took to begin: it has no overrun.
    `least_busy`: the share of threads that is enough, where others wait for the load generator itself.
    """
    tps, mean = record.summary["tps"].value, record.summary["latency_mean_ms"].value
    threads = float(record.levels["threads"])
    # sysbench ends with transactions under way: those threads idle from their last transaction to the end.
    tolerance = LITTLE_TOLERANCE + _tail(record, own_time) if least_busy is None else 1 - least_busy
    law = latency.little(threads, tps, mean, tolerance=tolerance)
    ok = float(record.levels.get("rate") or record.asked.get("rate") or 0) > 0 or law.holds
    return Check(record.id, "Little's law", ok, f"{law.in_flight:.1f} of {threads:g} threads busy")


def _tail(record: Record, own_time: bool) -> float:
    """Share of the run in which threads may have been done already: the overrun past the time that was asked for."""
    total_s = record.summary["total_time_s"].value
    overrun = 0.0 if own_time else max(0.0, 1 - float(record.asked["time_s"]) / total_s)
    # Where no transaction was logged, the longest is not known.
    longest = record.summary.get("latency_max_ms")
    return overrun + (longest.value / 1000 / total_s if longest else 0.0)


def errors(record: Record) -> Check:
    """Errors that the report's own options ignore do not fail a trial, but they are shown."""
    ignored, again = record.summary["ignored_errors"].value, record.summary["reconnects"].value
    share = ignored / max(1.0, record.summary["events"].value)
    return Check(
        record.id, "errors", share <= 0.01 and again == 0, f"{ignored:g} ignored ({share:.2%}), {again:g} reconnects"
    )


def client_saturation(record: Record, hosts: Sequence[HostUse], environment: Environment) -> Check:
    """Share of the client host's cores in use while the load ran; of several clients, the busiest one's.

    Where the load generator is the engine as well, full cores are what was to be measured.
    """
    of = {host.host: host for host in hosts}
    shares = {name: _busy_share(of.get(name), environment) for name in record.proof.get("clients", [record.client])}
    known = {name: share for name, share in shares.items() if share is not None}
    if len(known) < len(shares):
        return Check(record.id, "client CPU", False, "no samples")
    busiest, share = max(known.items(), key=lambda item: item[1])
    where = f" on {busiest}, the busiest of {len(shares)} clients" if len(shares) > 1 else ""
    note = f"; it {SHARED}" if environment.shares_machine(busiest) else ""
    used = f"{share:.0%} of {counted(_cores(of[busiest], environment), 'core')}{where}"
    if environment.runs_in_client(record.system, busiest):
        return Check(record.id, "client CPU", True, f"{used}; {IN_CLIENT}")
    return Check(record.id, "client CPU", share <= CLIENT_BUSY, f"{used}{note}")


def _busy_share(client: HostUse | None, environment: Environment) -> float | None:
    cores = _cores(client, environment) if client else 0
    return client.busy / cores if client and cores else None


def _cores(client: HostUse, environment: Environment) -> int:
    """Return those that its programs may use."""
    facts = environment.hosts.get(client.host)
    return round(client.cores) if client.bound else facts.cores if facts else 0


def failed_probes(record: Record) -> list[Check]:
    """Probes that took not one sample during the trial, each with its last error; none is no check.

    Each is a check of its own: a page counts trials, and shows one example, per check.
    """
    failed = record.proof.get("failed_probes", {})
    return [Check(record.id, f"probe {who}", False, f"took no sample: {why}") for who, why in failed.items()]


def taken(record: Record) -> list[Check]:
    """CPU that others took from the trial's hosts, where that was looked at."""
    proof = record.proof
    if "stolen" not in proof:
        return []
    stolen, others = proof["stolen"], proof.get("others", 0.0)
    used = f", {others:.1%} used by other programs (most by {proof['program']})" if others and proof["program"] else ""
    tries, taken = len(proof["tries"]), cpu_was_taken(proof)
    of = f"; the first of {tries} tries that were disturbed alike" if tries > 1 and taken else ""
    of = of or (f"; try {tries}, after others were disturbed" if tries > 1 else "")
    return [Check(record.id, "CPU taken", not taken, f"{stolen:.1%} by other virtual machines{used}{of}")]


def disk_taken_by_others(record: Record) -> list[Check]:
    """Return the disk that others used beside the trial, where they did."""
    found = record.proof.get("disk_taken")
    if not found:
        return []
    most = f" (most by {found['program']})" if found["program"] else ""
    moved = f"{found['bytes_per_s'] / 1e6:.1f} MB/s for other programs{most}"
    ok = found["bytes_per_s"] <= DISK_BY_OTHERS
    return [Check(record.id, "disk taken", ok, f"{moved}, busy for {found['busy']:.0%} of the time")]


def all_checks(
    records: Sequence[Record],
    use: OfRecord,
    environment: Environment,
    of_record: Callable[[Record], list[Check]],
) -> pd.DataFrame:
    """[trial, check, ok, found] for every record: those of its kind, the client's, and probes that failed."""
    rows = [
        asdict(check)
        for record in records
        for check in (
            *of_record(record),
            client_saturation(record, use(record), environment),
            *failed_probes(record),
            *taken(record),
            *disk_taken_by_others(record),
        )
    ]
    return pd.DataFrame(rows, columns=["trial", "check", "ok", "found"])


LEAST_REPETITIONS = 3
# The chance that a drift is told where there is none.
ALPHA = 0.05


def repetitions_in_words(published: Published, records: Sequence[Record]) -> list[str]:
    """Return sentences on the repetitions, a drift first; none where no record has a rate or a time."""
    frame = rates(published, records)
    if frame.empty:
        return []
    if frame.repetition.nunique() < LEAST_REPETITIONS:
        return ["Fewer than three repetitions: a drift in their order, and one that stands apart, cannot be told."]
    return [*_drift(frame), _farthest(frame)]


def rates(published: Published, records: Sequence[Record]) -> pd.DataFrame:
    """Return [cell, repetition, value]: the `speed` of each record that has one."""
    rows = [(_cell(record), record.repetition, speed(published, record)) for record in records]
    frame = pd.DataFrame(rows, columns=["cell", "repetition", "value"])
    return frame[frame.value > 0].reset_index(drop=True)


def _cell(record: Record) -> str:
    levels = ", ".join(f"{key} {value}" for key, value in record.levels.items())
    return " ".join(filter(None, (record.table, record.system, f"({levels})" if levels else "")))


def speed(published: Published, record: Record) -> float:
    """Return the first rate of the record's table, or 1 over its first time; 0 where there is none."""
    table = published.tables.get(record.table)
    named = [name for name in (table.metrics if table else []) if name in record.summary]
    speeds = (_as_speed(record.summary[name]) for name in named or record.summary)
    return next((value for value in speeds if value), 0.0)


def _as_speed(quantity: Quantity) -> float:
    if is_rate(quantity.unit):
        return quantity.value
    return 1 / quantity.value if is_time(quantity.unit) and quantity.value else 0.0


def _drift(frame: pd.DataFrame) -> list[str]:
    """Test the slope of a line through the repetitions, each the mean of its cells: they are the units, no trials."""
    # Cells of which less was measured than of others would pull the first repetitions towards no effect.
    frame = frame[frame.groupby("cell").value.transform("size") >= LEAST_REPETITIONS]
    if frame.empty:
        return []
    logs = np.log(frame.value)
    effects = (logs - logs.groupby(frame.cell).transform("mean")).groupby(frame.repetition).mean()
    line = stats.linregress(effects.index.to_numpy(float), effects)
    if not line.pvalue < ALPHA:
        return []
    half = stats.t.ppf(0.975, len(effects) - 2) * line.stderr
    low, high = sorted(100 * abs(math.expm1(line.slope + side * half)) for side in (-1, 1))
    return [
        f"Rates {'fall' if line.slope < 0 else 'rise'} by {abs(math.expm1(line.slope)):.1%} from one repetition to the "
        f"next (95% interval {low:.1f} to {high:.1f}%, over {counted(frame.cell.nunique(), 'cell')}): intervals and "
        "verdicts do not cover that."
    ]


def _farthest(frame: pd.DataFrame) -> str:
    apart = frame.value / frame.groupby("cell").value.transform("median") - 1
    at = int(apart.abs().to_numpy().argmax())
    return (
        f"In {counted(frame.cell.nunique(), 'cell')}, no repetition is farther from its cell's median than "
        f"{apart.iloc[at]:+.1%}: repetition {frame.repetition.iloc[at]} of {frame.cell.iloc[at]}."
    )
