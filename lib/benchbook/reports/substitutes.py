"""A server that cannot be fetched has another in its place, which the page then names as a stand-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchbook import plugins, systems
from benchbook.build import fetched
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.parameters import OnSystems, Parameters


def available(asked: Parameters, overrides: Mapping[str, object], say: Callable[[str], None]) -> Mapping[str, object]:
    """Fetch what `asked` runs on; `overrides` of it, with another system where the default one cannot be had.

    Says so in one sentence. Raises BadInput for one that was asked for by name.
    """
    if not isinstance(asked, OnSystems):
        return overrides
    named = "system" in overrides or "systems" in overrides
    inventory = load_inventory(asked.inventory)
    taken = {name: _taken(name, inventory, say, named=named) for name in asked.names()}
    if all(name == other for name, other in taken.items()):
        return overrides
    return {**overrides, "systems": list(dict.fromkeys(taken.values()))}


def _taken(name: str, inventory: Inventory, say: Callable[[str], None], *, named: bool) -> str:
    """The system that is run for this one: itself, if it can be had."""
    try:
        for folder in systems.builds([name], inventory):
            if folder in fetched.systems():
                fetched.fetch(folder, say)
    except fetched.NotFetched as problem:
        other = plugins.load(systems.GROUP, name, key="systems").instead
        if named or not other:
            fix = f"name another system{f', such as {other}' if other else ''}, or mend this"
            raise BadInput(str(problem), key="systems", value=name, fix=fix) from problem
        say(f"{problem}: {other} takes the place of {name}")
        return str(other)
    return name
