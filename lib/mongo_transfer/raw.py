"""Raw BSON: batches of documents as one byte string, passed on without decoding them.

A batch is the concatenation of its documents, which is also the payload of the wire protocol's document sequence
(https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#kind-1--document-sequence). So a batch that was
read can be written as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from struct import Struct
from typing import Any, cast

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

RAW = CodecOptions(document_class=RawBSONDocument)
_LENGTH = Struct("<i")
_EMPTY = b"\x05\x00\x00\x00\x00"


class Sequence:
    """A whole batch that the BSON encoder takes for one raw document, and therefore copies as it is.

    The encoder knows raw documents by `_type_marker` 101, as bson's own `RawBSONDocument` has it; that class refuses
    more than one document. `encodes_sequences` tells whether the installed encoder agrees.
    """

    __slots__ = ("raw",)
    _type_marker = 101

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


@cache
def encodes_sequences() -> bool:
    """True if the installed bson copies a `Sequence` of two documents byte for byte."""
    pair = _EMPTY + _EMPTY
    try:
        return bson.encode(cast(dict[str, Any], Sequence(pair))) == pair
    except (TypeError, bson.errors.BSONError):
        return False


def documents_field(batch: bytes) -> list[Any]:
    """The value of an insert command's `documents` for a batch, with no work per document where bson allows it."""
    if encodes_sequences():
        return [Sequence(batch)]
    return [RawBSONDocument(document, RAW) for document in split(batch)]


def offsets(batch: bytes) -> list[int]:
    """Where each document starts, and the end of the last: n + 1 numbers for n documents."""
    position, end, found = 0, len(batch), [0]
    unpack = _LENGTH.unpack_from
    while position < end:
        position += unpack(batch, position)[0]
        found.append(position)
    if position != end:
        raise bson.errors.InvalidBSON(f"a batch of {end} bytes ends inside a document")
    return found


def split(batch: bytes) -> Iterator[bytes]:
    """The documents of a batch, one by one."""
    bounds = offsets(batch)
    return (batch[start:stop] for start, stop in pairwise(bounds))


def cut(batch: bytes, bounds: list[int], documents: int) -> list[tuple[bytes, list[int]]]:
    """A batch as smaller ones of at most `documents`, each with its own offsets."""
    if len(bounds) - 1 <= documents:
        return [(batch, bounds)] if batch else []
    starts = range(0, len(bounds) - 1, documents)
    return [_piece(batch, bounds[start : start + documents + 1]) for start in starts]


def _piece(batch: bytes, bounds: list[int]) -> tuple[bytes, list[int]]:
    first = bounds[0]
    return batch[first : bounds[-1]], [bound - first for bound in bounds]


def longest(bounds: list[int]) -> int:
    """Length in bytes of the longest document."""
    return max((stop - start for start, stop in pairwise(bounds)), default=0)


def document_id(document: bytes) -> Any:
    """The `_id` of one document, nested ones kept raw so that their bytes stay as they are."""
    return RawBSONDocument(document, RAW)["_id"]


def digest(document: bytes) -> bytes:
    """16 bytes of BLAKE2b over a document: two that differ collide with a chance of about 2**-128."""
    return hashlib.blake2b(document, digest_size=16).digest()
