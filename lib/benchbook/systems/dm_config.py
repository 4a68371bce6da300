"""What DM 1.0's servers and tasks are told: values -> the text of dm-master.toml, dm-worker.toml and task.yaml.

The templates are in env/systems/dm/templates/. Keys and their defaults are those of DM 1.0.7 (dm/config/task.go,
dm/worker/config.go). Strings are written as JSON strings, which YAML and TOML both read, so no value can break a file.

Passwords. DM takes them plain or encrypted, and writes what it was given into the logs of master and worker: so they
are encrypted here, and the files are to be written with mode 0600. The key is a constant in DM's source: this keeps a
password out of logs and records, it does not guard it from whoever has the file.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import Field

from benchbook import paths
from benchbook.hosts.endpoint import Endpoint
from benchbook.user_input.bounds import matching
from benchbook.user_input.yaml_file import Strict

try:  # CFB has moved since version 43 of cryptography
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
except ImportError:
    from cryptography.hazmat.primitives.ciphers.modes import CFB

Positive = Annotated[int, Field(gt=0)]
Name = Annotated[str, matching(r"[A-Za-z0-9_][A-Za-z0-9_-]*", "a name of letters, digits, _ and -")]
Folder = Annotated[str, matching(r"/.*", "a path that begins with /")]

# Where DM keeps its checkpoints in the target.
META = "dm_meta"
# secretKey of pkg/encrypt/encrypt.go in DM 1.0.7: AES-256-CFB, the text is base64 of iv + "@" + ciphertext.
_KEY = bytes.fromhex("a529b7665997f043a30ac8fadcb51d6aa032c226ab5b7750530b12b8c1a16a48")
_IV_BYTES = 16


class Task(Strict):
    """One task from the levels of a trial; the worker's `folder` takes the dump. Sizes are in rows and bytes.

    mydumper splits tables into chunks of `rows` (None = it does not), and fills an INSERT up to `statement_size`.
    """

    mode: Literal["full", "all"]
    database: str
    target: Endpoint
    folder: Folder
    name: Name = "benchbook"
    dump_program: str = "mydumper"
    dump_threads: Positive = 4
    rows: Positive | None = None
    statement_size: Positive = 1_000_000
    pool_size: Positive = 16
    worker_count: Positive = 16
    batch: Positive = 100

    @property
    def dumped_data(self) -> str:
        """The folder that DM dumps into: it appends the task's name itself."""
        return f"{self.folder}/dumped_data.{self.name}"

    @property
    def dump_arguments(self) -> str:
        """The report's `extra-args`; mydumper holds --regex against `database.table`, so the database belongs in.

        -B is ours. Without it mydumper 0.10 goes through every database, and says that it is through when its workers
        are done with those listed so far: it may miss tables, or say so twice, the second time on a queue that is freed
        by then, and hang (15 of 3,000 dumps on 2 busy cores; with -B 0 of 3,000).
        """
        rows = f"-r {self.rows} " if self.rows else ""
        return f"-s {self.statement_size} {rows}-B {self.database} --regex '^{re.escape(self.database)}\\.sbtest.*'"


def task_file(task: Task, *, redacted: bool = False) -> str:
    """Return the text of a task; for records and pages `redacted`, with *** for its password."""
    values = {name: getattr(task, name) for name in type(task).model_fields}
    return render("task.yaml", redacted=redacted, task=task, meta=META, **values)


def render(file: str, *, redacted: bool = False, **values: object) -> str:
    """Return the text of this file of DM's, accounts with encrypted passwords; to be written with mode 0600."""
    for name, value in values.items():
        if isinstance(value, Endpoint):
            shown = "***" if redacted else encrypted(value.password)
            values[name] = replace(value, password=shown)
    return _templates().get_template(f"{file}.j2").render(values)


@cache
def _templates() -> Environment:
    # Not HTML: strings are quoted by the filter, everything else is a number or a word that the models have checked.
    folder = paths.find("env", "systems") / "dm" / "templates"
    environment = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def encrypted(password: str) -> str:
    """Return what `dm-ctl -encrypt` prints, without a password on a command line; an empty password stays empty."""
    if not password:
        return ""
    iv = secrets.token_bytes(_IV_BYTES)
    encryptor = Cipher(algorithms.AES256(_KEY), CFB(iv)).encryptor()
    sealed = encryptor.update(password.encode()) + encryptor.finalize()
    return base64.b64encode(iv + b"@" + sealed).decode()
