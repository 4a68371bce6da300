"""Proof that two servers hold the same documents: counts and an order-independent hash of every collection.

The hash of a collection is the sum, modulo 2**128, of BLAKE2b-128 over the raw bytes of each document: it does not
depend on the order of documents, does on the order of fields, and sees a document that is there twice. (Additive
multiset hashing: Bellare and Micciancio 1997, https://doi.org/10.1007/3-540-69053-0_13. Not against attackers.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import cast

from mongo_transfer import raw
from mongo_transfer.catalog import Collection, matching
from mongo_transfer.clients import Client, answering, connected
from mongo_transfer.errors import ProofFailed
from mongo_transfer.ranges import whole
from mongo_transfer.settings import MongoEndpoint, Settings, cores

_SCAN_DOCUMENTS = 1000
_MODULUS = 2**128


@dataclass(frozen=True)
class Digest:
    """One collection on one server: documents, bytes of BSON, and the hash (32 hex digits)."""

    namespace: str
    documents: int
    bytes: int
    hash: str


@dataclass(frozen=True)
class CollectionProof:
    """One collection, on both sides; a side that lacks it is None."""

    namespace: str
    source: Digest | None
    target: Digest | None

    @property
    def agrees(self) -> bool:
        return self.source == self.target

    def __str__(self) -> str:
        return f"{self.namespace}: source {_brief(self.source)}, target {_brief(self.target)}"


def _brief(digest: Digest | None) -> str:
    return f"{digest.documents} documents, hash {digest.hash[:12]}" if digest else "has no such collection"


def prove(
    source: MongoEndpoint, target: MongoEndpoint, *, databases: str = ".+", collections: str = ".+"
) -> list[CollectionProof]:
    """Compares every selected collection of both servers, each read whole; the evidence by namespace.

    Raises ProofFailed naming the collections that differ. Reading is the cost: about the time of a dump of both sides.
    """
    found = _digests([source, target], Settings(source, target, databases=databases, collections=collections))
    ours, theirs = ({each.namespace: each for side, each in found if side is wanted} for wanted in (source, target))
    evidence = [CollectionProof(name, ours.get(name), theirs.get(name)) for name in sorted({*ours, *theirs})]
    if wrong := [each for each in evidence if not each.agrees]:
        raise ProofFailed(f"source and target differ: {'; '.join(map(str, wrong))}")
    return evidence


def digest(endpoint: MongoEndpoint, *, databases: str) -> list[Digest]:
    """The digests of one server's collections, by namespace."""
    wanted = Settings(endpoint, endpoint, databases=databases)
    return sorted((found for _, found in _digests([endpoint], wanted)), key=lambda each: each.namespace)


def _digests(sides: Sequence[MongoEndpoint], wanted: Settings) -> list[tuple[MongoEndpoint, Digest]]:
    """Of every selected collection of each side, several at a time."""
    with ExitStack() as stack, ThreadPoolExecutor(cores()) as pool:
        clients = [stack.enter_context(connected(side)) for side in sides]
        tasks = [
            (side, client, each.database, each.name)
            for side, client in zip(sides, clients, strict=True)
            for each in _selected(side, client, wanted)
        ]
        return list(pool.map(lambda task: (task[0], _digest(*task)), tasks))


def _selected(endpoint: MongoEndpoint, client: Client, wanted: Settings) -> list[Collection]:
    with answering(endpoint, ProofFailed):
        return [each for each in matching(client, wanted) if each.kind == "collection"]


def _digest(endpoint: MongoEndpoint, client: Client, database: str, collection: str) -> Digest:
    with (
        answering(endpoint, ProofFailed),
        closing(whole(client, database, collection, _SCAN_DOCUMENTS)) as batches,
    ):
        return summed(f"{database}.{collection}", cast(Iterator[bytes], batches))


def summed(namespace: str, batches: Iterable[bytes]) -> Digest:
    """The digest of the documents in raw batches."""
    documents = total = size = 0
    for batch in batches:
        size += len(batch)
        for document in raw.split(batch):
            documents += 1
            total += int.from_bytes(raw.digest(document))
    return Digest(namespace, documents, size, f"{total % _MODULUS:032x}")
