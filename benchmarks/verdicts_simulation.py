"""How often is a verdict wrong? Reports and machines whose truth is known, judged by the kit's own claims engine.

A report is printed from closed queueing networks on many cores: CPU, a lock, a disk, a delay. What then runs is the
same system, or one that is broken in a way that the report does not show, on a few cores. Whether a claim is true *of
the machine that runs* and *of the report's machine* follows from the networks, without noise; what the engine says
follows from noisy repetitions. `python -m benchmarks.verdicts_simulation --all` prints the tables of
docs/how-often-a-verdict-is-wrong.md and draws the pictures of docs/how-a-verdict-is-reached.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchbook import paths
from benchbook.analysis.cpu_use import BusyCell, Machine
from benchbook.analysis.results import Speaks
from benchbook.campaign.scaled_levels import LevelScaling, scale
from benchbook.claims import contrasts, decisions, judge, ledger
from benchbook.claims.capacity import Capacity
from benchbook.claims.evidence import Evidence
from benchbook.claims.figures import Term
from benchbook.claims.hypothesis import Hypothesis, SystemFigures
from benchbook.published.tables import Field, Published, PublishedTable

Array = NDArray[np.float64]
FIELDS = {
    "threads": Field("Threads", "1", "level"),
    "tps": Field("Rate", "1/s", "metric"),
    "ms": Field("Latency", "ms", "metric"),
}

# -- machines ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """What one transaction asks for, in ms: of any core, of a lock, of a disk, and waits for nobody.

    Many clients save the share `saved` of its CPU (batches); each core in use adds the share `kappa` (coherence).
    """

    cpu: float
    lock: float = 0.0
    disk: float = 0.0
    delay: float = 0.0
    saved: float = 0.0
    kappa: float = 0.0

    @lru_cache(maxsize=10_000)  # noqa: B019 - a few works per report
    def rate(self, clients: int, cores: int) -> float:
        """Return transactions per ms: the exact solution of the product-form network, by convolution.

        Buzen (1973), CACM 16(9): X(N) = G(N - 1) / G(N), G the convolution of what each station contributes.
        """
        counts = np.arange(clients + 1)
        factorial = np.cumsum(np.log(np.maximum(counts, 1)))
        servers = np.cumsum(np.log(np.clip(counts, 1, cores)))
        cpu = self.cpu_of(clients, cores)
        # In this unit of time no G is beyond a float: e^N at most.
        unit = max(cpu / cores, self.lock, self.disk, (cpu + self.lock + self.disk + self.delay) / clients)
        found = np.exp(counts * math.log(cpu / unit) - servers)
        for queue in filter(None, (self.lock, self.disk)):
            found = np.convolve(found, np.exp(counts * math.log(queue / unit)))[: clients + 1]
        if self.delay:
            found = np.convolve(found, np.exp(counts * math.log(self.delay / unit) - factorial))[: clients + 1]
        return float(found[-2] / found[-1] / unit)

    def cpu_of(self, clients: int, cores: int) -> float:
        return self.cpu * (1 - self.saved * (1 - 1 / clients)) * (1 + self.kappa * (min(clients, cores) - 1))

    def busy(self, clients: int, cores: int) -> float:
        return self.rate(clients, cores) * self.cpu_of(clients, cores) / cores


@dataclass(frozen=True)
class Site:
    """A machine and the levels that it runs: the clients for each published level."""

    cores: int
    clients: Mapping[int, int]


def frame(work: Work, site: Site) -> pd.DataFrame:
    """Return [threads, tps, ms] without noise, a row per published level."""
    rates = np.array([work.rate(n, site.cores) for n in site.clients.values()])
    counts = np.array(list(site.clients.values()))
    return pd.DataFrame({"threads": list(site.clients), "tps": 1000 * rates, "ms": counts / rates})


def drawn(rng: np.random.Generator, limit: str) -> dict[str, Work]:
    """Return the works of three tables that are limited by "cores", or by "locks and disks" as well."""
    base = Work(1.0, delay=float(rng.uniform(0.2, 3)), saved=float(rng.uniform(-0.1, 0.35)))
    base = replace(base, kappa=float(rng.choice([0, 1e-4, 1e-3])))
    works = {}
    for name in "abc":
        work = replace(base, cpu=float(np.exp(rng.normal(0, 0.5))))
        if limit != "cores":
            work = replace(work, lock=work.cpu * float(rng.choice([0, 0.002, 0.01, 0.05])))
            work = replace(work, disk=work.cpu * float(rng.choice([0, 0.01, 0.1, 0.5])))
        works[name] = work
    return works


# How a system differs from the one that a report was printed from, by what limits it.
WAYS: dict[str, dict[str, Callable[[Work], Work]]] = {
    "cores": {
        "twice the CPU": lambda w: replace(w, cpu=w.cpu * 2),
        "half the CPU": lambda w: replace(w, cpu=w.cpu / 2),
        "2% more CPU for each core in use": lambda w: replace(w, kappa=w.kappa + 0.02),
        "5 times the delay": lambda w: replace(w, delay=w.delay * 5),
    },
    "locks and disks": {
        "a longer lock": lambda w: replace(w, lock=w.lock + 0.1 * w.cpu),
        "neither lock nor disk": lambda w: replace(w, lock=0.0, disk=0.0),
        "a slower disk": lambda w: replace(w, disk=w.disk * 4 + 0.05 * w.cpu),
    },
}


def broken(works: Mapping[str, Work], rng: np.random.Generator, limit: str) -> tuple[str, dict[str, Work]]:
    """Return in what way works differ, in one table or in all, from those that a report was printed from, and these."""
    ways = WAYS[limit]
    name = list(ways)[rng.integers(len(ways))]
    these = set(works) if rng.random() < 0.3 else {str(rng.choice(list(works)))}
    return name, {table: ways[name](work) if table in these else work for table, work in works.items()}


# -- noise ------------------------------------------------------------------------------------------------------------

# The log of each trial's factor: shape (repetitions, tables, levels), with mean 0 in every contrast.
Noise = Callable[[np.random.Generator, tuple[int, int, int]], Array]


def _lognormal(cv: float) -> Noise:
    return lambda rng, shape: rng.normal(0, cv, shape)


def _states(factor: float, share: float, cells: float = 1.0, cv: float = 0.03) -> Noise:
    """Each trial of so many of the cells is slow with a probability; on average it is 0."""

    def noise(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
        places = shape[1] * shape[2]
        odd = rng.permutation(places) < max(1, round(cells * places))
        slow = (rng.random(shape) < share) - share
        return rng.normal(0, cv, shape) + math.log(factor) * slow * odd.reshape(shape[1:])

    return noise


def _slow_machine(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """All trials that run, in their shuffled order, while it is slow."""
    trials = shape[1] * shape[2]
    change, slow, noise = rng.random((shape[0], trials)) < 0.15, False, rng.normal(0, 0.03, (shape[0], trials))
    for repetition, order in enumerate([rng.permutation(trials) for _ in range(shape[0])]):
        for place, trial in enumerate(order):
            slow = bool(rng.random() < 0.4) if change[repetition, place] else slow
            noise[repetition, trial] += math.log(0.7) * slow
    return noise.reshape(shape)


def _drift(step: float, tables: int | None = None) -> Noise:
    """Each repetition differs from the one before, in all tables or in the first ones."""

    def noise(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
        line = step * (np.arange(shape[0]) - (shape[0] - 1) / 2)
        return rng.normal(0, 0.03, shape) + line[:, None, None] * (np.arange(shape[1]) < (tables or shape[1]))[:, None]

    return noise


def _bursts(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """What others take of a trial in four: up to 5%, which no gate refuses."""
    return rng.normal(0, 0.03, shape) - rng.uniform(0, 0.05, shape) * (rng.random(shape) < 0.25)


def _bad_repetition(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    bad = np.arange(shape[0]) == rng.integers(shape[0])
    hit = math.log(0.75) * (rng.random(shape[1:]) < 0.5)
    logs: Array = rng.normal(0, 0.03, shape) + bad[:, None, None] * hit
    return logs


NOISES: dict[str, Noise] = {
    "3%": _lognormal(0.03),
    "8%": _lognormal(0.08),
    "15%": _lognormal(0.15),
    "two states (30% at 0.8), all cells": _states(0.8, 0.3),
    "two states (30% at 0.75), a quarter of the cells": _states(0.75, 0.3, 0.25),
    "the machine slow (0.7) for runs of trials": _slow_machine,
    "all drift 2% a repetition": _drift(-0.02),
    "one table drifts 3% a repetition": _drift(-0.03, 1),
    "bursts of others, up to 5%": _bursts,
    "one bad repetition": _bad_repetition,
    "one bad trial in ten": _states(0.5, 0.1),
}
HOLE = {"two states (30% at 0.75) in one cell alone": _states(0.75, 0.3, 0.0)}


def repeated(truth: Mapping[str, pd.DataFrame], noise: Noise, n: int, rng: np.random.Generator) -> Evidence:
    """Return n noisy repetitions; what a repetition shares is 5%, and times are long where rates are low."""
    levels = len(next(iter(truth.values())))
    logs = noise(rng, (n, len(truth), levels)) + rng.normal(0, 0.05, (n, 1, 1))
    return Evidence({name: _noisy(table, np.exp(logs[:, i])) for i, (name, table) in enumerate(truth.items())}, ["s"])


def _noisy(table: pd.DataFrame, factors: Array) -> pd.DataFrame:
    n = len(factors)
    long = pd.concat([table] * n, ignore_index=True).assign(
        system="s", repetition=np.repeat(np.arange(1, n + 1), len(table))
    )
    return long.assign(tps=long["tps"] * factors.ravel(), ms=long["ms"] / factors.ravel())


# -- reports ----------------------------------------------------------------------------------------------------------


def printed(tables: Mapping[str, pd.DataFrame]) -> Published:
    """Return a report with these tables."""
    found = {
        name: PublishedTable(name, name, "", table, table[["tps", "ms"]].astype(str), FIELDS, {}, cast(Any, None))
        for name, table in tables.items()
    }
    # Of a report's description the engine asks for the designs of its loads alone; these have none.
    return Published(cast(Any, SimpleNamespace(name="r", design=())), found)


def claims_of(report: Published) -> list[Hypothesis]:
    """Return what a report would say of its tables: about sixteen claims, of every kind, all true as printed."""
    tables = {name: table.frame for name, table in report.tables.items()}
    said: list[dict[str, Any]] = []
    last, first = (int(end(next(iter(tables.values()))["threads"])) for end in (max, min))
    for name, table in tables.items():
        rate, time = ({"table": name, "metric": metric, "factor": "threads"} for metric in ("tps", "ms"))
        rise = table["tps"].iloc[-1] / table["tps"].iloc[0]
        slower = table["ms"].iloc[-1] / table["ms"].iloc[0]
        best = int(table["threads"].iloc[table["tps"].argmax()])
        said += [
            {"hypothesis": "increases", "at_least": max(1.0, rise**0.7), **rate},
            {"hypothesis": "flat", "tolerance": 0.2, **rate, "levels": list(table["threads"][-2:])},
            {"hypothesis": "increases", "at_least": max(1.0, slower**0.7), **time},
            {"hypothesis": "peak_at", "at": best, "tolerance": 0.05, **rate},
        ]
        if best not in (first, last):
            said += [{"hypothesis": "decreases", **rate, "levels": [best, last]}]
    for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
        ratio = {"table": one, "metric": "tps", "over": {"table": other}}
        said.append({"hypothesis": "mean_ratio", "factor": "threads", "tolerance": 0.25, **ratio})
        for at in (first, last):
            figures = [{"table": table, "metric": "tps", "rows": {"threads": at}} for table in (one, other)]
            said.append({"hypothesis": "order", "figures": figures})
    known = ledger.read(
        {
            "report": "r",
            "claims": [{"id": f"c{i}", "statement": "-", "where": "-", **each} for i, each in enumerate(said)],
        }
    )
    return [c for c in known.claims if all(one.inside(one.mean) for one in ledger.as_printed(c, report))]


# -- errors of a ledger and of an interval ----------------------------------------------------------------------------

SIDE = (3, 5)


def on_their_bounds(noise: Array) -> list[list[contrasts.Contrast]]:
    """Return 16 claims about 15 cells, each true to within nothing, from log noise (repetitions, tables, levels).

    Rises along a table, and tables above each other: every true effect is 0, and so is the bound that it must exceed.
    """
    along = [((t, b), (t, a)) for t in range(3) for a, b in ((0, 4), (0, 2), (1, 3))]
    across = [((t, k), (u, k)) for t, u in ((0, 1), (1, 2), (0, 2)) for k in (0, 4)]
    pairs = [*along, *across, ((1, 4), (1, 0))]
    claims = [[_above(one, other, noise)] for one, other in pairs]
    rows = range(1, len(noise) + 1)

    def log(term: Term) -> pd.Series[float]:
        return pd.Series(noise[:, int(term.table), int(cast(int, term.rows["threads"]))], index=rows)

    return contrasts.with_pooled(claims, log, lambda term: "1/s", lambda term: (term.table, "s", term.rows["threads"]))


def _above(one: tuple[int, int], other: tuple[int, int], noise: Array) -> contrasts.Contrast:
    terms = tuple(Term(str(table), "tps", {"threads": level}) for table, level in (one, other))
    return contrasts.Contrast("", noise[:, *one] - noise[:, *other], low=0.0, terms=terms, weights=(1.0, -1.0))


def wrong(claims: Sequence[Sequence[contrasts.Contrast]], alpha: float = 0.05) -> bool:
    """Return whether any answer is wrong: every other claim is false by a hair, so that it does not hold."""
    settled = decisions.adjusted_p(claims) < alpha
    return any(one.mean > 0 if i % 2 else one.mean < 0 for i, (one,) in enumerate(claims) if settled[i])


def errors(noises: Mapping[str, Noise], counts: Sequence[int], ledgers: int, seed: int) -> pd.DataFrame:
    """Return, by noise and repetitions, how many ledgers have any wrong answer, and how often 95% intervals hold.

    Every claim lies on its bound, true by a hair or false by one.
    """
    found = []
    for (number, (name, noise)), n in product(enumerate(noises.items()), counts):
        rng = np.random.default_rng([seed, number, n])
        drawn = [on_their_bounds(noise(rng, (n, *SIDE))) for _ in range(ledgers)]
        limits = [one.interval(0.05) for claims in drawn for (one,) in claims]
        held, half = np.mean([low < 0 < high for low, high in limits]), np.median([high - low for low, high in limits])
        share = np.mean([wrong(claims) for claims in drawn])
        found.append(
            {"noise": name, "n": n, "ledgers": ledgers, "wrong": share, "covered": held, "half width": half / 2}
        )
    return pd.DataFrame(found)


def looks(ledgers: int, seed: int, counts: Sequence[int] = range(3, 11)) -> dict[str, float]:
    """Return the share of ledgers that are wrong at some look, if every repetition from 3 to 10 is looked at."""
    rng = np.random.default_rng(seed)
    runs = [NOISES["8%"](rng, (max(counts), *SIDE)) for _ in range(ledgers)]
    found = [[on_their_bounds(run[:n]) for n in counts] for run in runs]
    return {
        "at the last alone": float(np.mean([wrong(each[-1]) for each in found])),
        "at any": float(np.mean([any(map(wrong, each)) for each in found])),
        "at any, the error shared out": float(
            np.mean([any(wrong(c, 0.05 / len(counts)) for c in each) for each in found])
        ),
    }


# -- verdicts against the truth ---------------------------------------------------------------------------------------

PUBLISHED = Site(64, {n: n for n in (50, 100, 200, 400)})
# So few clients that small machines are idle, partly busy and full in turn.
FEW = Site(64, {n: n for n in (1, 2, 4, 8, 16)})


def sites() -> list[tuple[Site, LevelScaling | None]]:
    """Return machines of 2 to 64 cores with the published levels, and of 2 and 8 with scaled ones."""
    found: list[tuple[Site, LevelScaling | None]] = [
        (Site(cores, PUBLISHED.clients), None) for cores in (2, 16, 64, 128)
    ]
    for cores in (2, 8):
        levels = scale(list(PUBLISHED.clients), cores / PUBLISHED.cores, lowest=cores // 2)
        named = {table: {"threads": {str(one): n for one, n in levels.items()}} for table in "abc"}
        found.append(
            (Site(cores, levels), LevelScaling(cores_here=cores, cores_published=PUBLISHED.cores, levels=named))
        )
    return found


def hold(claims: Sequence[Hypothesis], works: Mapping[str, Work], site: Site, report: Published) -> list[bool]:
    """Return whether claims are true of a machine without noise."""
    tables = {name: frame(work, site).assign(system="s", repetition=1) for name, work in works.items()}
    figures = SystemFigures(report, Evidence(tables, ["s"]), "s")
    return [all(one.inside(one.mean) for one in claim.contrasts(figures)) for claim in claims]


def judged(
    limit: str,
    noises: Sequence[Noise],
    places: Sequence[tuple[Site, LevelScaling | None]],
    n: int,
    rng: np.random.Generator,
    published: Site,
) -> list[dict[str, Any]]:
    """Return a line per claim of one report on each machine, with the system as printed and with a broken one."""
    works = drawn(rng, limit)
    report = printed({name: frame(work, published) for name, work in works.items()})
    claims = claims_of(report)
    shows = [hold(claims, works, site, report) for site, _ in places]
    forecasts = [foretold(claims, report, *place) for place in places]
    lines = []
    for system, real in (("as printed", works), broken(works, rng, limit)):
        there = hold(claims, real, published, report)
        for (site, scaling), noise, as_printed, before in zip(places, noises, shows, forecasts, strict=False):
            found = judge.judge(
                ledger.Ledger(report="r", claims=claims),
                report,
                repeated({name: frame(work, site) for name, work in real.items()}, noise, n, rng),
                judge.JudgedSystem("s"),
                busy=[
                    _busy(name, level, n, site, work.busy(n, site.cores))
                    for name, work in real.items()
                    for level, n in site.clients.items()
                ],
                scaling=scaling,
                published_cores=PUBLISHED.cores,
            )
            here = as_printed if real is works else hold(claims, real, site, report)
            where = {"limit": limit, "cores": site.cores, "levels": "scaled" if scaling else "published"}
            lines += [
                {**where, "system": system, "claim": claim.id, "kind": claim.hypothesis, "true": t, "here true": h,
                 "shows": s, "here": one.here, "forecast": f, "speaks": one.speaks, "verdict": one.verdict}
                for claim, one, t, h, s, f in zip(claims, found, there, here, as_printed, before, strict=True)
            ]  # fmt: skip
    return lines


def foretold(claims: Sequence[Hypothesis], report: Published, site: Site, scaling: LevelScaling | None) -> list[Speaks]:
    """Return what is said before the run: a client keeps one core busy at most, and the printed figures may come."""
    shares = {(table, n): min(1.0, n / site.cores) for table, n in product(report.tables, site.clients.values())}
    return speaks(compared(claims, report), report, site, shares, scaling)


Compared = Sequence[tuple[Hypothesis, list[contrasts.Contrast]]]


def compared(claims: Sequence[Hypothesis], report: Published) -> Compared:
    """Return each claim with its comparisons, as if the printed figures had been measured."""
    figures = _as_measured(report)
    return [(claim, judge.contrasts_of(claim, figures)) for claim in claims]


def speaks(
    claims: Compared,
    report: Published,
    site: Site,
    shares: Mapping[tuple[str, int], float],
    scaling: LevelScaling | None = None,
) -> list[Speaks]:
    """Return what a machine says of each claim, given how busy its cores are by table and clients: no figure counts."""
    figures = _as_measured(report)
    busy = [
        _busy(table, level, n, site, shares[table, n]) for table in report.tables for level, n in site.clients.items()
    ]
    may = Capacity(figures, busy, scaling, published_cores=PUBLISHED.cores)
    return [judge.scope_of(claim, judge.JudgedSystem("s"), may, parts).speaks for claim, parts in claims]


def _as_measured(report: Published) -> SystemFigures:
    tables = {name: table.frame.assign(system="s", repetition=1) for name, table in report.tables.items()}
    return SystemFigures(report, Evidence(tables, ["s"]), "s")


def _busy(table: str, level: int, clients: int, site: Site, share: float) -> BusyCell:
    machine = Machine(share, site.cores, client=True, server=True)
    return BusyCell(table, "s", {"threads": level}, [machine], ran={"threads": clients})


def verdicts(
    reports: int,
    seed: int,
    places: Sequence[tuple[Site, LevelScaling | None]],
    n: int = 4,
    published: Site = PUBLISHED,
) -> pd.DataFrame:
    """Return a line per claim of so many reports of either limit, each on every machine, under the noises in turn.

    Classes: A is true and shows here, B is true and cannot show here, C is false and fails here, D is false and holds
    here, E is false where nothing could have shown it.
    """
    lines: list[dict[str, Any]] = []
    noises = [*NOISES.values()] * 2
    for number, limit in product(range(reports), ("cores", "locks and disks")):
        rng = np.random.default_rng([seed, number, limit == "cores"])
        mine = noises[number % len(NOISES) :]
        lines += [{"report": number, **each} for each in judged(limit, mine, places, n, rng, published)]
    found = pd.DataFrame(lines)
    names = {(True, True): "A", (True, False): "B", (False, True): "D"}
    found["class"] = [
        names.get((t, h), "C" if s else "E")
        for t, h, s in found[["true", "here true", "shows"]].itertuples(index=False)
    ]
    for wrong, answer, true in (("wrong here", "here", "here true"), ("wrong", "verdict", "true")):
        found[wrong] = ((found[answer] == "holds") & ~found[true]) | ((found[answer] == "fails") & found[true])
    return found


def by_class(found: pd.DataFrame) -> pd.DataFrame:
    """Return, per limit and class, how many claims, how many wrong here, and the shares of the states of a page."""
    groups = found.groupby(["limit", "class"])
    states = pd.crosstab([found["limit"], found["class"]], found["verdict"], normalize="index")
    return pd.concat([groups.size().rename("claims"), groups["wrong here"].sum(), states], axis=1).reset_index()


def by_system(found: pd.DataFrame) -> pd.DataFrame:
    """Return, per limit and system that ran, the verdicts that speak both ways, and how many of them are false."""
    both = found[(found["speaks"] == "both ways") & found["verdict"].isin(["holds", "fails"])]
    counted = both.groupby(["limit", "levels", "system"])["wrong"].agg(["size", "sum"]).reset_index()
    return counted.rename(columns={"size": "verdicts", "sum": "false"})


def says(found: pd.DataFrame) -> pd.DataFrame:
    """Return, per limit and machine, of how many claims nothing is said.

    "both ways": verdicts that speak so, and how many of them are false of the published system; "verdicts": the same of
    all that a page counts. "broken": claims of which a run says less than was forecast.
    """

    def one(mine: pd.DataFrame) -> pd.Series[Any]:
        silent = mine["speaks"] == "nothing"
        counted = mine[mine["verdict"].isin(["holds", "fails"])]
        both = counted[counted["speaks"] == "both ways"]
        return pd.Series({
            "claims": len(mine), "nothing": silent.mean(),
            "both ways": str(len(both)), "false": both["wrong"].mean(),
            "verdicts": str(len(counted)), "false of all": counted["wrong"].mean(),
            "broken": str(int(less(mine).sum())),
        })  # fmt: skip

    return found.groupby(["limit", "levels", "cores"])[list(found)].apply(one).reset_index()


def pairs(reports: int, seed: int) -> pd.DataFrame:
    """Return pairs: a claim on one machine that is true of the report's machine with one system, false with another.

    `how` says whence the other comes: it is the first one, broken; or both are drawn alike, and a report is printed of
    each. Noise plays no part: what is said depends on how busy the cores are. "silent true", "silent false": nothing is
    said with that system; "busier": by how much the other keeps the cores busier, in the mean.
    """
    lines: list[dict[str, Any]] = []
    for number, limit in product(range(reports), WAYS):
        rng = np.random.default_rng([seed, number, limit == "cores"])
        one, another = drawn(rng, limit), drawn(rng, limit)
        # Half of all that differ do so in one table alone.
        if rng.random() < 0.5:
            another = {**one, "a": another["a"]}
        way, worse = broken(one, rng, limit)
        for how, first, other in ((way, one, worse), ("drawn alike", one, another), ("drawn alike", another, one)):
            lines += [{"report": number, "limit": limit, "how": how, **each} for each in _pairs(first, other)]
    return pd.DataFrame(lines)


def _pairs(first: Mapping[str, Work], other: Mapping[str, Work]) -> Iterator[dict[str, Any]]:
    """Yield the pairs of one report, printed of the first."""
    report = printed({name: frame(work, PUBLISHED) for name, work in first.items()})
    claims = claims_of(report)
    false = [not true for true in hold(claims, other, PUBLISHED, report)]
    known = [one for one, is_false in zip(compared(claims, report), false, strict=True) if is_false]
    for cores in (2, 16, 64, 128):
        site = Site(cores, PUBLISHED.clients)
        said, busy = [], []
        for works in (first, other):
            shares = {(name, n): work.busy(n, cores) for name, work in works.items() for n in site.clients.values()}
            said.append(speaks(known, report, site, shares))
            busy.append(np.array([*shares.values()]))
        busier = float((busy[1] - busy[0]).mean())
        for (claim, _), true, wrong in zip(known, *said, strict=True):
            yield {"cores": cores, "claim": claim.id, "kind": claim.hypothesis, "busier": busier,
                   "silent true": true == "nothing", "silent false": wrong == "nothing"}  # fmt: skip


def apart(found: pd.DataFrame) -> pd.Series[Any]:
    """Return in what share of pairs nothing is said, by system, and the difference with its error over reports."""
    differs = (found["silent false"].astype(float) - found["silent true"]).groupby(found["report"]).agg(["sum", "size"])
    mean = differs["sum"].sum() / len(found)
    error = math.sqrt(((differs["sum"] - mean * differs["size"]) ** 2).sum()) / len(found)
    means = found[["silent true", "silent false", "busier"]].mean()
    return pd.Series({"pairs": str(len(found)), **means, "apart": mean, "standard error": error})


def less(found: pd.DataFrame) -> pd.Series[bool]:
    """Return of which claims a run says less than was forecast."""
    said = {"both ways": {"holds", "fails"}, "confirm only": {"holds"}, "refute only": {"fails"}, "nothing": set()}
    return pd.Series([bool(said[f] - said[s]) for f, s in zip(found["forecast"], found["speaks"], strict=True)])


# -- pictures ---------------------------------------------------------------------------------------------------------


def draw_answers() -> Figure:
    """Return three claims with repetitions, intervals and claimed range: one holds, one fails, one is open."""
    rng, figure = np.random.default_rng(3), Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    for row, (centre, answer) in enumerate(((1.6, "holds"), (0.95, "fails"), (1.25, "open"))):
        effects = math.log(centre) + 0.04 * rng.standard_normal(4)
        claim = contrasts.Contrast("", effects, low=math.log(1.2), pooled=(0.04**2, 20.0))
        low, high = np.exp(claim.interval(0.003))
        axes.plot(np.exp(effects), [row] * 4, "|", color="black", markersize=12)
        axes.plot([low, high], [row, row], linewidth=4, alpha=0.5, color=f"C{row}")
        axes.annotate(answer, (0.76, row), verticalalignment="center")
    axes.axvspan(1.2, 2.0, color="grey", alpha=0.15)
    axes.set(
        xlim=(0.75, 2.0),
        ylim=(2.6, -0.6),
        yticks=[],
        xlabel="rate at 200 threads / rate at 50; shaded: what is claimed",
    )
    sns.despine(figure, left=True)
    return figure


def draw_withheld() -> Figure:
    """Return the rates of one system on 2 cores, what more cores may show by the rule, and what 64 do show."""
    work, clients = Work(1.0, delay=1.0, kappa=0.01), {n: n for n in (1, 2, 4, 8, 16)}
    few, many = (frame(work, Site(cores, clients)) for cores in (2, 64))
    table = few.assign(system="s", repetition=1)
    figures = SystemFigures(printed({"a": many}), Evidence({"a": table}, ["s"]), "s")
    capacity = Capacity(figures, [_busy("a", n, n, Site(2, clients), work.busy(n, 2)) for n in clients])
    added = [capacity.log_withheld(Term("a", "tps", {"threads": n}), figures.log_mean) for n in clients]
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(few["threads"], few["tps"], few["tps"] * np.exp(added), alpha=0.25, label="X to X W")
    axes.plot(few["threads"], few["tps"], "o-", label="X, measured on 2 cores")
    axes.plot(many["threads"], many["tps"], "s--", color="black", label="the same system on 64 cores")
    axes.set(xscale="log", yscale="log", xlabel="clients", ylabel="rate (1/s)", xticks=list(clients))
    axes.set_xticklabels(map(str, clients))
    axes.set_yticks(rates := [500, 1000, 2000, 4000, 8000], labels=map(str, rates))
    axes.minorticks_off()
    axes.legend(frameon=False)
    sns.despine(figure)
    return figure


def draw_errors(found: pd.DataFrame) -> Figure:
    """Return how many ledgers have a wrong answer, by noise and repetitions."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    shown = found.assign(wrong=100 * found["wrong"], n=found["n"].astype(str))
    sns.stripplot(shown, x="wrong", y="noise", hue="n", palette="viridis", size=7, jitter=False, ax=axes)
    axes.axvline(5, color="grey", linestyle="--", linewidth=1)
    axes.set(xlabel="% of ledgers with any wrong answer (dashed: 5%)", ylabel="")
    axes.legend(title="repetitions", frameon=False)
    sns.despine(figure)
    return figure


# -- tables -----------------------------------------------------------------------------------------------------------


def show(console: Console, title: str, found: pd.DataFrame) -> None:
    """Print a frame: shares in percent."""
    table = Table(*map(str, found), title=title, title_justify="left")
    for line in found.itertuples(index=False):
        table.add_row(*(f"{100 * x:.1f}" if isinstance(x, float) and not math.isnan(x) else str(x) for x in line))
    console.print(table)


def measure(
    console: Console, *, ledgers: int = 30, reports: int = 5, folder: Path | None = None, seed: int = 1
) -> dict[str, Any]:
    """how often verdicts are wrong, on reports and machines whose truth is known (more: see its module)"""
    found_errors = errors(NOISES | HOLE, (3, 4, 5, 7), ledgers, seed)
    for figure, title in (("wrong", "% of ledgers with any wrong answer"), ("covered", "% of 95% intervals that hold")):
        show(
            console,
            title,
            found_errors.pivot(index="noise", columns="n", values=figure).loc[[*NOISES, *HOLE]].reset_index(),
        )
    looked = looks(ledgers, seed)
    show(console, "% of ledgers wrong, 3 to 10 repetitions", pd.DataFrame([looked]))
    found = verdicts(reports, seed, sites())
    show(console, "by class: claims, wrong here, states of the page in %", by_class(found))
    show(console, "what is said of the report, in %", says(found))
    two = pairs(8 * reports, seed)
    two["other's"] = np.select([two["busier"] < -0.02, two["busier"] > 0.02], ["less busy", "busier"], "as busy")
    for by in ("how", "other's", "cores"):
        alike = two[two["how"] == "drawn alike"] if by == "cores" else two
        told = alike.groupby(by)[list(two)].apply(apart).reset_index()
        show(console, "of like claims, how much oftener nothing is said of those that fail, in points", told)
    show(console, "verdicts that speak both ways, by the system that ran", by_system(found))
    few = verdicts(reports, seed, [(Site(cores, FEW.clients), None) for cores in (2, 4, 8)], published=FEW)
    show(console, "1 to 16 clients: what is said of the report, in %", says(few))
    for name, figure_of in (
        ("answers", draw_answers),
        ("withheld", draw_withheld),
        ("errors", lambda: draw_errors(found_errors)),
    ):
        if folder:
            figure_of().savefig(folder / f"verdict-{name}.png", dpi=110)
    return {"errors": found_errors.to_dict("records"), "looks": looked, "says": says(found).to_dict("records"),
            "few": says(few).to_dict("records"), "wrong here": int(found["wrong here"].sum() + few["wrong here"].sum()),
            "claims": len(found) + len(few)}  # fmt: skip


if __name__ == "__main__":
    if "--all" in sys.argv:
        measure(Console(width=140), ledgers=300, reports=11, folder=paths.home() / "docs")
    else:
        measure(Console(width=140))
