"""From the levels of a trial to DM's task: which database, which mode, which settings."""

from __future__ import annotations

from dataclasses import dataclass

from benchbook.campaign.design import Trial
from benchbook.hosts.endpoint import Endpoint
from benchbook.profiles import DmSize
from benchbook.systems import dm_config

TASK = "benchbook"
# Published tables by what restages them; the others are dumps and loads.
SYNC = ("sync_result", "sync_worker_count", "sync_distribution", "result")
LARGE = ("dump", "load")
# Where worker-count is varied.
LADDER = "sync_worker_count"
# What the reports use where a table does not vary it.
STATEMENT_SIZE, ROWS, POOL_SIZE, DUMP_THREADS = 1_000_000, 320_000, 16, 4


@dataclass(frozen=True)
class Databases:
    """The upstream's: `kept` (name -> rows per table) are prepared once; `sync` is filled anew for every sync.

    It is filled with what is in `sync_pattern`, which is prepared once as well.
    """

    tables: int
    kept: dict[str, int]
    sync_rows: int
    sync: str = "dm_sync"
    sync_pattern: str = "dm_sync_pattern"

    def of(self, table: str) -> str:
        """Return the database that a trial of this published table replicates."""
        return self.sync if table in SYNC else "dm_large" if table in LARGE else "dm_small"

    def rows(self, database: str) -> int:
        return self.kept.get(database, self.sync_rows)


def databases(tables: list[str], size: DmSize, count: int) -> Databases:
    """Only the databases that these published tables need, with `count` tables each."""
    rows = {"dm_large": size.large_rows, "dm_small": size.small_rows}
    wanted = {("dm_large" if table in LARGE else "dm_small") for table in tables if table not in SYNC}
    return Databases(count, {name: rows[name] for name in sorted(wanted)}, size.sync_rows)


def task_of(trial: Trial, of: Databases, size: DmSize, folder: str, target: Endpoint, program: str) -> dm_config.Task:
    """Return the task of a trial; what neither its table nor the profile says is as published, or DM's default.

    Published tables are cut into 16 chunks each, so that 64 workers have one each, and a chunk into 65 statements. A
    smaller data set that is cut as printed has a statement or two for all of them: nothing that a pool could speed up.
    Where the size of statements is varied, a chunk must hold several: it is as published.
    """
    table, levels = trial.cell.table, trial.cell.levels
    rows = ROWS if table == "load_rows_per_statement" else size.split_rows or ROWS
    return dm_config.Task(
        name=TASK,
        mode="all" if table in SYNC else "full",
        database=of.of(table),
        target=target,
        folder=folder,
        dump_program=program,
        dump_threads=int(levels.get("dump_threads", DUMP_THREADS)),
        rows=None if levels.get("table_split") == "off" else rows,
        statement_size=int(levels.get("statement_size", size.statement_size or STATEMENT_SIZE)),
        pool_size=int(levels.get("pool_size", POOL_SIZE)),
        worker_count=int(levels.get("worker_count", 16)),
        batch=int(levels.get("batch", 100)),
    )
