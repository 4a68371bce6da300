"""The probe that counts a server's documents: against a real server, and how it rests."""

from __future__ import annotations

import pytest

from benchbook.probes.remote import documents_probe

from .conftest import Server, fill, numbered


@pytest.mark.real
def test_a_server_counts_its_own_documents_over_all_collections(source: Server, database: str) -> None:
    with source.client() as client:
        client[database].create_collection("empty")
        fill(client, database, "one", numbered(1200))
        fill(client, database, "two", numbered(34))
        assert documents_probe.count(client[database]) == 1234
        assert documents_probe.sample(source.endpoint.url, database) == {"documents": 1234}
        assert documents_probe.count(client["no_such_database"]) == 0
