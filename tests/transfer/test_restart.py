"""Killed and started again, on either side: the target equals the source, and nothing is there twice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from benchbook.transfer import catalog, dataset
from benchbook.transfer.dataset import Dataset
from benchbook.transfer.proof import prove

from .conftest import Command, Server, until

pytestmark = [pytest.mark.real, pytest.mark.slow]
DOCUMENTS = 18_000
KNOBS = ("--batch-size", "100", "--cache-bucket-size", "4", "--cache-bucket-num", "2", "--source-threads", "3")


def arrived(server: Server, database: str) -> int:
    with server.client() as client:
        names = client[database].list_collection_names()
        return sum(catalog.documents(client, database, name) for name in names)


def test_killed_at_five_random_moments(
    source: Server, target: Server, database: str, run: Callable[..., Command]
) -> None:
    dataset.load(source.endpoint, Dataset(3, DOCUMENTS, database))
    for moment in sorted(random.Random(20231127).sample(range(1000, DOCUMENTS - 3000), 5)):
        command = run("--databases", database, *KNOBS)
        until(lambda least=moment: arrived(target, database) >= least)  # type: ignore[misc]
        command.kill()
        assert arrived(target, database) < DOCUMENTS
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
    servers = {name: serve(f"127.0.82.2{n}", tmp_path / name) for n, name in enumerate(("source", "target"))}
    dataset.load(servers["source"].endpoint, Dataset(4, DOCUMENTS, database))
    command = run("--databases", database, *KNOBS, between=(servers["source"], servers["target"]))
    until(lambda: arrived(servers["target"], database) > DOCUMENTS // 3)
    servers[which].kill()
    servers[which].start()
    status, out, err = command.end()
    assert status == 0, err
    assert json.loads(out)["status"] == "complete"
    prove(servers["source"].endpoint, servers["target"].endpoint, databases=database)
    for server in servers.values():
        server.kill()
