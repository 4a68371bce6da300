"""`python -m benchmarks`: list what can be measured of the kit; `python -m benchmarks NAME...` measures it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchbook import paths
from benchmarks import (
    bare_command,
    compare_aa,
    fewer_cores,
    gate,
    load_share,
    planted_errors,
    probe_cpu,
    sentences,
    site,
    transfer,
    verdicts_simulation,
)

BENCHMARKS: dict[str, Callable[[Console], dict[str, Any]]] = {
    "bare_command": bare_command.measure,
    "load_share": load_share.measure,
    "planted_errors": planted_errors.measure,
    "sentences": sentences.measure,
    "gate": gate.measure,
    "compare_aa": compare_aa.measure,
    "fewer_cores": fewer_cores.measure,
    "probe_cpu": probe_cpu.measure,
    "transfer": transfer.measure,
    "site": site.measure,
    "verdicts_simulation": verdicts_simulation.measure,
}


def main(names: list[str], console: Console) -> int:
    """Run the named benchmarks, or list all; results go to data/runs/bench.json."""
    path = paths.home() / "data" / "runs" / "bench.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if unknown := [name for name in names if name not in BENCHMARKS]:
        console.print(f"unknown benchmark {unknown[0]!r}. Fix: choose among {', '.join(BENCHMARKS)}", markup=False)
        return 2
    if not names:
        table = Table("benchmark", "measures", "last run")
        for name, measure in BENCHMARKS.items():
            table.add_row(name, " ".join((measure.__doc__ or "").split()), kept.get(name, {}).get("at", "never"))
        console.print(table)
        console.print("Run one: make bench BENCH=NAME", markup=False)
    for name in names:
        result = BENCHMARKS[name](console)
        console.print({key: value for key, value in result.items() if not isinstance(value, list)})
        kept[name] = {**result, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Console()))
