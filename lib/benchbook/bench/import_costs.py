"""What each library takes that a report's notebook imports: run by the benchmark `analysis`, in a process of its own.

It imports nothing but what it measures with: whatever comes later has its own seconds and MB.
"""

from __future__ import annotations

import json
from importlib import import_module

from benchbook.bench.phases import Phases

# Each with what it imports that none before it did: the kit's own libraries (pydantic, Fabric, Jinja) with the kit.
ORDER = (
    "numpy",
    "pyarrow.parquet",
    "pandas",
    "IPython.display",
    "benchbook.book",
    "benchbook.reports.load.load_kind",
    "scipy.special",
    "matplotlib.pyplot",
    "benchbook.plots.frame_plots",
)


def costs() -> dict[str, dict[str, float]]:
    """Of each library, in this order: `seconds`, `cpu_s`, and `mb` that the process has grown by."""
    phases = Phases()
    for name in ORDER:
        with phases.phase(name):
            import_module(name)
    return phases.found()


if __name__ == "__main__":
    print(json.dumps(costs()))
