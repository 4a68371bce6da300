"""Load generators, found by name: by entry points, and by files that say how one is run (generator_file)."""

from __future__ import annotations

from typing import Any

from benchbook import plugins
from benchbook.errors import BadInput
from benchbook.generators.generator_file import programs
from benchbook.probes import probe_file
from benchbook.workloads import declared
from benchbook.workloads.base import GROUP, LoadGenerator


def names() -> list[str]:
    """Return the names of all load generators that the kit can run, sorted."""
    return sorted({*plugins.names(GROUP), *_files()})


def generator(name: str) -> type[LoadGenerator[Any]]:
    """Return the load generator of this name. Raise BadInput for an unknown one."""
    if name not in _files() or name in plugins.names(GROUP):
        found: type[LoadGenerator[Any]] = plugins.load(GROUP, name, key="load")
        return found
    if name in {*plugins.names(probe_file.GROUP), *probe_file.own()}:
        # A name stands for one source in the series of a record.
        fix = "rename the file"
        raise BadInput(
            "a probe has this name already", file=f"env/workloads/{name}.yaml", key="name", value=name, fix=fix
        )
    return declared.load_generator(name)


def _files() -> list[str]:
    return [name for name, program in programs().items() if program.run]
