"""The hash of a collection, by hand; and the data set, byte by byte."""

from __future__ import annotations

import hashlib

import bson
import pytest

from benchbook.errors import BadInput
from mongo_transfer import dataset, proof
from mongo_transfer.dataset import DocumentSet

A, B = bson.encode({"_id": 1, "x": 1}), bson.encode({"_id": 2, "x": 2})


def value(document: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(document, digest_size=16).digest(), "big")


def test_the_hash_is_the_sum_of_the_documents_hashes_in_any_order() -> None:
    digest = proof.summed("db.c", [A + B])
    assert digest.hash == f"{(value(A) + value(B)) % 2**128:032x}"
    assert (digest.documents, digest.bytes) == (2, len(A) + len(B))
    assert digest == proof.summed("db.c", [B, A])
    # With exclusive or in place of the sum, three would look like one.
    assert proof.summed("db.c", [A + A + A]).hash != proof.summed("db.c", [A]).hash
    one, other = bson.encode({"_id": 1, "x": 1, "y": 2}), bson.encode({"_id": 1, "y": 2, "x": 1})
    assert proof.summed("db.c", [one]).hash != proof.summed("db.c", [other]).hash, "the order of fields counts"


def test_documents_have_seven_columns_and_140_bytes() -> None:
    documents = bson.decode_all(b"".join(dataset.blocks(DocumentSet(7, 25), 0)))
    assert len(documents) == 3  # 25 over 10 collections: 3 in each of the first five, 2 in the others
    assert all(tuple(document) == dataset.COLUMNS and len(dataset.COLUMNS) == 7 for document in documents)
    assert all(len(bson.encode(document)) == 140 for document in documents)


def test_values_are_plausible_and_ids_rise_and_differ_between_collections() -> None:
    small = DocumentSet(1, 20_000)
    first, second = (bson.decode_all(b"".join(dataset.blocks(small, number))) for number in (0, 1))
    ids = [document["_id"] for document in first]
    assert ids == sorted(set(ids))
    assert not set(ids) & {document["_id"] for document in second}
    assert [document["seq"] for document in first] == list(range(2000))
    assert {document["status"].strip() for document in first} == {"open", "paid", "shipped", "returned"}
    assert all(0 <= document["amount"] < 10_000 and 0 <= document["account"] < 100_000 for document in first)
    assert all(document["note"].islower() and len(document["note"]) == 27 for document in first)


def test_the_same_seed_gives_the_same_bytes() -> None:
    content = b"".join(dataset.blocks(DocumentSet(7, 10_000), 3))
    assert content == b"".join(dataset.blocks(DocumentSet(7, 10_000), 3))
    assert content != b"".join(dataset.blocks(DocumentSet(8, 10_000), 3))
    # Fixed once: a change of these bytes is a change of the data set, and must change its version.
    assert hashlib.sha256(content).hexdigest()[:16] == "457615ae6bd7339f"


def test_the_identity_names_seed_and_size_and_sizes_add_up() -> None:
    assert dataset.identity(7, 25) == dataset.identity(7, 25) == DocumentSet(7, 25).identity
    assert len({dataset.identity(7, 25), dataset.identity(8, 25), dataset.identity(7, 26)}) == 3
    with pytest.raises(BadInput, match="at least 10"):
        DocumentSet(1, 9)
    sizes = DocumentSet(1, 1_000_003).sizes()
    assert (len(sizes), sum(sizes.values()), max(sizes.values()) - min(sizes.values())) == (10, 1_000_003, 1)
