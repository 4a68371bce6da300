"""What is refused before anything is touched."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from bson.binary import UuidRepresentation

from benchbook.errors import BadInput
from mongo_transfer import catalog
from mongo_transfer.clients import connect
from mongo_transfer.settings import MongoEndpoint, Settings, shares

A, B = MongoEndpoint("mongodb://127.0.82.1/"), MongoEndpoint("mongodb://127.0.82.2/")


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadInput) as caught:
        MongoEndpoint("mongodb://me:geheim@127.0.82.1:27017/?authSource=admin")
    assert "geheim" not in str(caught.value)
    assert "127.0.82.1:27017" in str(caught.value)
    assert "environment variable" in str(caught.value)


def test_a_password_is_not_in_the_representation() -> None:
    assert "geheim" not in repr(Settings(MongoEndpoint("mongodb://me@127.0.82.1/", "geheim"), B))


@pytest.mark.parametrize("url", ["127.0.82.1:27017", "http://127.0.82.1/", ""])
def test_only_mongodb_urls_are_taken(url: str) -> None:
    with pytest.raises(BadInput, match="not a MongoDB URL"):
        MongoEndpoint(url)


@pytest.mark.parametrize(
    "key", ["source_threads", "target_threads", "cache_bucket_size", "cache_bucket_num", "batch_size"]
)
@pytest.mark.parametrize("value", [0, -1])
def test_knobs_below_one_are_refused_by_name(key: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"{key.replace('_', '-')}: must be at least 1"):
        Settings(A, B, **{key: value})  # type: ignore[arg-type]


def test_a_batch_that_no_server_takes_is_refused() -> None:
    with pytest.raises(BadInput, match="at most 100000 documents"):
        Settings(A, B, batch_size=100_001)


def test_a_wrong_expression_is_refused() -> None:
    with pytest.raises(BadInput, match="databases: not a regular expression"):
        Settings(A, B, databases="(")


def test_documents_in_flight_are_the_product_of_the_knobs() -> None:
    settings = Settings(A, B, cache_bucket_size=48, cache_bucket_num=48, batch_size=128)
    assert settings.documents_in_flight == 48 * 48 * 128 == 294_912


def test_no_process_is_without_a_reader_a_writer_and_a_slot() -> None:
    assert Settings(A, B, processes=8, source_threads=3, target_threads=6).worker_count() == 3
    assert Settings(A, B, processes=8, source_threads=9, target_threads=6).worker_count() == 6
    assert Settings(A, B, processes=8, source_threads=9, cache_bucket_size=1, cache_bucket_num=1).worker_count() == 1


def test_shares_are_even_and_lose_nothing() -> None:
    assert shares(15, 2) == [8, 7]
    assert shares(24, 3) == [8, 8, 8]


def test_reading_ahead_stays_within_a_quarter_of_the_readers_slots() -> None:
    settings = Settings(A, B, batch_size=128)
    assert settings.read_ahead(readers=2, slots=1024) == 39  # 39 x 128 = 4,992 documents, the most below 5,000
    assert settings.read_ahead(readers=2, slots=24) == 3
    assert settings.read_ahead(readers=2, slots=1) == 1


def test_names_are_matched_whole_and_system_collections_left_out() -> None:
    settings = Settings(A, B, databases="ddt", collections="c0.")
    assert settings.wants("ddt", "c01")
    assert not settings.wants("ddt2", "c01")
    assert not settings.wants("ddt", "c011")
    assert not Settings(A, B).wants("local", "oplog.rs")
    assert not Settings(A, B).wants("ddt", "system.views")


def test_a_url_does_not_say_how_a_collection_s_own_uuid_is_decoded() -> None:
    """As `UUID` it is no bytes, by which a collection is known again: the first question to a mongod ended so."""
    # Its monitor, which would look for that server meanwhile, is not started.
    with connect(MongoEndpoint(f"{A.url}?uuidRepresentation=standard&connect=false")) as client:
        assert client.codec_options.uuid_representation == UuidRepresentation.UNSPECIFIED


@pytest.mark.parametrize(
    ("databases", "is_listed", "looked_into"),
    [("shop", False, ["shop"]), ("shop_.*", True, ["shop_1", "shop_2"]), ("admin", False, [])],
)
def test_a_database_of_a_plain_name_is_looked_for_without_a_list_of_all(
    databases: str, is_listed: bool, looked_into: list[str]
) -> None:
    client = MagicMock()
    client.list_database_names.return_value = ["admin", "shop_1", "other", "shop_2"]
    client.__getitem__.return_value.list_collections.side_effect = lambda: [{"name": "v", "type": "view"}]
    found = catalog.matching(client, Settings(A, B, databases=databases))
    assert client.list_database_names.called is is_listed
    assert [each.database for each in found] == looked_into
