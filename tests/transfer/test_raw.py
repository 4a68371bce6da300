"""Raw batches: where documents start, and that batches reach the encoder unchanged."""

from __future__ import annotations

import bson
import pytest

from mongo_transfer import raw

# {"a": 1} is 4 (length) + 1 + 2 + 4 (int32 field) + 1 (end) = 12 bytes; {} is 5.
ONE = bson.encode({"a": 1})
NONE = bson.encode({})


def test_a_batch_that_ends_inside_a_document_is_refused() -> None:
    with pytest.raises(bson.errors.InvalidBSON, match="28 bytes"):
        raw.offsets((ONE + NONE + ONE)[:-1])


def test_a_batch_is_cut_into_smaller_ones_with_offsets_of_their_own() -> None:
    batch = ONE + NONE + ONE
    assert raw.cut(batch, raw.offsets(batch), 2) == [(ONE + NONE, [0, 12, 17]), (ONE, [0, 12])]
    assert raw.cut(batch, raw.offsets(batch), 3) == [(batch, [0, 12, 17, 29])]
    assert raw.cut(b"", [0], 3) == []


def test_the_id_of_a_document_keeps_its_type() -> None:
    assert raw.document_id(bson.encode({"_id": bson.Int64(7), "a": 1})) == 7
    assert raw.document_id(bson.encode({"_id": {"b": 1, "a": 2}})).raw == bson.encode({"b": 1, "a": 2})
