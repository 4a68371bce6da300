"""What it takes to start: the kit as a module, its command line, what it refuses, and a notebook's kernel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from nbformat import v4, write
from rich.console import Console

from benchbook import paths
from benchbook.bench.spent import CHILDREN, cpu_s
from benchbook.errors import BenchbookError

REPORT = "tidb_v7_1_3_sysbench"
RUNS = 7
# What the first cells of every report's notebook need.
_FIRST_CELL = f"""from benchbook import book, plots
report = book.open_report("{REPORT}", {{"system": "mariadb", "inventory": "lab_tidb"}})"""


def starts(console: Console) -> dict[str, Any]:
    """seconds, and CPU seconds, until the kit is imported, helps, refuses, or has run a notebook's first cell"""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="benchbook-starts-") as folder, _refused(Path(folder)) as inventory:
        for name, (status, words) in commands(Path(folder), inventory).items():
            taken = [_timed(words, status) for _ in range(RUNS)]
            wall, cpu = (median(one) for one in zip(*taken, strict=True))
            found[name] = {"s": round(wall, 2), "cpu_s": round(cpu, 2)}
            console.print(f"  {name}: {wall:.2f} s, {cpu:.2f} s of CPU (median of {RUNS})", markup=False)
    return found


def commands(folder: Path, inventory: Path) -> dict[str, tuple[int, list[str]]]:
    """Each with the exit status that it must have."""
    kit = [sys.executable, "-m", "benchbook"]
    report = [*kit, "report", REPORT, "-p", "system=mariadb"]
    run_cell = f"import papermill; papermill.execute_notebook({str(_notebook(folder))!r}, None, progress_bar=False)"
    return {
        "import benchbook": (0, [sys.executable, "-c", "import benchbook"]),
        "benchbook --help": (0, [*kit, "--help"]),
        "a wrong parameter": (2, [*report, "-p", "threads=many"]),
        "a refused host": (2, [*report, "--inventory", str(inventory)]),
        "papermill to the first cell's end": (0, [sys.executable, "-c", run_cell]),
    }


def _notebook(folder: Path) -> Path:
    path = folder / "first_cell.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    write(v4.new_notebook(cells=[v4.new_code_cell(_FIRST_CELL)], metadata=kernel), path)
    return path


@contextmanager
def _refused(folder: Path) -> Iterator[Path]:
    """An inventory whose port is held by somebody who never listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        hosts = {"here": {"address": "127.0.0.1", "roles": ["client", "mysql"]}}
        password = folder / "password"
        password.write_text("secret\n")
        password.chmod(0o600)
        path = folder / "refused.yaml"
        path.write_text(
            yaml.safe_dump(
                {
                    "description": "nobody listens",
                    "ssh": {"port": door.getsockname()[1]},
                    "hosts": hosts,
                    "systems": {"mariadb": {"port": 3306, "password_file": str(password)}},
                }
            )
        )
        yield path


def _timed(words: Sequence[str], status: int) -> tuple[float, float]:
    """Seconds and CPU seconds of a command. Raises BenchbookError where it ends otherwise than it must."""
    before, began = cpu_s(CHILDREN), time.monotonic()
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, cwd=paths.home(), env={**os.environ, "COLUMNS": "200"}
    )
    taken = time.monotonic() - began
    if done.returncode != status:
        raise BenchbookError(f"{' '.join(words)} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return taken, cpu_s(CHILDREN) - before
