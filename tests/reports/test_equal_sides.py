"""When a source is read back for the proof of a copy: once, and again when it may have changed."""

from __future__ import annotations

from typing import cast

import pytest

from benchbook.errors import TrialFailed
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.reports.transfer import client_python
from benchbook.reports.transfer.client_python import EqualSides
from benchbook.systems.mongo import MongoServer
from mongo_transfer.settings import MongoEndpoint


class Side:
    """A server with a collection: `digest` says what is in it, `weigh` what it says that it holds."""

    def __init__(self, name: str, weight: int = 2100) -> None:
        self.name, self.weight, self.hash, self.read = name, weight, "aa", 0
        self.endpoint = MongoEndpoint(f"mongodb://{name}:27017/")

    def weigh(self) -> int:
        return self.weight

    def digest(self) -> Json:
        self.read += 1
        return {"collections": [{"namespace": "ddt.c00", "documents": 15, "bytes": 2100, "hash": self.hash}]}


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> tuple[EqualSides, Side, Side]:
    source, target = Side("source"), Side("target")
    by_url = {side.endpoint.url: side for side in (source, target)}

    def tool(session: Session, host: Host, name: str, server: MongoEndpoint, *rest: object, within_s: float) -> Json:
        assert (name, rest) == ("digest", ())
        return by_url[server.url].digest()

    monkeypatch.setattr(client_python, "tool", tool)
    servers = cast(tuple[MongoServer, MongoServer], (source, target))
    return EqualSides(cast(Session, None), cast(Host, None), *servers, 15), source, target


def test_the_source_is_read_once_and_every_copy_is(sides: tuple[EqualSides, Side, Side]) -> None:
    proving, source, target = sides
    first, second = proving.prove(""), proving.prove("")
    assert (source.read, target.read) == (1, 2)
    assert first == second
    whole = {"namespace": "ddt.c00", "documents": 15, "bytes": 2100, "hash": "aa"}
    assert first["collections"] == [{"namespace": "ddt.c00", "source": whole, "target": whole}]
    assert (first["agrees"], first["documents"]) == (True, 15)


def test_a_source_that_holds_more_or_less_than_it_did_is_read_again(sides: tuple[EqualSides, Side, Side]) -> None:
    proving, source, _ = sides
    proving.prove("")
    source.weight += 140
    proving.prove("")
    proving.prove("")
    assert source.read == 2


def test_a_source_that_tells_no_weight_is_read_beside_every_copy(sides: tuple[EqualSides, Side, Side]) -> None:
    proving, source, _ = sides
    source.weight = 0
    proving.prove("")
    proving.prove("")
    assert source.read == 2


def test_before_a_copy_is_called_different_the_source_is_read_again(sides: tuple[EqualSides, Side, Side]) -> None:
    proving, source, target = sides
    proving.prove("")
    # As much as before, but other documents: what the copy holds is what the source holds now.
    source.hash = target.hash = "bb"
    assert proving.prove("")["agrees"]
    target.hash = "cc"
    with pytest.raises(
        TrialFailed, match=r"differ after the transfer \(ddt\.c00\); the source holds 15 of 15"
    ) as found:
        proving.prove("what the engine printed ")
    assert found.value.output.startswith("what the engine printed ")
    assert source.read == 3


def test_a_source_that_lacks_documents_proves_nothing(sides: tuple[EqualSides, Side, Side]) -> None:
    proving, _, _ = sides
    proving.documents = 16
    with pytest.raises(TrialFailed, match=r"\(in number\); the source holds 15 of 16"):
        proving.prove("")
