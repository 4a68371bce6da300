"""The probe that counts a server's documents: against a real server, and how it rests."""

from __future__ import annotations

from types import SimpleNamespace

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


def test_after_a_count_it_rests_nine_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    # A count takes from 10.0 to 10.2: it is asked again at 12.0, not at 11.5. That one takes no time.
    clock = iter([10.0, 10.2, 11.5, 12.0, 12.0])
    monkeypatch.setattr(documents_probe, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(documents_probe, "connected", lambda url, password: {"ddt": [1, 2]})
    monkeypatch.setattr(documents_probe, "count", len)
    told = [documents_probe.sample("mongodb://127.0.82.99:27017/", "ddt") for _ in range(3)]
    assert told == [{"documents": 2}, {}, {"documents": 2}]
