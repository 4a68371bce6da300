"""The hash of a collection, by hand; and the data set, byte by byte."""

from __future__ import annotations

import hashlib

import bson

from mongo_transfer import dataset, proof
from mongo_transfer.dataset import DocumentSet

A, B = bson.encode({"_id": 1, "x": 1}), bson.encode({"_id": 2, "x": 2})


def value(document: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(document, digest_size=16).digest(), "big")


def test_the_hash_is_the_sum_of_the_documents_hashes() -> None:
    digest = proof.summed("db.c", [A + B])
    assert digest.hash == f"{(value(A) + value(B)) % 2**128:032x}"
    assert (digest.documents, digest.bytes) == (2, len(A) + len(B))


def test_documents_have_seven_columns_and_140_bytes() -> None:
    documents = bson.decode_all(b"".join(dataset.blocks(DocumentSet(7, 25), 0)))
    assert len(documents) == 3  # 25 over 10 collections: 3 in each of the first five, 2 in the others
    assert all(tuple(document) == dataset.COLUMNS and len(dataset.COLUMNS) == 7 for document in documents)
    assert all(len(bson.encode(document)) == 140 for document in documents)


def test_the_same_seed_gives_the_same_bytes() -> None:
    content = b"".join(dataset.blocks(DocumentSet(7, 10_000), 3))
    assert content == b"".join(dataset.blocks(DocumentSet(7, 10_000), 3))
    assert content != b"".join(dataset.blocks(DocumentSet(8, 10_000), 3))
    # Fixed once: a change of these bytes is a change of the data set, and must change its version.
    assert hashlib.sha256(content).hexdigest()[:16] == "457615ae6bd7339f"
