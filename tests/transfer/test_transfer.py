"""Whole transfers between two real servers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import bson
import pytest

from benchbook.errors import BadInput
from mongo_transfer import catalog, dataset, raw
from mongo_transfer.dataset import DocumentSet
from mongo_transfer.engine import Sample, transfer
from mongo_transfer.errors import ProofFailed
from mongo_transfer.progress import Bar, line
from mongo_transfer.proof import digest, prove
from mongo_transfer.ranges import whole
from mongo_transfer.settings import Document, Settings

from .conftest import Command, Server, fill, numbered

pytestmark = pytest.mark.real


def test_every_document_arrives_byte_for_byte(
    source: Server, target: Server, database: str, run: Callable[..., Command], tmp_path: Path
) -> None:
    assert dataset.load(source.endpoint, DocumentSet(1, 5000, database))
    samples, saved = tmp_path / "samples", tmp_path / "report.json"
    files = "--samples", str(samples), "--report", str(saved)
    status, out, err = run("--databases", database, "--verify", "--source-threads", "3", *files).end()
    assert status == 0, err
    report = json.loads(out)
    assert json.loads(saved.read_text()) == report
    assert (report["status"], report["documents"], report["already_there"]) == ("complete", 5000, 0)
    assert report["bytes"] == 5000 * 140
    assert report["collections"][f"{database}.c09"]["inserted"] == 500
    assert report["cpu_seconds"] > 0
    assert report["peak_rss_mb"] > 10
    last = json.loads(samples.read_text().splitlines()[-1])
    assert set(last) == {"t", "documents", "rate", "cpu_s", "rss_mb"}
    assert last["documents"] == 5000
    assert "transfer: 5000 documents" in err
    evidence = prove(source.endpoint, target.endpoint, databases=database)
    assert [each.source.documents for each in evidence if each.source] == [500] * 10


def test_from_python_inside_a_process_with_threads(source: Server, target: Server, database: str) -> None:
    with source.client() as client:
        fill(client, database, "c", numbered(300))
        report = transfer(Settings(source.endpoint, target.endpoint, databases=database))
    assert report.totals.inserted == 300


def test_no_more_documents_are_in_flight_than_the_cache_allows(source: Server, target: Server, database: str) -> None:
    dataset.load(source.endpoint, DocumentSet(2, 3000, database))
    knobs = {"cache_bucket_size": 2, "cache_bucket_num": 3, "batch_size": 10, "source_threads": 4, "target_threads": 4}
    report = transfer(Settings(source.endpoint, target.endpoint, databases=database, **knobs))
    assert report.totals.inserted == 3000
    assert 10 <= report.most_in_flight <= 2 * 3 * 10


def test_options_and_indexes_are_copied(source: Server, target: Server, database: str) -> None:
    with source.client() as client, target.client() as copy:
        client[database].create_collection("ring", capped=True, size=100_000, max=50)
        fill(client, database, "ring", numbered(80))
        fill(client, database, "c", numbered(20))
        client[database]["c"].create_index([("n", 1), ("text", -1)], name="both")
        client[database]["c"].create_index("text", unique=True)
        client[database].create_collection("empty")
        settings = Settings(source.endpoint, target.endpoint, databases=database, batch_size=10)
        assert transfer(settings).notes == []
        # Nor is anything said of what an earlier run has made.
        assert transfer(settings).notes == []
        wanted, got = (
            {each["name"]: (each["options"], list(server[database][each["name"]].list_indexes())) for each in listed}
            for server in (client, copy)
            for listed in [list(server[database].list_collections())]
        )
        assert got == wanted
        # A capped collection's order is part of it.
        ring = [document["n"] for document in client[database]["ring"].find()]
        assert [document["n"] for document in copy[database]["ring"].find()] == ring
    prove(source.endpoint, target.endpoint, databases=database)


def test_ids_of_all_types_and_nested_documents_survive(source: Server, target: Server, database: str) -> None:
    documents = [
        {"_id": 1, "nested": {"b": 1, "a": [1, {"z": None}]}},
        {"_id": "one", "binary": b"\x00\x01", "long": bson.Int64(1)},
        {"_id": {"b": 1, "a": 2}, "time": bson.Timestamp(1, 2)},
        {"_id": 1.5, "pattern": bson.Regex("a.*", "i")},
    ]
    with source.client() as client:
        fill(client, database, "c", documents)
    for _ in range(2):
        transfer(Settings(source.endpoint, target.endpoint, databases=database))
        prove(source.endpoint, target.endpoint, databases=database)


def test_a_second_run_writes_only_what_is_missing_or_different(source: Server, target: Server, database: str) -> None:
    documents = numbered(2000)
    with source.client() as client, target.client() as copy:
        fill(client, database, "c", documents)
        fill(copy, database, "c", [{**each, "text": "old"} if each["n"] < 5 else each for each in documents[:1200]])
        report = transfer(Settings(source.endpoint, target.endpoint, databases=database))
        counts = report.collections[f"{database}.c"]
        assert (counts.inserted, counts.replaced, counts.already_there) == (800, 5, 1195)
        assert catalog.documents(copy, database, "c") == 2000
    prove(source.endpoint, target.endpoint, databases=database)


def test_a_collection_is_read_whole_as_find_reads_it(source: Server, database: str) -> None:
    with source.client() as client:
        documents: list[Document] = [*numbered(500), {"_id": {"a": 1}, "b": [1, {"c": None}], "": bson.Int64(1)}]
        fill(client, database, "c", documents)
        client[database].create_collection("capped", capped=True, size=1 << 20)
        fill(client, database, "capped", [{"_id": number} for number in (3, 1, 2)])
        for name, count in (("c", 501), ("capped", 3), ("none", 0)):
            found = b"".join(cast(Iterable[bytes], client[database][name].find_raw_batches({})))
            read = b"".join(whole(client, database, name, 100))
            assert read == found
            assert len(list(raw.split(read))) == count


def test_proof_names_the_collection_that_differs(source: Server, target: Server, database: str) -> None:
    with source.client() as client, target.client() as copy:
        fill(client, database, "same", numbered(10))
        fill(client, database, "other", numbered(10))
        fill(client, database, "lost", numbered(1))
        fill(copy, database, "same", numbered(10))
        fill(copy, database, "other", [*numbered(9), {**numbered(10)[9], "n": 0}])
    with pytest.raises(ProofFailed) as caught:
        prove(source.endpoint, target.endpoint, databases=database)
    text = str(caught.value)
    assert f"{database}.other: source 10 documents" in text
    assert f"{database}.lost: source 1 documents" in text
    assert "target has no such collection" in text
    assert f"{database}.same" not in text


def test_the_data_set_is_reused_until_its_identity_changes(source: Server, database: str) -> None:
    told: list[tuple[int, int]] = []
    assert dataset.load(source.endpoint, DocumentSet(1, 100, database), lambda done, total: told.append((done, total)))
    assert told[-1] == (100, 100)
    first = digest(source.endpoint, databases=database)
    assert sum(each.documents for each in first) == 100
    assert not dataset.load(source.endpoint, DocumentSet(1, 100, database))
    assert dataset.load(source.endpoint, DocumentSet(2, 100, database))
    assert digest(source.endpoint, databases=database) != first
    with source.client() as client:
        client[database]["c00"].delete_one({})
    assert dataset.load(source.endpoint, DocumentSet(2, 100, database))


def test_a_database_that_is_not_ours_is_not_dropped(source: Server, database: str) -> None:
    with source.client() as client:
        fill(client, database, "orders", numbered(3))
        with pytest.raises(BadInput, match="not loaded from here"):
            dataset.load(source.endpoint, DocumentSet(1, 100, database))
        assert catalog.documents(client, database, "orders") == 3


def test_a_bar_on_a_terminal_has_count_rate_and_memory() -> None:
    screen = io.StringIO()
    with Bar(screen) as bar:
        bar.start(4000)
        bar.update(Sample(t=2.0, documents=1000, rate=600.0, cpu=1.0, resident=50 * 2**20))
    assert "1000/4000 600 docs/s 50 MB" in " ".join(screen.getvalue().split())


def test_a_line_of_progress_has_rate_memory_and_the_time_left() -> None:
    # 1000 of 4000 after 2 s: 6 s left at the mean rate.
    sample = Sample(t=2.0, documents=1000, rate=600.0, cpu=1.0, resident=50 * 2**20)
    assert line(sample, 4000) == "transfer: 1000/4000 documents, 600 docs/s, 50 MB, 6 s left"
