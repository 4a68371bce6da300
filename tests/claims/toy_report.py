"""A toy report whose table has one row per x, and evidence of any truth with noise between repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd

from benchbook.claims.evidence import Evidence
from benchbook.claims.ledger import Ledger, read
from benchbook.published.tables import Field, Published, PublishedTable

X = [1, 2, 4, 8]
LEVEL, METRIC = Field("X", "1", "level"), Field("Throughput", "1/s", "metric")


def _table(id: str, y: list[float], z: list[float]) -> PublishedTable:
    frame = pd.DataFrame({"x": X, "y": y, "z": z}).astype({"y": float, "z": float})
    printed = frame[["y", "z"]].astype(str)
    return PublishedTable(id, id, "somewhere", frame, printed, {"x": LEVEL, "y": METRIC, "z": METRIC}, {}, [])


def published_toy() -> Published:
    """Table a: y rises to x = 4 and saturates, z is flat; table b: half of a's y, z rises."""
    tables = {
        "a": _table("a", [100, 190, 300, 306], [10, 10.2, 10.1, 9.9]), "b": _table("b", [50, 90, 120, 70], [1, 2, 4, 8])
    }  # fmt: skip
    return Published(cast(Any, SimpleNamespace(design=[])), tables)


def evidence(
    truth: Mapping[str, Mapping[str, list[float]]], *, repetitions: int = 5, cv: float = 0.02, seed: int = 0
) -> Evidence:
    """Figures per table and metric at every x, times a shared block effect, times noise of `cv` per figure."""
    rng = np.random.default_rng(seed)
    blocks = np.exp(0.2 * rng.standard_normal(repetitions))
    frames = {
        table: pd.concat([
            pd.DataFrame({"x": X, **{m: np.array(v) * blocks[r] * np.exp(cv * rng.standard_normal(len(X)))
                                     for m, v in metrics.items()}}).assign(system="s", repetition=r + 1)
            for r in range(repetitions)
        ])
        for table, metrics in truth.items()
    }  # fmt: skip
    return Evidence(frames, ["s"])


def ledger(*claims: Mapping[str, Any]) -> Ledger:
    common = {"statement": "It is so.", "where": "Somewhere"}
    named = [{"id": f"c{index}", **common, **claim} for index, claim in enumerate(claims)]
    return read({"report": "toy", "claims": named})
