"""The commands around a transfer: load and digest."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchbook import paths
from mongo_transfer.dataset import identity

from .conftest import Server

pytestmark = pytest.mark.real


def tools(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mongo_transfer.tools", *words]
    env = {**os.environ, "PYTHONPATH": str(paths.home() / "lib")}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)


def test_load_then_digest(source: Server, target: Server, database: str) -> None:
    size = "--documents", "200", "--seed", "9", "--database", database
    for server, is_new in ((source, True), (source, False), (target, True)):
        done = tools("load", "--url", server.endpoint.url, *size)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"identity": identity(9, 200), "documents": 200, "loaded": is_new}
        assert "load: 200/200 documents" in done.stderr
    ours, theirs = (tools("digest", "--url", s.endpoint.url, "--database", database) for s in (source, target))
    assert ours.returncode == theirs.returncode == 0, theirs.stderr
    assert ours.stdout == theirs.stdout
    with target.client() as client:
        client[database]["c03"].delete_one({})
    left = tools("digest", "--url", target.endpoint.url, "--database", database)
    found = {each["namespace"]: each for each in json.loads(left.stdout)["collections"]}
    whole = {each["namespace"]: each for each in json.loads(ours.stdout)["collections"]}
    assert found.pop(f"{database}.c03")["documents"] == 19
    assert whole.pop(f"{database}.c03")["documents"] == 20
    assert found == whole
