"""What a transfer is asked to do, checked before anything is touched."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from benchbook.errors import BadInput
from benchbook.user_input import user_file

# Each question to a server costs the client about as much as passing on a hundred documents.
_FETCH_DOCUMENTS = 5000
_MOST_IN_A_WRITE = 100_000
_MOST_PASSWORD_BYTES = 10_000
# Of threads, buckets, processes, seconds: more is a slip.
_LARGEST = 1_000_000
_SYSTEM_DATABASES = frozenset({"admin", "local", "config"})

# A MongoDB document, or a command, as PyMongo takes and gives them.
Document = dict[str, Any]


@dataclass(frozen=True)
class MongoEndpoint:
    """A server: its URL without a password, and the password apart, so that it is in no list of processes or log."""

    url: str
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
        except ValueError as error:
            raise _no_url(self.url, f": {error}") from error
        if parts.password is not None:
            raise BadInput(
                "a URL with a password in it can be read in the list of processes",
                key=_host_part(self.url),
                fix="leave the password out (mongodb://user@host/) and give it in a file or an environment variable",
            )
        if parts.scheme not in ("mongodb", "mongodb+srv") or not parts.hostname or not self.url.isprintable():
            raise _no_url(self.url)

    @classmethod
    def with_secret(cls, url: str, password_file: Path | None, variable: str) -> Self:
        """An endpoint whose password is in a file, or else in an environment variable, or not needed."""
        if password_file is None:
            return cls(url, os.environ.get(variable))
        return cls(url, user_file.text(password_file, most=_MOST_PASSWORD_BYTES).strip())

    @property
    def name(self) -> str:
        """Host and port as the user wrote them, for messages."""
        return _host_part(self.url)


def _no_url(url: str, why: str = "") -> BadInput:
    # Of one that cannot be taken apart nobody knows where its password stands.
    shown = f"...{url.rpartition('@')[2]}" if "@" in url else url
    return BadInput(f"not a MongoDB URL{why}", key="url", value=shown, fix="write mongodb://host:port/")


def _host_part(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url


@dataclass(frozen=True)
class Settings:
    """The knobs of a transfer, named as in the report.

    `cache_bucket_size` batches are kept in one bucket, `cache_bucket_num` buckets, `batch_size` documents in a batch:
    never more than their product is read and not yet written. `split_documents` is the size from which a collection is
    read in ranges of `_id`; `retry_seconds` is how long a lost server is waited for.
    """

    source: MongoEndpoint
    target: MongoEndpoint
    databases: str = ".+"
    collections: str = ".+"
    source_threads: int = 2
    target_threads: int = 6
    cache_bucket_size: int = 8
    cache_bucket_num: int = 8
    batch_size: int = 1000
    create_index_threads: int = 2
    processes: int | None = None
    split_documents: int = 200_000
    retry_seconds: float = 60.0
    connect_seconds: float = 5.0

    def __post_init__(self) -> None:
        for each in fields(self):
            self._check_number(each.name, getattr(self, each.name))
        if self.batch_size > _MOST_IN_A_WRITE:
            raise BadInput(
                f"a server takes at most {_MOST_IN_A_WRITE} documents in a write",
                key="batch-size",
                value=self.batch_size,
                fix="give a smaller number",
            )
        for key in ("databases", "collections"):
            _check_expression(key, getattr(self, key))

    def _check_number(self, key: str, value: Any) -> None:
        key = key.replace("_", "-")
        if isinstance(value, int) and value < 1:
            raise BadInput("must be at least 1", key=key, value=value, fix="give a larger number")
        if isinstance(value, float) and not value > 0:
            raise BadInput("must be more than 0", key=key, value=value, fix="give a larger number")
        if isinstance(value, int | float) and value > _LARGEST:
            raise BadInput(f"must be at most {_LARGEST:,}", key=key, value=value, fix="give a smaller number")

    @property
    def slots(self) -> int:
        """Batches that may be between source and target at one time."""
        return self.cache_bucket_size * self.cache_bucket_num

    @property
    def documents_in_flight(self) -> int:
        """The bound on documents read and not yet written."""
        return self.slots * self.batch_size

    def worker_count(self) -> int:
        """Processes to use: one a core, but none without a reader, a writer and a place in the cache."""
        wanted = self.processes or cores()
        return min(wanted, self.source_threads, self.target_threads, self.slots)

    def read_ahead(self, readers: int, slots: int) -> int:
        """Batches that a reader asks for at a time: about five thousand documents, within its part of the cache."""
        return max(1, min(_FETCH_DOCUMENTS // self.batch_size, slots // (4 * max(readers, 1))))

    def wants(self, database: str, collection: str) -> bool:
        """Whether a collection is to be copied; the expressions must match the whole name."""
        return (
            database not in _SYSTEM_DATABASES
            and not collection.startswith("system.")
            and bool(re.fullmatch(self.databases, database))
            and bool(re.fullmatch(self.collections, collection))
        )


def _check_expression(key: str, expression: str) -> None:
    fix = "write one as Python takes it, such as shop_.*"
    try:
        re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"not a regular expression: {error}", key=key, value=expression, fix=fix) from error


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def shares(total: int, parts: int) -> list[int]:
    """`total` divided into `parts` whole numbers that differ by one at most: shares(15, 2) is [8, 7]."""
    return [total // parts + (part < total % parts) for part in range(parts)]
