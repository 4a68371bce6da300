"""What `benchbook list`, `runs` and `plan` print: what there is, what was run, and what a run can say.

A report, an inventory or a campaign that is broken costs no other its line.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbook import paths, pipeline, plugins, profiles, published, workloads
from benchbook.build import artefacts
from benchbook.campaign.design import RunForecast
from benchbook.campaign.store import Campaign, begun, readable
from benchbook.claims import claims_terminal, section
from benchbook.errors import BadInput, BenchbookError
from benchbook.grouping import grouped
from benchbook.hosts import inventory
from benchbook.probes import probe_file
from benchbook.reports import forecast as run_forecast
from benchbook.reports import planning
from benchbook.user_input.choices import one_of

# A pipe says that it is as narrow as 80 columns, and whoever reads it wants the whole line.
_LEAST_WIDTH = 160
# Columns of a sentence in a pipe.
_PIPE_WIDTH = 100
# How `plan` begins a reason, by what these hosts can say of a claim.
_BEGIN = {
    "confirm only": "These hosts can confirm, and not refute,",
    "refute only": "These hosts can refute, and not confirm,",
    "nothing": "These hosts say nothing of",
    "not run": "Not run:",
}


def print_table(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below their heads; nothing is cut."""
    console.width = max(console.width, _LEAST_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


# -- list -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listed:
    """One list: its names, and what stands beside each, by the heading of its column."""

    names: Callable[[], Sequence[str]]
    describe: Callable[[str], Mapping[str, str | int]]

    def rows(self) -> list[dict[str, str | int]]:
        """Return a row for each name; one that cannot be read says why."""
        found: list[dict[str, str | int]] = []
        for name in self.names():
            try:
                found.append({"name": name, **self.describe(name)})
            except BenchbookError as problem:
                found.append({"name": name, "broken": str(problem)})
        return found


def print_lists(what: str, console: Console, *, as_json: bool = False) -> None:
    """Print the list of this name, or all of them. Raise BadInput for a name that is none."""
    chosen = [one_of(what, LISTS, "list", key="WHAT")] if what else list(LISTS)
    found = {title: LISTS[title].rows() for title in chosen}
    if as_json:
        console.print(json.dumps(found[what] if what else found, indent=1, ensure_ascii=False), markup=False)
        return
    for title, rows in found.items():
        heads = list(dict.fromkeys(key for row in rows if "broken" not in row for key in row))
        cells = [[row["name"], f"broken: {row['broken']}"] if "broken" in row else list(row.values()) for row in rows]
        lines = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in cells]
        print_table(console, (title, *heads[1:]), lines)


def _report(name: str) -> dict[str, str | int]:
    found = published.load(name)
    return {"title": found.report.title, "tables": len(found.tables)}


def _system(name: str) -> dict[str, str | int]:
    """What its class is made of: one state for parts that are in the same, with their names where there are several."""
    parts: Sequence[str] = plugins.load("systems", name, key="system").builds
    return {"comes from": _origin(name, parts)}


def _generator(name: str) -> dict[str, str | int]:
    found = workloads.generator(name)
    loop = "closed, open" if found.open_loop else "closed"
    return {"drives": ", ".join(found.protocols), "loop": loop, "comes from": _origin(name, found.builds)}


def _origin(name: str, parts: Sequence[str]) -> str:
    if not parts:
        return "installed on its hosts"
    if tuple(parts) == (name,):
        return artefacts.state(name)
    states = grouped(parts, artefacts.state)
    return "; ".join(f"{', '.join(several)}: {state}" for state, several in states.items())


def _inventory(name: str) -> dict[str, str | int]:
    found = inventory.load_inventory(name)
    return {"hosts": len(found.hosts), "lab": "yes" if found.lab else "no", "description": found.description}


def _profile(name: str) -> dict[str, str | int]:
    found = profiles.load_profile(name)
    return {
        "repetitions": found.repetitions,
        "seconds per load": found.sysbench.time_s,
        "rows of a table": found.sysbench.table_size,
        "description": found.description,
    }


def _probe(name: str) -> dict[str, str | int]:
    found = probe_file.find(name)
    return {"watches": "a server" if found.of_server else "its machine", "metrics": len(found.metrics)}


def _probes() -> list[str]:
    return sorted({*plugins.names(probe_file.GROUP), *probe_file.own()})


LISTS: Mapping[str, Listed] = MappingProxyType(
    {
        "reports": Listed(published.known_reports, _report),
        "systems": Listed(lambda: plugins.names("systems"), _system),
        "generators": Listed(workloads.names, _generator),
        "inventories": Listed(inventory.known_inventories, _inventory),
        "profiles": Listed(profiles.known_profiles, _profile),
        "probes": Listed(_probes, _probe),
    }
)


# -- runs -------------------------------------------------------------------------------------------------------------


def print_runs(reports: Sequence[str], console: Console, *, as_json: bool = False) -> None:
    """Print campaigns of these reports, or of all; those that cannot be read are named on the standard error."""
    rows = [_campaign(each) for each in campaigns_of(reports)]
    if as_json:
        console.print(json.dumps(rows, indent=1), markup=False)
    elif rows:
        heads = ("campaign", "report", "profile", "inventory", "trials", "verdicts", "page made")
        print_table(console, heads, map(_campaign_line, rows))
    else:
        console.print("nothing has been run yet: benchbook report NAME")


def campaigns_of(reports: Sequence[str]) -> Iterator[Campaign]:
    """Yield the campaigns of these reports, or of all, that can be read, the latest first."""
    return readable(folder for folder in reversed(begun()) if not reports or folder.parent.name in reports)


def _campaign(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign with its trials, planned and done, and its claims by state; None where it has no results."""
    return {
        "campaign": campaign.id,
        "report": campaign.report,
        "profile": campaign.profile,
        "inventory": campaign.inventory,
        "planned": len(campaign.trials),
        "done": len(campaign.done()),
        "verdicts": _verdicts(campaign.folder / paths.RESULTS),
        "page": (paths.site_dir() / campaign.report / campaign.id / "index.html").is_file(),
    }


def _verdicts(results: Path) -> dict[str, int] | None:
    try:
        return Counter(claim["verdict"] for claim in json.loads(results.read_text(encoding="utf-8"))["claims"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _campaign_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    done, planned, count = row["done"], row["planned"], row["verdicts"]
    trials = f"{done} of {planned}" if done < planned else f"{done}"
    said = [f"{n} {s if n == 1 else section.PLURAL.get(s, s)}" for s in section.STATES if count and (n := count.get(s))]
    verdicts = "–" if count is None else ", ".join(said) or "no claims"
    known = (row["campaign"], row["report"], row["profile"], row["inventory"])
    return (*known, trials, verdicts, "yes" if row["page"] else "–")


# -- plan -------------------------------------------------------------------------------------------------------------


def planned_run(report: str, said: Mapping[str, object], budget: str) -> RunForecast:
    """Return the forecast of a run that is asked for like this. Raise BadInput, HostUnusable."""
    seconds = budget_s(budget) if budget else None
    request = planning.request_for(report, said)
    pipeline.check_run(request)
    found = planning.as_run_here(request)
    return run_forecast.forecast(request, found.asked, planning.trials(request, found), seconds)


def budget_s(budget: str) -> float:
    try:
        found = pd.Timedelta(budget).total_seconds()
    except ValueError:
        found = 0.0
    if not found > 0:
        raise BadInput("is not a duration", key="--budget", value=budget, fix="write it as 30min or 2h")
    return found


def print_plan(report: str, made: RunForecast, console: Console) -> None:
    """Print the forecast: claims that can be decided, why others cannot, the run's time, and what that goes by."""
    width = console.width if console.is_terminal else _PIPE_WIDTH
    why = ("reason", "what would help")
    rows = run_forecast.rows(made)
    decided = [row for row in rows if row["speaks"] not in ("nothing", "not run")]
    claims_terminal.print_rows([{key: row[key] for key in row if key not in why} for row in decided], console)
    groups = grouped(rows, lambda row: (row["speaks"], row["reason"], row["what would help"]))
    for (speaks, reason, needs), alike in groups.items():
        if reason != "–":
            several = "system" in rows[0]
            whose = [f"{row['claim']} ({row['system']})" if several else row["claim"] for row in alike]
            names = ", ".join(dict.fromkeys(whose))
            helps = [] if needs == "–" else [f"what would help: {needs}"]
            lines = [
                _filled(f"{_BEGIN[speaks]} {names}:", width),
                *(_filled(said, width, 4) for said in (reason, *helps)),
            ]
            console.print("\n".join([*lines, ""]), markup=False, highlight=False)
    for said in (f"{report}: {run_forecast.sentence(made)}", *made.sources):
        console.print(_filled(said, width), markup=False)


def _filled(text: str, width: int, indent: int = 0) -> str:
    """Return the text in lines of this width, which a console that wraps nothing keeps."""
    margin = " " * indent
    return textwrap.fill(
        text, width, initial_indent=margin, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
