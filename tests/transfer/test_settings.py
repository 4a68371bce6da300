"""What is refused before anything is touched."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
from bson.binary import UuidRepresentation

from benchbook.errors import BadInput
from mongo_transfer import catalog
from mongo_transfer.clients import connect
from mongo_transfer.settings import MongoEndpoint, Settings

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
    ("knobs", "said"),
    [
        *(
            ({key: 0}, f"{key.replace('_', '-')}: must be at least 1")
            for key in ("source_threads", "target_threads", "cache_bucket_size", "cache_bucket_num", "batch_size")
        ),
        ({"batch_size": 100_001}, "at most 100000 documents"),
        ({"databases": "("}, "databases: not a regular expression"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Settings(A, B, **knobs)


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
