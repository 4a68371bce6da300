"""Killed and started again, on either side: the target equals the source, and nothing is there twice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mongo_transfer import catalog, dataset
from mongo_transfer.dataset import DocumentSet
from mongo_transfer.proof import prove

from .conftest import NET, Command, Server
from .relay import relay

pytestmark = [pytest.mark.real, pytest.mark.slow]
DOCUMENTS = 18_000
KNOBS = ("--batch-size", "100", "--cache-bucket-size", "4", "--cache-bucket-num", "2", "--source-threads", "3")
# A document has 130 bytes or more; five kills, none of them after more than this, leave the copy unfinished.
MOST_BYTES = DOCUMENTS * 130 // 6


def arrived(server: Server, database: str) -> int:
    with server.client() as client:
        names = client[database].list_collection_names()
        return sum(catalog.documents(client, database, name) for name in names)


def test_killed_at_five_random_moments(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    dataset.load(source.endpoint, DocumentSet(3, DOCUMENTS, database))
    draw, before = random.Random(20231127), 0
    for _ in range(5):
        with relay(f"{NET}.19", target, budget=draw.randrange(MOST_BYTES // 4, MOST_BYTES)) as held:
            command = run("--databases", database, *KNOBS, between=(source, held))
            held.wait()
            command.kill()
        now = arrived(target, database)
        assert before < now < DOCUMENTS
        before = now
    status, out, err = run("--databases", database, *KNOBS).end()
    assert status == 0, err
    report = json.loads(out)
    assert report["documents"] + report["already_there"] == DOCUMENTS
    evidence = prove(source.endpoint, target.endpoint, databases=database)
    assert sum(each.target.documents for each in evidence if each.target) == DOCUMENTS


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_server_killed_in_mid_copy_and_restarted(
    which: str, database: str, run: Callable[..., Command], serve: Callable[[str, Path], Server], tmp_path: Path
) -> None:
    servers = {name: serve(f"{NET}.2{n}", tmp_path / name) for n, name in enumerate(("source", "target"))}
    dataset.load(servers["source"].endpoint, DocumentSet(4, DOCUMENTS, database))
    with relay(f"{NET}.19", servers["target"], budget=2 * MOST_BYTES) as held:
        command = run("--databases", database, *KNOBS, between=(servers["source"], held))
        held.wait()
        servers[which].kill()
        servers[which].start()
        held.release()
        status, out, err = command.end()
    assert status == 0, err
    report = json.loads(out)
    assert report["status"] == "complete"
    assert report["documents"] + report["already_there"] == DOCUMENTS, "none counts twice"
    prove(servers["source"].endpoint, servers["target"].endpoint, databases=database)
