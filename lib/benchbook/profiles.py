"""A profile: how big and how long. `env/profiles/<name>.yaml`; every report reads the sections it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.user_input import bounds, user_file
from benchbook.user_input.bounds import Megabytes, Minutes, Rate, Repetitions, Rows, RowsOrNone, Seconds, Threads
from benchbook.user_input.choices import did_you_mean
from benchbook.user_input.yaml_file import Strict, load_model


class LoadSize(Strict):
    """What the size of every load says: seconds that it lasts, and the transactions/s that are offered."""

    time_s: Seconds
    rate: Rate = 0


class SysbenchSize(LoadSize):
    """sysbench's dataset: `tables` tables of `table_size` rows, filled by `prepare_threads` threads."""

    tables: bounds.Tables
    table_size: Rows
    prepare_threads: Threads = 8

    @model_validator(mode="after")
    def _fits_somewhere(self) -> SysbenchSize:
        if self.tables * self.table_size > bounds.MOST_ROWS:
            raise ValueError(f"tables x table_size is more than {bounds.MOST_ROWS:,} rows")
        return self


class SagaSize(Strict):
    """Global transactions: seconds of load, accounts to draw from, clients to sweep over, rows of sysbench's tables."""

    time_s: Seconds = 3
    accounts: Annotated[int, Field(ge=2, le=1_000_000_000, strict=True)] = 10_000
    concurrency: Annotated[list[Threads], Field(min_length=1, max_length=1000)] = [10]
    table_size: Rows = 1000


class Repeating(Strict):
    """Repetitions are added to the cells of claims that are open after the plan: up to so many, within the budget.

    `budget_min` is wall time of the whole campaign, in minutes. The claims are looked at once before and once after,
    which costs half of the error rate: a plan that leaves no time for another repetition is looked at once.
    """

    most_repetitions: Repetitions = 5
    budget_min: Minutes = 3


class DmSize(Strict):
    """DM's reports. Rows per table of the load test, of the smaller load tests, and of what a sync starts from.

    `rate` is offered upstream (transactions/s, 0 = closed loop), `ladder_rate` in its place where worker-count is
    varied (0 = as `rate`). `split_rows` and `statement_size` (bytes) 0 mean the published ones, which split nothing in
    tables that are smaller. `settle_s` lets a sync idle before its load: DM writes REPLACE for INSERT during the first
    300 s.
    """

    large_rows: Rows = 10_000
    small_rows: Rows = 5_000
    sync_rows: Rows = 1_000
    split_rows: RowsOrNone = 0
    time_s: Seconds = 3
    rate: Rate = 0
    ladder_rate: Rate = 0
    statement_size: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)] = 0
    settle_s: Annotated[int, Field(ge=0, le=3600, strict=True)] = 0
    drain_s: Annotated[int, Field(ge=1, le=86_400, description="longest catch-up after the load's end")] = 300
    stall_s: Annotated[
        int, Field(ge=1, le=86_400, description="a dump or load of which not a byte moves for so long has failed")
    ] = 120
    sample_s: Annotated[float, Field(ge=0.2, le=10)] = 1.0


class TransferSize(Strict):
    """Documents over the ten collections, cache of each server (mongod only), and heap of DDT's virtual machine.

    DDT itself goes on for two minutes and more after its last document.
    """

    documents: Annotated[int, Field(ge=10, le=10_000_000_000, strict=True)] = 10_000
    cache_gb: Annotated[float, Field(ge=0.25, le=100_000, allow_inf_nan=False)] = 0.25
    ddt_heap_mb: Annotated[int, Field(ge=64, le=100_000_000, strict=True)] = 512
    stall_s: Annotated[
        int,
        Field(ge=1, le=86_400, strict=True, description="a transfer of which nothing moves for so long has failed"),
    ] = 300


class Profile(Strict):
    """`reset` says what a repetition starts from: the prepared data restored, the server restarted, or neither.

    `levels`: the published ones are run, or, where a kind of report has levels that go with cores (threads), those
    scaled to the cores here. `rehearse_s`: where data is restored and a hypervisor takes free memory, a system is first
    loaded for so long, before anything is measured (reports/load/load_trials.py). `repeat` adds repetitions
    where they can decide a claim; cells that decide none are measured `repetitions_unjudged` times at most (0: as
    others). If the trials of a plan are expected to take more than `plan_min` minutes, all cells are repeated less, but
    not less than twice.
    `tries`: a trial from whose hosts others took CPU is measured at most so often; where that lasts the first one
    counts.

    `loads` holds the sizes of load generators by name, for those that bring a model of their own; `probes` names what
    watches every machine beside the probe `host`.
    """

    name: str
    description: str
    repetitions: Repetitions
    repetitions_unjudged: bounds.RepetitionsOrNone = 0
    plan_min: Minutes | None = None
    tries: Annotated[int, Field(ge=1, le=10, strict=True)] = 3
    reset: Literal["restore", "restart", "none"] = "restore"
    disk_gb: Annotated[
        float,
        Field(
            gt=0,
            le=10_000_000,
            allow_inf_nan=False,
            description="free disk that each host with data needs before the run",
        ),
    ]
    buffer_pool_mb: Megabytes = 512
    rehearse_s: Annotated[float, Field(ge=0, le=3600)] = 0
    sysbench: SysbenchSize
    repeat: Repeating | None = None
    levels: Literal["published", "scaled"] = "published"
    saga: SagaSize = SagaSize()
    dm: DmSize = DmSize()
    transfer: TransferSize = TransferSize()
    loads: dict[str, dict[str, Any]] = {}
    probes: tuple[str, ...] = ()
    file: str = ""


def known_profiles() -> list[str]:
    return [path.stem for path in paths.names("env/profiles", "*.yaml")]


def load_profile(name: str) -> Profile:
    """Read `env/profiles/<name>.yaml`, or the file itself when `name` is a path. Raise BadInput."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else paths.find("env", "profiles", f"{name}.yaml")
    if not user_file.is_there(path):
        fix = f"{did_you_mean(name, known_profiles())}use one of {', '.join(known_profiles())}, or write this file"
        raise BadInput("no such profile", file=path, key="profile", value=name, fix=fix)
    return load_model(Profile, path, name=path.stem, file=str(path))
