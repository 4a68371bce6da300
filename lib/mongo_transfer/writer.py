"""Writes batches into the target so that a repetition does no harm: documents are told apart by `_id`.

The fast path is one unordered insert of the batch as it is. Only documents that the target refuses as duplicates are
looked at: equal ones are left, others with the same `_id` replaced; a clash on another unique index ends the transfer.
Documents that are older than their collection's validator, which the copy has as well, are written without its check.
"""

from __future__ import annotations

import re
import threading

from bson.raw_bson import RawBSONDocument
from pymongo.errors import AutoReconnect, ConnectionFailure, DuplicateKeyError, OperationFailure

from mongo_transfer import raw
from mongo_transfer.cache import Batch
from mongo_transfer.clients import Client, patiently, reason
from mongo_transfer.errors import TransferFailed
from mongo_transfer.settings import Document
from mongo_transfer.tally import Counts

_DUPLICATE_KEY, _NOT_VALID = 11000, 121
_DISK_FULL = re.compile(r"disk is full|no space left|out of disk|SQLITE_FULL", re.IGNORECASE)
# Servers take messages of up to 48 MB; a batch of larger documents goes in pieces.
_MESSAGE_BYTES = 32_000_000


class Writer:
    """Writes to one target. Raises TransferFailed where a retry cannot help. Shared by threads: it has no state."""

    def __init__(self, target: Client, retry_seconds: float, stop: threading.Event) -> None:
        self._target = target
        self._retry_seconds = retry_seconds
        self._stop = stop

    def write(self, batch: Batch) -> Counts:
        """Puts the batch's documents on the target; retries through a lost server for a bounded time."""
        done = Counts(bytes=len(batch.data))
        for piece in pieces(batch.data, batch.bounds, _MESSAGE_BYTES):
            done.add(self._write_piece(batch.range.database, batch.range.collection, piece))
        return done

    def _write_piece(self, database: str, collection: str, data: bytes) -> Counts:
        namespace = f"{database}.{collection}"
        try:
            return patiently(self._retry_seconds, self._stop.is_set)(self._insert, database, collection, data)
        except ConnectionFailure as error:
            raise TransferFailed(f"{namespace}: target lost for {self._retry_seconds:g} s: {reason(error)}") from error
        except OperationFailure as error:
            raise TransferFailed(f"{namespace}: the target refuses to write: {_explained(reason(error))}") from error

    def _insert(self, database: str, collection: str, data: bytes, *, unchecked: bool = False) -> Counts:
        command: Document = {"insert": collection, "ordered": False, "documents": raw.documents_field(data)}
        command |= {"bypassDocumentValidation": True} if unchecked else {}
        if self._target.write_concern.document:
            command["writeConcern"] = self._target.write_concern.document
        reply = self._target[database].command(command)
        if short := reply.get("writeConcernError"):
            # Not on as many members as it is to be: a primary that steps down takes it back. It is tried again.
            raise AutoReconnect(short["errmsg"])
        counts = Counts(inserted=reply["n"])
        if errors := reply.get("writeErrors"):
            documents = list(raw.split(data))
            old = b"" if unchecked else b"".join(documents[e["index"]] for e in errors if e["code"] == _NOT_VALID)
            others = [error for error in errors if error["code"] != _NOT_VALID or unchecked]
            counts.add(self._settle(database, collection, documents, others))
            counts.add(self._insert_unchecked(database, collection, old) if old else Counts())
        return counts

    def _insert_unchecked(self, database: str, collection: str, data: bytes) -> Counts:
        """It takes a right that not everybody has who may write: asked for only where it is needed."""
        try:
            return self._insert(database, collection, data, unchecked=True)
        except OperationFailure as error:
            raise TransferFailed(
                f"{database}.{collection}: documents that its own validator refuses cannot be written: {reason(error)}"
                ". Fix: give the user of the target the role dbAdmin or restore there, then start again"
            ) from error

    def _settle(self, database: str, collection: str, documents: list[bytes], errors: list[Document]) -> Counts:
        counts = Counts()
        for error in errors:
            if error["code"] != _DUPLICATE_KEY:
                raise TransferFailed(f"{database}.{collection}: the target refuses: {_explained(error['errmsg'])}")
            counts.add(self._settle_duplicate(database, collection, documents[error["index"]], error["errmsg"]))
        return counts

    def _settle_duplicate(self, database: str, collection: str, document: bytes, message: str) -> Counts:
        target = self._target[database].get_collection(collection, codec_options=raw.RAW)
        key = {"_id": raw.document_id(document)}
        existing = target.find_one(key)
        if existing is None:
            raise _conflict(f"{database}.{collection}", key, message)
        if existing.raw == document:  # type: ignore[attr-defined]
            return Counts(already_there=1)
        try:
            target.replace_one(key, RawBSONDocument(document, raw.RAW))
        except DuplicateKeyError as error:
            raise _conflict(f"{database}.{collection}", key, reason(error)) from error
        return Counts(replaced=1)


def _conflict(namespace: str, key: Document, message: str) -> TransferFailed:
    return TransferFailed(
        f"{namespace}: the document with _id {key['_id']!r} conflicts with another one on a unique index of the "
        f"target: {message}. Fix: remove the documents or the index that are not the source's, then start again"
    )


def _explained(text: str) -> str:
    if _DISK_FULL.search(text):
        return (
            f"its disk is full: {text}. Fix: free space there, then start again: what is written is not written twice"
        )
    return text


def pieces(data: bytes, bounds: list[int], limit: int) -> list[bytes]:
    """The batch cut between documents into parts of at most `limit` bytes (a longer document is a part of its own)."""
    if len(data) <= limit:
        return [data] if data else []
    parts, start, last = [], 0, 0
    for bound in bounds[1:]:
        if bound - start > limit and last > start:
            parts.append(data[start:last])
            start = last
        last = bound
    return [*parts, data[start:]]
