"""Large collections divided into ranges of `_id`, so that several readers share one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import bson
from pymongo.cursor import RawBatchCursor
from pymongo.errors import OperationFailure

from mongo_transfer.catalog import Collection
from mongo_transfer.clients import Client
from mongo_transfer.raw import RAW
from mongo_transfer.settings import Document

# Raw BSON, batch by batch; nothing is asked for before the first of them is.
RawBatches = RawBatchCursor[Document] | Generator[bytes, None, None]

# Boundaries come from a sample: with 20 ids for each range, one range is rarely more than half as long again.
_SAMPLE_PER_RANGE = 20
_SMALLEST = 20_000


@dataclass(frozen=True)
class Range:
    """Documents of one collection with lower <= _id < upper (BSON of `{_id: bound}`; None is open).

    `is_resumed`: the target already held documents of this collection, so that known ones are looked for first.
    `is_ordered`: a capped collection, whose insertion order is part of its content.
    """

    database: str
    collection: str
    lower: bytes | None = None
    upper: bytes | None = None
    documents: int = 0
    is_resumed: bool = False
    is_ordered: bool = False

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"

    def cursor(self, client: Client, batch_size: int) -> RawBatches:
        """Raw batches of this range's documents, at most `batch_size` documents each."""
        if self.lower is None and self.upper is None:
            return whole(client, self.database, self.collection, batch_size)
        # Index bounds, not $gte and $lt: those compare within one BSON type and would miss ids of another.
        bounds: Document = {"hint": [("_id", 1)]}
        if self.lower is not None:
            bounds["min"] = [("_id", bson.decode(self.lower, RAW)["_id"])]
        if self.upper is not None:
            bounds["max"] = [("_id", bson.decode(self.upper, RAW)["_id"])]
        return client[self.database][self.collection].find_raw_batches({}, batch_size=batch_size, **bounds)


def whole(client: Client, database: str, collection: str, batch_size: int) -> Generator[bytes, None, None]:
    """Raw batches of all documents of a collection, in the order of `find`.

    By an empty pipeline: mongod 4.2 and later answers it as that `find`. FerretDB passes every document of a `find`
    through a filter and a projection, empty ones too, which is a fifth of what reading takes it.
    """
    with closing(client[database][collection].aggregate_raw_batches([], batchSize=batch_size)) as cursor:
        yield from cast(Generator[bytes, None, None], cursor)


def split(client: Client, collection: Collection, *, parts: int, is_resumed: bool) -> list[Range]:
    """The collection as up to `parts` ranges of similar length; one range where the server cannot sample."""
    bounds = _boundaries(client, collection, parts) if _is_divisible(collection, parts) else []
    edges: list[bytes | None] = [None, *bounds, None]
    share = collection.documents // (len(edges) - 1)
    return [
        Range(collection.database, collection.name, lower, upper, share, is_resumed, collection.is_capped)
        for lower, upper in pairwise(edges)
    ]


def _is_divisible(collection: Collection, parts: int) -> bool:
    # A collation of its own orders the `_id` index otherwise than the bounds below.
    return parts > 1 and not collection.is_capped and "collation" not in collection.options


def _boundaries(client: Client, collection: Collection, parts: int) -> list[bytes]:
    pipeline: list[Document] = [
        {"$sample": {"size": parts * _SAMPLE_PER_RANGE}},
        {"$project": {"_id": 1}},
        {"$sort": {"_id": 1}},
    ]
    plain = client[collection.database].get_collection(collection.name, codec_options=RAW)
    try:
        sample = [bytes(each.raw) for each in plain.aggregate(pipeline)]  # type: ignore[attr-defined]
    except OperationFailure:
        # FerretDB has no $sample: the collection is read by one reader.
        return []
    # A sample may hold an id twice.
    return list(dict.fromkeys(sample[_SAMPLE_PER_RANGE::_SAMPLE_PER_RANGE]))


def parts_for(documents: int, total: int, *, readers: int, split_documents: int) -> int:
    """Ranges for a collection of `documents` out of `total`: none over `split_documents`, enough for all readers."""
    if documents < _SMALLEST:
        return 1
    by_size = -(-documents // split_documents)
    by_readers = round(2 * readers * documents / max(total, 1))
    return max(1, by_size, min(by_readers, documents // _SMALLEST))
