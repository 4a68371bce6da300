"""How many ranges, and that their bounds cover ids of every type."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import bson
from bson.raw_bson import RawBSONDocument

from mongo_transfer import ranges
from mongo_transfer.catalog import Collection


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
