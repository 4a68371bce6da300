"""The verdict that docs/how-a-verdict-is-reached.md recomputes: with numpy, as the page says, and by the kit."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from kit import ROOT
from scipy import stats

import benchbook
from benchbook import published
from benchbook.claims import judge, ledger
from benchbook.claims.capacity import Capacity
from benchbook.claims.figures import Term
from benchbook.claims.hypothesis import SystemFigures

SAMPLE = ROOT / "data" / "sample" / "tidb_v7_1_3_sysbench" / "20261122T073108163287-f59da35b3bef"


def test_the_verdict_that_the_docs_recompute(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-a-verdict-is-reached.md").read_text()
    said = {abs(float(each)) for each in re.findall(r"\d+\.\d+", page.split("## One verdict by hand")[1])}
    report = benchbook.open_campaign(str(shutil.copytree(SAMPLE, tmp_path / SAMPLE.parent.name / SAMPLE.name)))
    trials = report.trials()
    rates = trials[trials.threads.isin([1, 5])].pivot_table("tps", ["workload", "threads"], "repetition", observed=True)
    assert said >= set(rates.to_numpy().ravel())
    logs = np.log(rates)
    # The contrast, and its own spread.
    effects = (logs.loc["oltp_read_write", 5] - logs.loc["oltp_read_write", 1]).to_numpy()
    mean, own = effects.mean(), effects.var(ddof=1)
    # What four cells lend: residuals of cell + repetition.
    values = logs.to_numpy()
    left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    moved = values[:, 1] - values[:, 0]
    s2 = (left**2).sum() / 3
    variance = (2 * 2 * s2 + own) / 3
    alpha = 2 * 0.05 / 24
    t = stats.t.ppf(1 - alpha / 2, 3)
    half = t * np.sqrt(variance / 2)
    assert said >= {abs(round(float(each), 3)) for each in [*effects, mean, *moved, moved.mean(), half]}
    assert said >= {round(float(each), 4) for each in (own, 2 * (left**2).sum(), (left**2).sum(), s2, variance)}
    assert said >= {round(float(np.exp(mean)), 1), round(t, 2), round(100 * (1 - alpha), 2)}
    low, high = np.exp([mean - half, mean + half])
    assert said >= {round(float(low), 2), round(float(high), 1)}
    (judged,) = [claim for claim in report.claims() if claim.id == "rises-read-write"]
    # The kit counts as well that rates are rounded to 0.01.
    assert judged.interval == pytest.approx((low, high), rel=1e-6)
    assert (judged.verdict, judged.here, judged.speaks, judged.n) == ("needs a bigger machine", "open", "nothing", 2)
    assert judged.reason == "threads were scaled to the cores here: 1 for 50 and 5 for 200"
    # Had 5 threads been published: what the cores withheld, and what they could say.
    withheld = 5 * np.exp(logs.loc["oltp_read_write", 1].mean() - logs.loc["oltp_read_write", 5].mean())
    known = published.load("tidb_v7_1_3_sysbench")
    figures = SystemFigures(known, judge.evidence_of(report._campaign, known, report.kind), "tidb")
    capacity = Capacity(figures, judge.busy_cells(report._campaign), published_cores=80)
    full = Term("oltp_read_write", "tps", {"threads": 200})
    assert np.exp(capacity.log_withheld(full, figures.log_mean)) == pytest.approx(withheld)
    rise = judged.published
    assert said >= {round(float(each), 3) for each in (withheld, rise, 1.2**2 / rise)}
    assert said >= {round(float(np.exp(mean) * each), 1) for each in (1, withheld)}
    (claim,) = [claim for claim in ledger.load(known).claims if claim.id == "rises-read-write"]
    assert capacity.scope(claim, judge.contrasts_of(claim, figures)).speaks == "confirm only"
