"""What a campaign came to, in few words and as results.json: what ran on what, what interfered, and what it took."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchbook import paths
from benchbook.analysis import results
from benchbook.analysis.beside import in_rows
from benchbook.analysis.formatting import span
from benchbook.analysis.results import Circumstances, JudgedClaim, MachineTime, Results, SystemSummary
from benchbook.audit.report_audit import audit
from benchbook.campaign.environment import Asked, Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import DISK_BY_OTHERS, cpu_was_taken, lost_share
from benchbook.grouping import grouped
from benchbook.hosts.host_models import HostFacts
from benchbook.published.hardware import server_cores
from benchbook.published.report_file import HostFact, SystemFact
from benchbook.published.tables import Published
from benchbook.stats.estimates import mean_interval

_CLIENT = "client"
# What a load may have a number of, as it stands in the plan, instead of a duration.
_COUNTED = ("puts", "reads", "requests")
# How the data that a load was asked to prepare is told, by the name of its size in the plan.
_DATA = {
    "documents": "{:,} documents",
    "records": "{:,} records",
    "keys": "{:,} keys",
    "warehouses": "{:,}-warehouse data",
    "scale": "data of scale {:,}",
}
# A host is slow from this share on: over a load of 2 s the median was within 12% of the usual one. Of two loads nobody
# knows which is usual.
SLOWED, ENOUGH = 0.2, 2

_IMPORTED = (
    "These are imported logs, circumstances unknown: nobody wrote down on which hosts, with which settings, on which "
    "data and in which order they ran."
)


def of_campaign(published: Published, campaign: Campaign) -> Circumstances:
    """Hosts, sizes and durations of a campaign beside those of its report; empty texts where nothing is known."""
    about, report = campaign.environment(), published.report
    records = campaign.records()
    machines = [[about.hosts[name] for name in names] for names in grouped(about.hosts, about.machine_of).values()]
    return Circumstances(
        where=_where(about),
        data=_data(campaign),
        unsure=_IMPORTED if campaign.imported else unsure(records),
        crowded=crowded(records),
        hosts=[_machine(each) for each in machines],
        load=_load(campaign, about),
        measured_by=about.measured_by,
        scaled=campaign.scaling.of_tables_in(records).levels if campaign.scaling else {},
        published_product=f"{report.document.product} {_printed(report.document.version)}".strip(),
        published_url=report.document.url,
        published_date=report.published,
        published_cores=server_cores(report),
        published_systems=[_system(each) for each in report.systems],
        published_hosts=_hosts(report.hosts),
        published_load=_published_load(published),
    )


def unsure(records: Sequence[Record]) -> str:
    """Return a sentence where rates are none to rely on, with one of them; empty else, and of older kits' records."""
    found = [record for record in records if record.proof.get("unsure")]
    if not found:
        return ""
    many = f"The rates of {len(found)} of {len(records)} trials are not to be relied on."
    return f"{many} For example, {found[0].system}: {found[0].proof['unsure']}."


def crowded(records: Sequence[Record]) -> str:
    """A sentence for what trials that count had to do without: CPU that others took, speed of the machine; or empty."""
    return " ".join(filter(None, [_taken(records), _slowed(records)]))


def _taken(records: Sequence[Record]) -> str:
    found = [record.proof for record in records if cpu_was_taken(record.proof)]
    if not found:
        return ""
    worst = max(found, key=lambda proof: lost_share(proof) or 0.0)
    program = worst.get("program")
    who = f"Other programs, most by {program}," if program else "Other virtual machines"
    up_to = f"up to {lost_share(worst):.0%} of the CPU"
    return f"{who} took {up_to} during {len(found)} of {len(records)} loads: run it again on a machine left alone."


def _slowed(records: Sequence[Record]) -> str:
    """Tell of hosts that computed more slowly than usual: clocked down, or beside a neighbour on the same core.

    A busy core computes more slowly, too, so that this chooses no trial: it is told, and each cell is its own measure.
    """
    rows = [
        {"cell": (one.table, one.system, *sorted(one.levels.items())), "host": host, "speed": speed, "load": number}
        for number, one in enumerate(records)
        for host, speed in one.proof.get("speed", {}).items()
    ]
    found = pd.DataFrame(rows, columns=["cell", "host", "speed", "load"])
    by_cell = found.groupby(["cell", "host"]).speed
    found["less"] = (1 - found.speed / by_cell.transform("median")).where(by_cell.transform("size") > ENOUGH)
    slow = found[found.less > SLOWED]
    if slow.empty:
        return ""
    worst = slow.sort_values("less").iloc[-1]
    return (
        f"The machine itself was slow: {worst.host} did up to {worst.less:.0%} less per CPU-second than in "
        f"other loads of the same cell, in {slow.load.nunique()} of {found.load.nunique()} loads."
    )


def _where(about: Environment) -> str:
    """ "2 shared cores", "3 machines with 48 cores"; the machines that carry the load alone do not count."""
    engines = {name for name in about.hosts for system in about.systems if about.runs_in_client(system, name)}
    serving = [
        [about.hosts[name] for name in names]
        for names in grouped(about.hosts, about.machine_of).values()
        if any(name in engines or set(about.hosts[name].roles) != {_CLIENT} for name in names)
    ]
    cores = sum(each[0].cores for each in serving)
    if not cores:
        return ""
    if len(serving) > 1:
        return f"{len(serving)} machines with {cores} cores"
    roles = {role for host in serving[0] for role in host.roles}
    shared = _CLIENT in roles and roles != {_CLIENT}
    return f"{cores} {'shared ' if shared else ''}{'core' if cores == 1 else 'cores'}"


def _machine(hosts: list[HostFacts]) -> str:
    first = hosts[0]
    memory = f", {(first.memory_bytes or 0) / 1e9:.0f} GB" if first.memory_bytes else ""
    virtual = ", virtual" if first.virtual else ""
    shared = len(hosts) > 1 and any(_CLIENT in host.roles for host in hosts)
    carries = (
        f"; {len(hosts)} hosts of the report share it{', the load too' if shared else ''}" if len(hosts) > 1 else ""
    )
    return f"{first.cores} cores ({first.cpu_model or 'CPU not known'}){memory}{virtual}{carries}"


def _data(campaign: Campaign) -> str:
    """ "1,000-row tables", "15,000 documents"; empty where the campaign asked for no size."""
    asked = campaign.asked
    for name, said in _DATA.items():
        if _whole(asked.get(name)) and asked[name]:
            return said.format(asked[name])
    rows = [int(found) for found in re.findall(r"\d+", str(asked.get("table_size", "")))]
    if not rows:
        return ""
    return f"{rows[0]:,}-row tables" if len(rows) == 1 else f"tables of up to {max(rows):,} rows"


def _load(campaign: Campaign, about: Environment) -> list[str]:
    asked = campaign.asked
    times = Counter(f"{trial.cell.table} {trial.cell.system} {trial.cell.levels}" for trial in campaign.trials)
    tables, data = asked.get("tables"), _data(campaign)
    if _whole(tables) and _whole(asked.get("table_size")):
        data = f"{tables} tables of {asked['table_size']:,} rows"
    return [
        *_length(asked),
        f"{span(times.values())} repetition{'' if set(times.values()) == {1} else 's'}",
        *([data] if data else []),
        *([about.load_generator] if about.load_generator else []),
    ]


def _length(asked: Asked) -> list[str]:
    """Return how long a load was; of a generator that counts requests instead of seconds, how many it sent."""
    counted = [f"{asked[name]:,} {name}" for name in _COUNTED if _whole(asked.get(name))]
    if counted:
        several = asked.get("together", 1)
        more = [f"{several} times as many with several clients"] if _whole(several) and several > 1 else []
        return [f"{' or '.join(counted)} per load", *more]
    return [f"{asked['time_s']:g} s per load"] if asked.get("time_s") else []


def _published_load(published: Published) -> list[str]:
    fixed = grouped(
        ((key, value) for each in published.report.design for key, value in each.fixed.items()), lambda pair: pair[0]
    )
    said = {key: sorted({v for _, v in pairs if _whole(v)}) for key, pairs in fixed.items()}
    texts = []
    if said.get("time_s"):
        everywhere = all(published.duration_s(each.table) for each in published.report.design)
        texts.append(f"{span(said['time_s'])} s per load{'' if everywhere else ' where stated'}")
    if said.get("tables") and said.get("table_size"):
        texts.append(f"{span(said['tables'])} tables of {span(said['table_size'])} rows")
    return texts


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _printed(version: str) -> str:
    return "" if version == "not printed" else version


def _system(fact: SystemFact) -> str:
    count = f"{fact.nodes} x " if fact.nodes > 1 else ""
    return f"{count}{fact.name} {fact.version or ''}".strip()


def _hosts(facts: Iterable[HostFact]) -> list[str]:
    """Equal hosts as one line: "6 x 40 vCPUs, 192GB"."""
    alike = grouped(facts, lambda fact: (fact.hardware, _brief(fact.cpu), _brief(fact.memory)))
    return [
        f"{sum(fact.count for fact in part)} x {', '.join(filter(None, key)) or part[0].name or part[0].address}"
        for key, part in alike.items()
    ]


def _brief(text: str | None) -> str:
    return (text or "").split(",")[0]


def first_tries_in_words(records: Sequence[Record], disturbed: Sequence[Record]) -> str:
    """Return how what counts differs from first tries from which others took something; "" where none was run again.

    A standing check: a gate that chooses by what the system under test did shows here.
    """
    first = {one.id.rpartition(".")[0]: one for one in disturbed if one.id.endswith(".1") and _others_took(one)}
    ratios = [
        math.log(counted.value / tried.value)
        for record in records
        if record.id in first
        for name in list(record.summary)[:1]
        if (counted := record.summary[name]).value and (tried := first[record.id].summary[name]).value
    ]
    if not ratios:
        return ""
    said = f"Of {len(ratios)} trials that were run again because others took CPU or disk, what counts "
    if len(ratios) < 2:
        return f"{said}is {math.exp(ratios[0]):.2f}x the first try."
    found = mean_interval(ratios)
    span = f"95% interval {math.exp(found.low):.2f} to {math.exp(found.high):.2f}"
    return f"{said}is {math.exp(found.value):.2f}x the first try in the mean ({span})."


def _others_took(one: Record) -> bool:
    disk = one.proof.get("disk_taken", {}).get("bytes_per_s", 0)
    return not one.proof.get("stopped") and (cpu_was_taken(one.proof) or disk > DISK_BY_OTHERS)


def stalls_in_words(records: Sequence[Record]) -> str:
    """Return how often, and how long at most, the systems under test did nothing under load; "" if they never did."""
    seen = [(record.proof["stalls"], record) for record in records if "stalls" in record.proof]
    if not seen:
        return ""
    count = sum(stalls["count"] for stalls, _ in seen)
    longest, worst = max(seen, key=lambda one: float(one[0]["longest_s"]))
    times = "once" if count == 1 else f"{count} times"
    return (
        f"In {len(seen)} of {len(records)} trials the system under test came to a halt, {times} in all, for "
        f"{longest['longest_s']:g} s at most ({worst.id}). Load generator, hosts and servers were running meanwhile: "
        "these stalls are the system's own, and count."
    )


# Loads that take less than this share of the published durations do not stand in for them: no time is said to be saved.
COMPARABLE = 0.01


def load_left(campaign: Campaign) -> str:
    """Return how long the load of the missing trials will take, in words; "" where nobody can know it."""
    left, each_s = len(campaign.missing()), campaign.asked.get("time_s")
    if not left or not each_s:
        # Where a load ends when its work is done, nobody knows beforehand how long it takes.
        return ""
    added = "; repetitions may be added" if campaign.asked.get("repeat") else ""
    return f"{left * each_s / 60:.1f} min of load{added}"


def load_s(record: Record) -> float:
    """Return seconds of load: the total time, or from start to end of what prints none (a transfer, a ladder rung)."""
    said = record.summary.get("total_time_s")
    return said.value if said else float((record.ended or 0) - (record.started or 0))


def account(published: Published, campaign: Campaign) -> MachineTime:
    """Return what the recorded trials took, and how long they would have taken at the report's durations."""
    records = campaign.records()
    stated = [seconds for record in records if (seconds := published.duration_s(record.table))]
    load = sum(map(load_s, records))
    whole = sum(stated) if records and len(stated) == len(records) else None
    return MachineTime(
        trials=len(records),
        load_s=load,
        wall_s=campaign.spent_s,
        published_s=whole,
        share=load / whole if whole else None,
        planned=campaign.planned,
        ended=campaign.environment().repetitions_ended,
    )


def time_in_words(spent: MachineTime) -> str:
    """Return the account as sentences."""
    said = [f"{spent.load_s / 60:.1f} min of load in {spent.wall_s / 60:.1f} min of wall time."]
    if spent.published_s and spent.share is not None and spent.share >= COMPARABLE:
        saved = (spent.published_s - spent.load_s) / 3600
        whole = f"At the published durations the same {spent.trials} trials load for {spent.published_s / 3600:.1f} h"
        gain = f"{saved:.1f} h saved" if saved > 0 else f"{-saved:.1f} h more"
        said.append(f"{whole}: {spent.share:.1%} of that was spent, {gain}.")
    if spent.trials > spent.planned:
        said.append(f"{spent.trials - spent.planned} trials were added to the {spent.planned} of the plan.")
    if spent.ended:
        said.append(f"No more were added because {spent.ended}.")
    return " ".join(said)


def write_results(
    published: Published, campaign: Campaign, beside: pd.DataFrame, claims: Sequence[JudgedClaim] = ()
) -> Path:
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
        setting=of_campaign(published, campaign),
        trials=results.counted(campaign),
        cells=in_rows(beside),
        machine_time=account(published, campaign),
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
