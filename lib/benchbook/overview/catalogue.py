"""`benchbook list`: reports, systems, load generators and so on, a line each; a broken one costs no other its line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich.console import Console

from benchbook import plugins, profiles, published
from benchbook.build import artefacts
from benchbook.errors import BenchbookError
from benchbook.given.named import one_of
from benchbook.grouping import grouped
from benchbook.hosts import inventory
from benchbook.overview.terminal_table import show
from benchbook.probes import probe_file


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


def print_all(what: str, console: Console) -> None:
    """Print the list of this name, or all of them, as tables. Raise BadInput for a name that is none."""
    for title, listed in _chosen(what).items():
        rows = listed.rows()
        heads = list(dict.fromkeys(key for row in rows if "broken" not in row for key in row))
        cells = [[row["name"], f"broken: {row['broken']}"] if "broken" in row else list(row.values()) for row in rows]
        show(console, (title, *heads[1:]), [[_cell(cell) for cell in row] for row in cells])


def print_json(what: str, console: Console) -> None:
    """Print the list of this name as JSON, or an object of all lists. Raise BadInput for a name that is none."""
    found = {title: listed.rows() for title, listed in _chosen(what).items()}
    console.print(json.dumps(found[what] if what else found, indent=1, ensure_ascii=False), markup=False)


def _chosen(what: str) -> Mapping[str, Listed]:
    return {what: LISTS[one_of(what, LISTS, "list", key="WHAT")]} if what else LISTS


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _report(name: str) -> dict[str, str | int]:
    found = published.load(name)
    return {"title": found.report.title, "tables": len(found.tables)}


def _system(name: str) -> dict[str, str | int]:
    """What its class is made of: one state for parts that are in the same, with their names where there are several."""
    parts: Sequence[str] = plugins.load("systems", name, key="system").builds
    return {"comes from": _origin(name, parts)}


def _generator(name: str) -> dict[str, str | int]:
    found = plugins.load("workloads", name, key="load")
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
        "generators": Listed(lambda: plugins.names("workloads"), _generator),
        "inventories": Listed(inventory.known_inventories, _inventory),
        "profiles": Listed(profiles.known_profiles, _profile),
        "probes": Listed(_probes, _probe),
    }
)
