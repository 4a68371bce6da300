"""The data set of the `ddt_full_scale` report: one database, ten collections, documents of 7 columns and 140 bytes.

Every document has one length, so a block of them is a table of bytes whose columns are filled by numpy: nothing is
encoded document by document. The same seed gives the same bytes on any machine (PCG64's raw output is stable
by numpy's policy, https://numpy.org/neps/nep-0019-rng-policy.html).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import bson
import numpy as np

from benchbook.errors import BadInput
from mongo_transfer import raw
from mongo_transfer.catalog import documents
from mongo_transfer.clients import Client, answering, connected
from mongo_transfer.errors import LoadFailed
from mongo_transfer.settings import MongoEndpoint

DOCUMENT_BYTES = 140
COLUMNS = ("_id", "seq", "account", "amount", "created", "status", "note")
COLLECTIONS = 10
_VERSION = 1
_NOTE_LENGTH = 27
_EPOCH_MILLISECONDS = 1_700_000_000_000
_STATES = np.array([list(b"open    "), list(b"paid    "), list(b"shipped "), list(b"returned")], dtype=np.uint8)
_BLOCK = 1000
_MARKER_DATABASE = "benchbook_dataset"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class DocumentSet:
    """`documents` over all collections, divided evenly; `database` holds `c00` to `c09`."""

    seed: int
    documents: int
    database: str = "ddt"

    def __post_init__(self) -> None:
        if self.documents < COLLECTIONS:
            raise BadInput(
                f"must be at least {COLLECTIONS}, one for each collection", key="documents", value=self.documents
            )

    @property
    def identity(self) -> str:
        return identity(self.seed, self.documents)

    def sizes(self) -> dict[str, int]:
        """Documents by collection."""
        each, rest = divmod(self.documents, COLLECTIONS)
        return {f"c{number:02d}": each + (number < rest) for number in range(COLLECTIONS)}


def identity(seed: int, documents: int) -> str:
    """Names the content: equal for equal content, different once the seed, the size or this module's layout changes."""
    layout = hashlib.sha256(_template()).hexdigest()[:12]
    return f"documents-v{_VERSION}-{layout}-seed{seed}-n{documents}"


def blocks(dataset: DocumentSet, number: int) -> Iterator[bytes]:
    """The documents of collection `number` as raw BSON, `_BLOCK` documents at a time."""
    size = list(dataset.sizes().values())[number]
    source = np.random.PCG64([dataset.seed, number])
    for start in range(0, size, _BLOCK):
        yield _block(source, number, start, min(_BLOCK, size - start))


def _template() -> bytes:
    document = bson.encode(
        {
            "_id": bson.ObjectId(b"\0" * 12),
            "seq": bson.Int64(0),
            "account": 0,
            "amount": 0.0,
            "created": datetime(2020, 1, 1),
            "status": "open    ",
            "note": "x" * _NOTE_LENGTH,
        }
    )
    # The report says about 140 bytes: here it is exactly that, on the encoded BSON.
    if len(document) != DOCUMENT_BYTES:
        raise LoadFailed(f"a document has {len(document)} bytes of BSON, not {DOCUMENT_BYTES}")
    return document


def _block(source: np.random.PCG64, number: int, start: int, count: int) -> bytes:
    template = _template()
    table = np.tile(np.frombuffer(template, dtype=np.uint8), (count, 1))
    noise = np.asarray(source.random_raw(count * 6), dtype=np.uint64).reshape(count, 6)
    for name, values in _columns(noise, number, start).items():
        at = _value_offset(template, name)
        table[:, at : at + values.shape[1]] = values
    return table.tobytes()


def _columns(noise: np.ndarray, number: int, start: int) -> dict[str, np.ndarray]:
    sequence = np.arange(start, start + len(noise), dtype=np.int64)
    amounts = (noise[:, 1] % 1_000_000).astype("<f8") / 100.0
    created = _EPOCH_MILLISECONDS + (noise[:, 2] % 10**10).astype("<i8")
    letters = noise[:, 2:].copy().view(np.uint8)[:, :_NOTE_LENGTH] % 26 + ord("a")
    return {
        "_id": _identifiers(sequence, number),
        "seq": _bytes(sequence.astype("<i8")),
        "account": _bytes((noise[:, 0] % 100_000).astype("<i4")),
        "amount": _bytes(amounts),
        "created": _bytes(created),
        "status": _STATES[(noise[:, 0] >> np.uint64(32)) % 4],
        "note": letters,
    }


def _identifiers(sequence: np.ndarray, number: int) -> np.ndarray:
    # ObjectIds that rise with the sequence, as a driver's do: 4 bytes of time, then collection and counter.
    high = np.full(len(sequence), 0x65000000, dtype=">u4") + (sequence >> 20).astype(">u4")
    low = (np.uint64(number) << np.uint64(40)) + sequence.astype(np.uint64)
    return np.hstack([_bytes(high.astype(">u4")), _bytes(low.astype(">u8"))])


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)


def _value_offset(template: bytes, name: str) -> int:
    # A field is one byte of type, its name and a zero; strings then have four bytes of length.
    at = template.index(name.encode() + b"\0") + len(name) + 1
    return at + 4 if name in {"status", "note"} else at


def load(endpoint: MongoEndpoint, dataset: DocumentSet, on_progress: Progress = lambda done, total: None) -> bool:
    """Makes the server hold the data set; False if it already did. `on_progress(done, total)` counts documents.

    A data set of other content, or one that was not finished, is dropped first. Raises BadInput if the database holds
    what was not loaded from here, LoadFailed if the server refuses.
    """
    with connected(endpoint) as client, answering(endpoint, LoadFailed):
        if is_there(client, dataset):
            on_progress(dataset.documents, dataset.documents)
            return False
        _refuse_foreign(client, endpoint, dataset)
        _fill(client, dataset, on_progress)
        return True


def make_room(endpoint: MongoEndpoint, database: str) -> None:
    """Drops a copy that an earlier transfer left. Raises BadInput if the database holds other data."""
    with connected(endpoint) as client, answering(endpoint, LoadFailed):
        _refuse_foreign(client, endpoint, DocumentSet(0, COLLECTIONS, database))
        client[_MARKER_DATABASE]["markers"].replace_one({"_id": database}, {"identity": "copy"}, upsert=True)
        client.drop_database(database)


def is_there(client: Client, dataset: DocumentSet) -> bool:
    """Whether the marker has this data set's identity and every collection its number of documents."""
    marker = client[_MARKER_DATABASE]["markers"].find_one({"_id": dataset.database})
    if marker is None or marker["identity"] != dataset.identity:
        return False
    return all(documents(client, dataset.database, name) == size for name, size in dataset.sizes().items())


def _refuse_foreign(client: Client, endpoint: MongoEndpoint, dataset: DocumentSet) -> None:
    is_ours = client[_MARKER_DATABASE]["markers"].find_one({"_id": dataset.database}) is not None
    if not is_ours and client[dataset.database].list_collection_names():
        raise BadInput(
            f"database {dataset.database!r} holds data that was not loaded from here, and is not dropped",
            key=endpoint.name,
            fix="choose another database for the data set, or drop this one yourself",
        )


def _fill(client: Client, dataset: DocumentSet, on_progress: Progress) -> None:
    # A load that is cut short leaves a marker, which says that the database is ours, but none that says it is whole.
    markers, marker = client[_MARKER_DATABASE]["markers"], {"_id": dataset.database}
    markers.replace_one(marker, {"identity": "incomplete"}, upsert=True)
    client.drop_database(dataset.database)
    done = 0
    for number, name in enumerate(dataset.sizes()):
        for block in blocks(dataset, number):
            done += _insert(client, dataset.database, name, block)
            on_progress(done, dataset.documents)
    markers.replace_one(marker, {"identity": dataset.identity}, upsert=True)


def _insert(client: Client, database: str, collection: str, block: bytes) -> int:
    count = len(block) // DOCUMENT_BYTES
    reply = client[database].command({"insert": collection, "documents": raw.documents_field(block)})
    if reply["n"] != count:
        raise LoadFailed(
            f"{database}.{collection}: {reply['n']} of {count} documents were taken: {reply.get('writeErrors')}"
        )
    return count
