from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbook.analysis import results
from benchbook.errors import BadInput

ROW = {
    "table": "point_select",
    "system": "tidb",
    "threads": 50,
    "metric": "tps",
    "unit": "1/s",
    "published": 35309.0,
    "measured": 1200.0,
    "low": 1100.0,
    "high": 1300.0,
    "n": 3,
}


def whole(**changes: Any) -> dict[str, Any]:
    return {
        "report": "tidb_v7_1_3_sysbench",
        "title": "TiDB v7.1.3 under sysbench",
        "profile": "smoke",
        "inventory": "lab",
        "campaign": "c1",
        "started": "2025-06-12T12:00:00+02:00",
        "finished": "2025-06-12T10:03:52Z",
        "systems": [{"name": "tidb", "version": "7.1.3", "stand_in_for": "TiDB Dedicated"}],
        "trials": {"planned": 45, "done": 43, "failed": 2},
        "cells": [ROW],
        **changes,
    }


def test_a_row_keeps_its_levels_beside_its_figures_through_a_file(tmp_path: Path) -> None:
    path = results.write(results.parse(whole()), tmp_path / "r.json")
    assert json.loads(path.read_text())["cells"] == [ROW]
    assert results.read(path) == results.parse(whole())
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"started": "2025-06-12T10:00:00"}, "started"),  # no time zone
        ({"trials": {"planned": 1, "done": -1, "failed": 0}}, "trials.done"),
        ({"profil": "smoke"}, "profil"),
        ({"claims": [{"id": "a", "statement": "b", "verdict": "probably"}]}, "claims.0.verdict"),
        ({"cells": [ROW | {"published": float("nan")}]}, "cells"),
    ],
)
def test_a_wrong_key_is_named(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(BadInput) as caught:
        results.parse(whole(**changes), Path("r.json"))
    assert str(caught.value.key).endswith(key)
    assert str(caught.value).startswith("r.json: ")


@pytest.mark.parametrize("content", [None, b"{", b"\xff", b"[]"])
def test_a_file_that_holds_no_results_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "r.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"r\.json"):
        results.read(path)
