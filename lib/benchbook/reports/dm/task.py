"""From the levels of a trial to DM's task: which database, which mode, which settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchbook.campaign.design import Trial
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
        """The database that a trial of this published table replicates."""
        return self.sync if table in SYNC else "dm_large" if table in LARGE else "dm_small"

    def rows(self, database: str) -> int:
        return self.kept.get(database, self.sync_rows)


@dataclass(frozen=True)
class Chunks:
    """What a dump is cut into: rows of a chunk and bytes of a statement; 0 means as published.

    Published tables are cut into 16 chunks each, so that 64 workers have one each, and a chunk into 65 statements. A
    smaller data set that is cut as printed has a statement or two for all of them: nothing that a pool could speed up.
    """

    rows: int = 0
    statement_size: int = 0


def databases(tables: list[str], size: DmSize, count: int) -> Databases:
    """Only the databases that these published tables need, with `count` tables each."""
    rows = {"dm_large": size.large_rows, "dm_small": size.small_rows}
    wanted = {("dm_large" if table in LARGE else "dm_small") for table in tables if table not in SYNC}
    return Databases(count, {name: rows[name] for name in sorted(wanted)}, size.sync_rows)


def task_of(
    trial: Trial, of: Databases, chunks: Chunks, folder: str, target: dm_config.Account, program: str
) -> dm_config.Task:
    """The task of a trial; what its table does not vary is as published, or DM's default."""
    table, levels = trial.cell.table, trial.cell.levels
    mode: Literal["full", "all"] = "all" if table in SYNC else "full"
    dump = dm_config.Dump(
        program=program,
        threads=int(levels.get("dump_threads", DUMP_THREADS)),
        rows=_split(trial, chunks.rows),
        statement_size=int(levels.get("statement_size", chunks.statement_size or STATEMENT_SIZE)),
    )
    sync = dm_config.Sync(worker_count=int(levels.get("worker_count", 16)), batch=int(levels.get("batch", 100)))
    return dm_config.Task(
        name=TASK,
        mode=mode,
        database=of.of(table),
        target=target,
        folder=folder,
        dump=dump,
        load=dm_config.LoadSettings(pool_size=int(levels.get("pool_size", POOL_SIZE))),
        sync=sync,
    )


def _split(trial: Trial, split_rows: int) -> int | None:
    """mydumper's --rows. Where the size of statements is varied, a chunk must hold several: the published value."""
    if trial.cell.levels.get("table_split") == "off":
        return None
    return ROWS if trial.cell.table == "load_rows_per_statement" else split_rows or ROWS
