"""How many ranges, and that their bounds cover ids of every type."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import bson
from bson.raw_bson import RawBSONDocument

from mongo_transfer import ranges
from mongo_transfer.catalog import Collection


def test_small_collections_stay_whole() -> None:
    assert ranges.parts_for(19_999, 19_999, readers=8, split_documents=200_000) == 1


def test_a_collection_is_divided_for_the_readers() -> None:
    # Alone and of 400,000: 2 x 4 ranges for 4 readers; one of ten equal ones: 2 x 4 / 10 rounds to 1.
    assert ranges.parts_for(400_000, 400_000, readers=4, split_documents=10**9) == 8
    assert ranges.parts_for(400_000, 4_000_000, readers=4, split_documents=10**9) == 1


def test_no_range_is_longer_than_asked_for() -> None:
    assert ranges.parts_for(1_000_001, 10**9, readers=1, split_documents=200_000) == 6


def sampling(ids: list[Any]) -> MagicMock:
    """A client whose server answers $sample with these ids, sorted."""
    client = MagicMock()
    plain = client.__getitem__.return_value.get_collection.return_value
    plain.aggregate.return_value = [RawBSONDocument(bson.encode({"_id": value})) for value in ids]
    return client


def test_ranges_meet_at_the_sampled_ids_and_are_open_at_the_ends() -> None:
    found = ranges.split(
        sampling(list(range(60))), Collection("db", "c", "collection", {}, 600), parts=3, is_resumed=False
    )
    bounds = [(r.lower and bson.decode(r.lower)["_id"], r.upper and bson.decode(r.upper)["_id"]) for r in found]
    assert bounds == [(None, 20), (20, 40), (40, None)]
    assert [r.documents for r in found] == [200, 200, 200]


def test_an_id_that_was_sampled_twice_makes_no_empty_range() -> None:
    found = ranges.split(sampling([7] * 60), Collection("db", "c", "collection", {}, 600), parts=3, is_resumed=False)
    assert len(found) == 2


def test_capped_collections_and_those_with_a_collation_are_not_divided() -> None:
    for options in ({"capped": True, "size": 4096}, {"collation": {"locale": "de"}}):
        collection = Collection("db", "c", "collection", options, 10**6)
        assert len(ranges.split(sampling(list(range(60))), collection, parts=3, is_resumed=False)) == 1


def test_bounds_are_those_of_the_index_so_that_no_type_is_left_out() -> None:
    client = MagicMock()
    lower, upper = bson.encode({"_id": 5}), bson.encode({"_id": "x"})
    ranges.Range("db", "c", lower, upper).cursor(client, 100)
    called = client.__getitem__.return_value.__getitem__.return_value.find_raw_batches.call_args
    assert called.args == ({},)
    assert called.kwargs == {"batch_size": 100, "min": [("_id", 5)], "max": [("_id", "x")], "hint": [("_id", 1)]}


def test_a_whole_collection_is_asked_for_once_its_first_batch_is() -> None:
    """Before, there is no room for it: what a reader asks for counts as in flight."""
    client = MagicMock()
    asked = client.__getitem__.return_value.__getitem__.return_value.aggregate_raw_batches
    asked.return_value = MagicMock(__iter__=lambda _: iter([b"one", b"two"]))
    batches = ranges.Range("db", "c").cursor(client, 100)
    assert not asked.called
    assert next(batches) == b"one"  # type: ignore[comparison-overlap]
    asked.assert_called_once_with([], batchSize=100)
    batches.close()
    assert asked.return_value.close.called
