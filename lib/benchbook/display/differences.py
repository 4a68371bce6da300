"""What a reader must know before she compares: hosts, plan, environments, checks, and what the loads took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
from IPython.display import HTML

from benchbook.analysis import summary
from benchbook.analysis.formatting import number, span
from benchbook.analysis.summary import account, load_s, time_in_words
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.display import show
from benchbook.errors import counted
from benchbook.grouping import grouped
from benchbook.hosts.host_models import HostFacts, Survey
from benchbook.hosts.inventory import Inventory
from benchbook.published.tables import Published


def published_hosts(published: Published) -> HTML:
    rows = [
        {
            "host": h.name or h.address,
            "count": h.count,
            "runs": ", ".join(h.runs),
            "hardware": ", ".join(filter(None, (h.hardware, h.cpu, h.memory, h.disk, h.network))),
        }
        for h in published.report.hosts
    ]
    return show.table(rows, "Published topology")


def hosts_here(inventory: Inventory) -> HTML:
    rows = [{"host": n, "address": h.address, "roles": ", ".join(h.roles)} for n, h in inventory.hosts.items()]
    ends = [
        {"host": n, "address": f"{e.host}:{e.port}", "roles": f"existing server: {e.product or n}"}
        for n, e in inventory.endpoints.items()
    ]
    what = f" ({inventory.description})" if inventory.description else ""
    return show.table(rows + ends, f"Hosts of inventory {inventory.name}{what}")


def recorded_hosts(campaign: Campaign) -> HTML:
    """Return the hosts of a recorded campaign."""
    hosts = campaign.environment().hosts
    rows = [{"host": name, "address": f.address, "roles": ", ".join(f.roles)} for name, f in hosts.items()]
    return show.table(rows, f"Hosts of inventory {campaign.inventory}, as recorded")


def plan(campaign: Campaign) -> HTML:
    """Return trials per table and system, what is done already, and how long the load alone will take."""
    missing = {trial.id for trial in campaign.missing()}
    rows = [
        {
            "table": table,
            "system": system,
            "cells": len({str(t.cell.levels) for t in part}),
            "repetitions": _repetitions(part),
            "trials": len(part),
            "to do": sum(t.id in missing for t in part),
        }
        for (table, system), part in sorted(grouped(campaign.trials, lambda t: (t.cell.table, t.cell.system)).items())
    ]
    caption = f"Campaign {campaign.id}: {counted(len(campaign.trials), 'trial')}, {len(missing)} to do"
    said = ", ".join(filter(None, (caption, summary.load_left(campaign))))
    return show.table(rows, ". ".join(filter(None, (said, _measured_less(campaign)))))


def _repetitions(trials: Iterable[Trial]) -> str:
    """Return how often each cell is measured, from the least to the most: "4 to 9"."""
    return span(Counter(trial.cell.key for trial in trials).values())


def _measured_less(campaign: Campaign) -> str:
    """Return how many cells were planned to be measured less often than others, and why."""
    counts = Counter(trial.cell.key for trial in campaign.trials[: campaign.plan.planned])
    most = max(counts.values(), default=0)
    less = [count for count in counts.values() if count < most]
    if not less:
        return ""
    times = "once" if max(less) == 1 else f"at most {max(less)} times"
    return f"{len(less)} of {len(counts)} cells are measured {times}: they decide no claim that can be tested here"


def environment(published: Published, campaign: Campaign) -> HTML:
    """Systems, sizes and hosts: published, and here."""
    about = campaign.environment()
    parts = [_systems(published, about), _sizes(published, campaign), _hosts(about), _tuned(about), _waived(about)]
    return show.stack([part for part in parts if part is not None])


def _systems(published: Published, about: Environment) -> HTML:
    said = [
        {
            "": "published",
            "product": f"{s.name} {s.version or ''}".strip(),
            "what to know": ", ".join(filter(None, (counted(s.nodes, "node"), s.note))),
        }
        for s in published.report.systems
    ]
    here = [
        {
            "": "here",
            "product": f"{s.title} {s.version}",
            "what to know": ";\n".join([*([f"stands in for {s.stand_in_for}"] if s.stand_in_for else []), *s.notes]),
        }
        for s in about.systems.values()
    ]
    if about.load_generator is not None:
        here.append({"": "here", "product": about.load_generator, "what to know": "load generator"})
    return show.table(said + here, "Systems")


def _sizes(published: Published, campaign: Campaign) -> HTML:
    """Return every published setting of the design that has a counterpart in what was asked for here."""
    fixed = [setting for experiment in published.report.design for setting in experiment.fixed.items()]
    rows = [
        {
            "setting": key,
            "published": ", ".join(dict.fromkeys(_written(value) for _, value in values)),
            "here": _written(campaign.asked.get(key, "no parameter of this name")),
        }
        for key, values in grouped(fixed, lambda setting: setting[0]).items()
    ]
    rows += _options(published, campaign)
    extra = {"repetitions": _repetitions(campaign.trials), "reset between repetitions": campaign.asked.get("reset")}
    rows += [{"setting": name, "published": "not stated", "here": str(value)} for name, value in extra.items()]
    return show.table(rows, f"Sizes and durations (profile {campaign.profile})")


def _written(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _options(published: Published, campaign: Campaign) -> list[dict[str, str]]:
    """Options that the loads were given, beside those of the report, a row for each set of both."""
    asked = campaign.asked.get("options")
    here = asked if isinstance(asked, dict) else {}
    pairs = [(" ".join(each.options), " ".join(map(str, here.get(each.name, [])))) for each in published.report.design]
    return [
        {"setting": "options", "published": printed or "none stated", "here": run or "none"}
        for printed, run in dict.fromkeys(pairs)
        if run
    ]


def _hosts(about: Survey) -> HTML | None:
    """One line per machine: lab hosts that share one say so."""
    machines = grouped(about.hosts, about.machine_of)
    rows = [_machine(names, about.hosts) for names in machines.values()]
    shared = any(len(names) > 1 for names in machines.values())
    note = ": hosts on one line are one machine, so load and servers share its cores" if shared else ""
    return show.table(rows, f"Host facts{note}") if rows else None


def _machine(names: list[str], hosts: Mapping[str, HostFacts]) -> dict[str, object]:
    f = hosts[names[0]]
    # They have one clock: of all exchanges with it, the one with the shortest round trip knows it best.
    best = min((hosts[name] for name in names), key=lambda facts: facts.clock_error_s)
    return {
        "hosts": ", ".join(names),
        "CPU": f"{f.cores} x {f.cpu_model}",
        "memory": f"{(f.memory_bytes or 0) / 1e9:.0f} GB",
        "disk": f"{f.disk_kind}, {f.filesystem}",
        "OS and kernel": f"{f.os}, {f.kernel}",
        "governor / turbo / THP": f"{f.governor} / {f.turbo} / {f.thp}",
        "idle CPUs": f.idle,
        "free page reporting": f.page_reporting,
        "NUMA nodes": f.numa_nodes,
        "clock offset": f"{1000 * best.clock_offset_s:.0f} ± {1000 * best.clock_error_s:.0f} ms",
    }


def _tuned(about: Survey) -> HTML | None:
    rows = [
        {"host": host, "setting": knob, "was": seen["was"], "for the run": seen["now"]}
        for host, knobs in about.tuned.items()
        for knob, seen in knobs.items()
    ]
    return show.table(rows, "Set for the run, and put back after it") if rows else None


def _waived(about: Survey) -> HTML | None:
    alike = grouped(about.findings, lambda f: (f.what, f.found, f.wanted))
    rows = [
        {"what": what, "found": found, "a benchmark wants": wanted, "hosts": ", ".join(f.host for f in part)}
        for (what, found, wanted), part in alike.items()
    ]
    return show.table(rows, "Known problems of the hosts, accepted for this run") if rows else None


def check_summary(found: pd.DataFrame) -> HTML:
    """Counts per check; below, every trial that fails one."""
    if found.empty:
        return show.paragraph("No records to check.")
    rows = [
        {
            "check": name,
            "trials": len(part),
            "passed": int(part.ok.sum()),
            "failed": int((~part.ok).sum()),
            "for example": part.sort_values("ok").found.iloc[0],
        }
        for name, part in found.groupby("check", sort=False)
    ]
    parts = [show.table(rows, "Checks on every record")]
    bad = [
        {"check": check, "trials": len(part), "such as": part.trial.iloc[0], "found": part.found.iloc[0]}
        for check, part in found[~found.ok].groupby("check", sort=False)
    ]
    return show.stack([*parts, show.table(bad, "Failed checks")] if bad else parts)


def time_spent(published: Published, campaign: Campaign) -> HTML:
    """Return trials and seconds of load per table, and the sum against the published durations."""
    tables = grouped(campaign.records(), lambda record: record.table)
    rows = [_load_of(published, table, part) for table, part in tables.items()]
    said = time_in_words(account(published, campaign))
    return show.stack([show.table(rows, "Load time per table"), show.paragraph(said)])


def _load_of(published: Published, table: str, records: Sequence[Record]) -> dict[str, object]:
    seconds, stated = [load_s(record) for record in records], published.duration_s(table)
    return {
        "table": table,
        "trials": len(records),
        "load": f"{sum(seconds):.0f} s",
        "shortest and longest": f"{number(min(seconds))} to {number(max(seconds))} s",
        "published": f"{stated:.0f} s each" if stated else "not stated",
    }
