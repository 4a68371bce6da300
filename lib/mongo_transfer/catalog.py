"""Collections as such: which there are, how they were created, and their indexes, carried over to the target."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pymongo.errors import CollectionInvalid, OperationFailure

from benchbook.errors import BadInput
from mongo_transfer.clients import Client, reason
from mongo_transfer.errors import TransferFailed
from mongo_transfer.settings import Document, Settings

_NAMESPACE_EXISTS = 48
_DUPLICATE_KEY = 11000
# FerretDB passes on what SQLite says.
_NOT_UNIQUE = re.compile(r"E11000|duplicate key|UNIQUE constraint failed", re.IGNORECASE)
_NAME = re.compile(r"\w{1,63}", re.ASCII)
_COPYABLE = frozenset({"collection", "view"})
# Options that make another kind of collection, and what a capped one may hold: bytes, documents.
_OF_A_KIND, _ROOM = ("capped", "viewOn", "pipeline", "timeseries"), ("size", "max")


@dataclass(frozen=True)
class Collection:
    """One collection of the source: `documents` by the server's statistics; `identity` changes when it is recreated."""

    database: str
    name: str
    kind: str
    options: Document = field(default_factory=dict)
    documents: int = 0
    identity: bytes = b""

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def is_capped(self) -> bool:
        return bool(self.options.get("capped"))


def collections(client: Client, settings: Settings) -> list[Collection]:
    """Everything to be copied, by name. BadInput if nothing matches or a kind of collection cannot be copied."""
    found = matching(client, settings)
    if not found:
        raise BadInput(
            f"no collection matches databases={settings.databases!r} collections={settings.collections!r}",
            key=settings.source.name,
            fix="correct the expressions; they must match whole names",
        )
    return found


def matching(client: Client, settings: Settings) -> list[Collection]:
    """The collections that the settings select, by name; none if there are none."""
    found = [each for database in _databases(client, settings) for each in _of_database(client, database, settings)]
    return sorted(found, key=lambda each: each.namespace)


def _databases(client: Client, settings: Settings) -> list[str]:
    # An expression without any sign matches the database of that name alone, which has no collections if it is not
    # there. FerretDB adds up the sizes of all that it holds before it names them: 0.1 s for 100,000 documents.
    return [settings.databases] if _NAME.fullmatch(settings.databases) else client.list_database_names()


def _of_database(client: Client, database: str, settings: Settings) -> list[Collection]:
    listed = client[database].list_collections()
    return [_described(client, database, dict(info)) for info in listed if settings.wants(database, info["name"])]


def _described(client: Client, database: str, info: Document) -> Collection:
    name, kind = info["name"], info.get("type", "collection")
    if kind not in _COPYABLE:
        raise BadInput(f"cannot copy a {kind}", key=f"{database}.{name}", fix="leave it out by --collections")
    count = documents(client, database, name) if kind == "collection" else 0
    return Collection(
        database, name, kind, info.get("options", {}), count, bytes(info.get("info", {}).get("uuid", b""))
    )


def documents(client: Client, database: str, collection: str) -> int:
    """Number of documents by the server's statistics: on FerretDB `count` reads and decodes them all, this does not."""
    return int(client[database].command("collStats", collection).get("count", 0))


def is_still_there(client: Client, collection: Collection) -> bool:
    """Whether the collection exists and is the one that was planned for, not a new one of the same name."""
    for info in client[collection.database].list_collections(filter={"name": collection.name}):
        return bytes(info.get("info", {}).get("uuid", b"")) == collection.identity
    return False


def create(client: Client, collection: Collection) -> list[str]:
    """Creates the collection (or view) with the source's options; returns what the target does not support."""
    lost: list[str] = []
    options = dict(collection.options)
    while True:
        try:
            client[collection.database].create_collection(collection.name, check_exists=False, **options)
            return lost
        except CollectionInvalid:
            return lost
        except OperationFailure as error:
            if error.code == _NAMESPACE_EXISTS:
                return [*lost, *_compared(client, collection)]
            refused = _refused_option(options, error)
            if refused is None:
                raise TransferFailed(f"{collection.namespace} cannot be created: {reason(error)}") from error
            lost.append(f"{collection.namespace}: option {refused} is not supported by the target")
            options.pop(refused)


def _compared(client: Client, collection: Collection) -> list[str]:
    """In which options a collection that the target has already is not the source's.

    Raises TransferFailed where it is another kind of collection, or has less room: documents would be lost in it.
    """
    listed = client[collection.database].list_collections(filter={"name": collection.name})
    there: Document = next((dict(info) for info in listed), {})
    kind, options = there.get("type", "collection"), there.get("options", {})
    other = [key for key in _OF_A_KIND if options.get(key, False) != collection.options.get(key, False)]
    if kind != collection.kind or other or _has_less_room(options, collection.options):
        raise TransferFailed(
            f"{collection.namespace}: the target has another {kind} of this name ({', '.join(other) or 'its size'} "
            "differs). Fix: drop it there, or leave it out by --collections, then start again"
        )
    names = sorted({*options, *collection.options} - {*_OF_A_KIND, *_ROOM})
    return [
        f"{collection.namespace}: option {name} is another on the target, which had the collection already"
        for name in names
        if options.get(name) != collection.options.get(name)
    ]


def _has_less_room(there: Document, wanted: Document) -> bool:
    # A server may round the size up; no number, or 0, is no limit.
    return bool(there.get("capped")) and any(
        (there.get(name) or math.inf) < (wanted.get(name) or math.inf) for name in _ROOM
    )


def _refused_option(options: Document, error: OperationFailure) -> str | None:
    # Capped, view and time series make another kind of collection: to leave these out would not be a copy.
    text = reason(error)
    return next((key for key in options if key in text and key not in {"capped", "size", "viewOn", "timeseries"}), None)


def copy_indexes(source: Client, target: Client, found: Iterable[Collection], threads: int) -> list[str]:
    """Creates the source's indexes on the target, `threads` collections at a time; returns what could not be copied."""
    plain = [each for each in found if each.kind == "collection"]
    with ThreadPoolExecutor(threads) as pool:
        return [text for texts in pool.map(lambda each: _indexes_of(source, target, each), plain) for text in texts]


def _indexes_of(source: Client, target: Client, collection: Collection) -> list[str]:
    listed = source[collection.database][collection.name].list_indexes()
    specs = [_specification(index) for index in listed if index["name"] != "_id_"]
    return [text for spec in specs for text in _create_index(target, collection, spec)]


def _specification(index: Any) -> Document:
    # `ns` and `v` belong to the server that made the index.
    return {key: value for key, value in dict(index).items() if key not in {"ns", "v"}}


def _create_index(target: Client, collection: Collection, spec: Document) -> list[str]:
    try:
        target[collection.database].command("createIndexes", collection.name, indexes=[spec])
        return []
    except OperationFailure as error:
        if error.code == _DUPLICATE_KEY or _NOT_UNIQUE.search(str(error)):
            raise TransferFailed(
                f"{collection.namespace}: unique index {spec['name']} conflicts with documents on the target: "
                f"{reason(error)}. Fix: remove the documents that are not the source's, then start again"
            ) from error
        return [f"{collection.namespace}: index {spec['name']}: {reason(error)}"]
