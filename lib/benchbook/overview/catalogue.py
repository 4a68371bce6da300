"""`benchbook list`: reports, systems, load generators and so on, a line each; a broken one costs no other its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console

from benchbook import plugins, profiles, published
from benchbook.build import artefacts
from benchbook.errors import BenchbookError
from benchbook.grouping import grouped
from benchbook.hosts import inventory
from benchbook.overview.terminal_table import show


def print_all(console: Console) -> None:
    """Five tables."""
    _table(console, "reports", ("what is restaged", "tables"), published.known_reports(), _report)
    _table(console, "systems", ("comes from",), plugins.names("systems"), _system)
    _table(console, "load generators", ("drives", "loop", "comes from"), plugins.names("workloads"), _generator)
    _table(console, "inventories", ("hosts", "what"), inventory.known_inventories(), _inventory)
    _table(
        console,
        "profiles",
        ("repetitions", "seconds per load", "rows of a table", "what for"),
        profiles.known_profiles(),
        _profile,
    )


def _table(
    console: Console, title: str, heads: Iterable[str], names: Iterable[str], describe: Callable[[str], tuple[str, ...]]
) -> None:
    rows = []
    for name in names:
        try:
            rows.append((name, *describe(name)))
        except BenchbookError as problem:
            rows.append((name, f"broken: {problem}"))
    show(console, (title, *heads), rows)


def _report(name: str) -> tuple[str, str]:
    found = published.load(name)
    return found.report.title, str(len(found.tables))


def _system(name: str) -> tuple[str]:
    """What its class is made of: one state for parts that are in the same, with their names where there are several."""
    parts: Sequence[str] = plugins.load("systems", name, key="system").builds
    return (_origin(name, parts),)


def _generator(name: str) -> tuple[str, str, str]:
    found = plugins.load("workloads", name, key="load")
    loop = "closed, open" if found.open_loop else "closed"
    return ", ".join(found.protocols), loop, _origin(name, found.builds)


def _origin(name: str, parts: Sequence[str]) -> str:
    if not parts:
        return "installed on its hosts"
    if tuple(parts) == (name,):
        return artefacts.state(name)
    states = grouped(parts, artefacts.state)
    return "; ".join(f"{', '.join(several)}: {state}" for state, several in states.items())


def _inventory(name: str) -> tuple[str, str]:
    found = inventory.load_inventory(name)
    return f"{len(found.hosts)}{' (lab)' if found.lab else ''}", found.description


def _profile(name: str) -> tuple[str, str, str, str]:
    found = profiles.load_profile(name)
    load = found.sysbench
    return f"{found.repetitions}", f"{load.time_s:g}", f"{load.table_size:,}", found.description
