"""What DM 1.0's servers and tasks are told: models -> the text of dm-master.toml, dm-worker.toml and task.yaml.

The templates are in env/systems/dm/templates/. Keys and their defaults are those of DM 1.0.7 (dm/config/task.go,
dm/worker/config.go). Strings are written as JSON strings, which YAML and TOML both read, so no value can break a file.

Passwords. DM takes them plain or encrypted, and writes what it was given into the logs of master and worker: so they
are encrypted here, and the files are to be written with mode 0600. The key is a constant in DM's source: this keeps a
password out of logs and records, it does not guard it from whoever has the file. `redacted` is for records.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from functools import cache
from typing import Annotated, Literal, Self

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StrictBool, model_validator

from benchbook import paths
from benchbook.given.bounds import matching

try:  # CFB has moved since version 43 of cryptography
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
except ImportError:
    from cryptography.hazmat.primitives.ciphers.modes import CFB

Positive = Annotated[int, Field(gt=0)]
Name = Annotated[str, matching(r"[A-Za-z0-9_][A-Za-z0-9_-]*", "a name of letters, digits, _ and -")]
Folder = Annotated[str, matching(r"/.*", "a path that begins with /")]

# Where DM keeps its checkpoints in the target, unless a task says otherwise.
META = "dm_meta"
# secretKey of pkg/encrypt/encrypt.go in DM 1.0.7: AES-256-CFB, the text is base64 of iv + "@" + ciphertext.
_KEY = bytes.fromhex("a529b7665997f043a30ac8fadcb51d6aa032c226ab5b7750530b12b8c1a16a48")
_IV_BYTES = 16


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Account(_Model):
    """Where a server listens and as whom DM logs in."""

    address: str
    port: Annotated[int, Field(gt=0, lt=65536)]
    user: str
    password: SecretStr


class BinlogStart(_Model):
    """A place in the upstream's binlog, as SHOW MASTER STATUS gives it."""

    file: Annotated[str, Field(min_length=1)]
    offset: Annotated[int, Field(ge=4)]


class Dump(_Model):
    """mydumper: `rows` splits tables into chunks of that many rows, `statement_size` (bytes) bounds one INSERT."""

    program: str = "mydumper"
    threads: Positive = 4
    rows: Positive | None = None
    statement_size: Positive | None = None
    chunk_filesize_mb: Positive = 64
    tables: str = r"sbtest.*"

    def extra_args(self, database: str) -> str:
        """The report's `extra-args`; mydumper holds --regex against `database.table`, so the database belongs in.

        -B is ours. Without it mydumper 0.10 goes through every database, and says that it is through when its workers
        are done with those listed so far: it may miss tables, or say so twice, the second time on a queue that is freed
        by then, and hang (15 of 3,000 dumps on 2 busy cores; with -B 0 of 3,000).
        """
        size = f"-s {self.statement_size} " if self.statement_size else ""
        rows = f"-r {self.rows} " if self.rows else ""
        return f"{size}{rows}-B {database} --regex '^{re.escape(database)}\\.{self.tables}'"


class LoadSettings(_Model):
    pool_size: Positive = 16


class Sync(_Model):
    """`checkpoint_flush_s`: a flush waits until all workers have emptied their queues; often is slow."""

    worker_count: Positive = 16
    batch: Positive = 100
    max_retry: Positive = 20
    checkpoint_flush_s: Positive = 30
    safe_mode: StrictBool = False


class Task(_Model):
    """One task from the levels of a trial. `folder` is the worker's; the dump goes to its dumped_data.NAME."""

    name: Name = "benchbook"
    mode: Literal["full", "all", "incremental"]
    database: str
    target: Account
    folder: Folder
    source_id: Name = "mysql-1"
    meta_schema: Name = META
    start: BinlogStart | None = None
    dump: Dump = Dump()
    load: LoadSettings = LoadSettings()
    sync: Sync = Sync()

    @model_validator(mode="after")
    def _start_fits_mode(self) -> Self:
        if (self.mode == "incremental") != (self.start is not None):
            raise ValueError("an incremental task needs a binlog position to start from, and no other takes one")
        return self

    @property
    def dumped_data(self) -> str:
        """The folder that DM dumps into: it appends the task's name itself."""
        return f"{self.folder}/dumped_data.{self.name}"


class WorkerConfig(_Model):
    """dm-worker; `worker_address` is host:port. Its relay log and its metadata are in `folder`.

    With `gtid` its relay log asks the upstream for what follows a set of GTIDs, else for what follows a position.
    """

    worker_address: str
    folder: Folder
    upstream: Account
    flavor: Literal["mysql", "mariadb"]
    gtid: StrictBool = False
    source_id: Name = "mysql-1"
    server_id: Positive = 101
    keep_free_gb: Positive = 1


class MasterConfig(_Model):
    """dm-master and the one worker that it knows."""

    master_address: str
    worker_address: str
    folder: Folder
    source_id: Name = "mysql-1"


def render(config: Task | WorkerConfig | MasterConfig) -> str:
    """The whole file, passwords encrypted; to be written with mode 0600."""
    return _render(config, hide=False)


def redacted(config: Task | WorkerConfig | MasterConfig) -> str:
    """The same file with *** for passwords: for records and pages."""
    return _render(config, hide=True)


def _render(config: Task | WorkerConfig | MasterConfig, *, hide: bool) -> str:
    file = {Task: "task.yaml.j2", WorkerConfig: "dm-worker.toml.j2", MasterConfig: "dm-master.toml.j2"}[type(config)]
    values = {name: getattr(config, name) for name in type(config).model_fields}
    for name, value in values.items():
        if isinstance(value, Account):
            shown = "***" if hide else encrypted(value.password.get_secret_value())
            values[name] = value.model_dump() | {"password": shown}
    return _templates().get_template(file).render(values)


@cache
def _templates() -> Environment:
    # Not HTML: strings are quoted by the filter, everything else is a number or a word that the models have checked.
    folder = paths.find("env", "systems") / "dm" / "templates"
    environment = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def encrypted(password: str) -> str:
    """What `dm-ctl -encrypt` prints, without a password on a command line; an empty password stays empty."""
    if not password:
        return ""
    iv = secrets.token_bytes(_IV_BYTES)
    encryptor = Cipher(algorithms.AES256(_KEY), CFB(iv)).encryptor()
    sealed = encryptor.update(password.encode()) + encryptor.finalize()
    return base64.b64encode(iv + b"@" + sealed).decode()
