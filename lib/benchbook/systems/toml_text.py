"""Settings as a TOML file for a server, from keys with dots as TiUP writes them: `raft-engine.prefill-for-recycle`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Value = bool | int | float | str | list[str]


def toml(settings: Mapping[str, Value]) -> str:
    """One line per setting, below the heading of its table: some servers' readers know no keys with dots."""
    tables: dict[str, list[str]] = {"": []}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {_written(value)}")
    return "".join(_table(name, lines) for name, lines in sorted(tables.items()))


def _table(name: str, lines: Sequence[str]) -> str:
    heading = [f"[{name}]"] if name else []
    return "".join(f"{line}\n" for line in (*heading, *lines))


def _written(value: Value) -> str:
    # What JSON writes of these kinds is TOML as well.
    return json.dumps(value, allow_nan=False)
