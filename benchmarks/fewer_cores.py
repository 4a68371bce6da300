"""Verdicts reached on one core, against what is known of two: a real load on this machine.

sysbench's point selects, which wait for cores, and its updates, which wait for the disk as well, run on MariaDB as the
kit starts it in a lab, and on MariaDB with a pool of one thread. On two cores they say what is true, and make two
reports, one of each server. Then the same loads run on one core (`cpus` of an inventory), and the claims of either
report are judged from there, on the server that it was printed of and on the other one. What others took of the machine
stands beside the figures; `nice -n -10` keeps it small. How often two processes can take turns, on one core and on two,
says what it costs to wake a core, which no load on one core has in it.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import yaml
from rich.console import Console

from benchbook import paths, published
from benchbook.campaign import design, run, store
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.claims import judge, ledger
from benchbook.claims.contrasts import Contrast
from benchbook.claims.evidence import Evidence
from benchbook.claims.hypothesis import Hypothesis, SystemFigures
from benchbook.hosts import lab
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.published.tables import Published
from benchbook.reports.kind import RunRequest
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchmarks import verdicts_simulation as simulation
from benchmarks.lab import REPORT

TABLES, THREADS, REPETITIONS = ["oltp_point_select", "oltp_update_non_index"], [1, 2, 4], 4
SYSTEMS = ("mariadb", "mariadb:pool")
PROFILE = {
    "description": "short loads on little data", "repetitions": REPETITIONS, "tries": 1, "reset": "restart",
    "disk_gb": 0.5, "buffer_pool_mb": 64,
    "sysbench": {"tables": 4, "table_size": 1000, "time_s": 2, "prepare_threads": 2},
}  # fmt: skip
# How far beside what a report prints the bound of a claim lies, as a factor.
BESIDE = (1.05, 1.3)


def measure(console: Console) -> dict[str, Any]:
    """verdicts from one core against the truth on two: MariaDB, with and without a pool of one thread (6 minutes)"""
    cores = sorted(os.sched_getaffinity(0))[:2]
    began = time.monotonic()
    round_trips = {name: turns(cores[:1], mine) for name, mine in (("on one core", cores[:1]), ("on two", cores[1:]))}
    console.print({f"round trips a second {name}": round(found) for name, found in round_trips.items()})
    with _project(cores):
        ran = {name: _measured(name, console) for name in ("both", "one")}
        seen: dict[str, Any] = {name: _seen(campaign) for name, campaign in ran.items()}
        pairs = [(of, system) for of in SYSTEMS for system in SYSTEMS]
        found = pd.DataFrame(
            [{"report": of, "system": system, **row} for of, system in pairs for row in judged(ran, of, system)]
        )
    for name, cells in seen.items():
        simulation.show(console, f"cores: {name}; in % of them", pd.DataFrame(cells))
    simulation.show(console, "claims, by whether two cores show them to be true", by_truth(found))
    for line in found[found["wrong"] | found["wrong here"]].to_dict("records"):
        console.print(line)
    return {"minutes": round((time.monotonic() - began) / 60, 1), "claims": len(found), "wrong": int(found.wrong.sum()),
            "wrong here": int(found["wrong here"].sum()), "round trips": round_trips,
            "cells": [{"cores": name, **cell} for name, cells in seen.items() for cell in cells],
            "rows": found.to_dict("records")}  # fmt: skip


def by_truth(found: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims are true of two cores and how many false, what one says of them, and what is wrong."""
    groups = found.groupby(["true", "here", "speaks", "verdict"])
    return groups.agg(claims=("wrong", "size"), wrong=("wrong", "sum"), wrong_here=("wrong here", "sum")).reset_index()


def turns(mine: Sequence[int], others: Sequence[int], seconds: float = 2.0) -> float:
    """Return how often a second two processes, each bound to some cores, can hand a byte to and fro."""
    here, there = multiprocessing.Pipe()
    other = multiprocessing.Process(target=_echo, args=(there, list(others)), daemon=True)
    other.start()
    allowed, count = os.sched_getaffinity(0), 0
    os.sched_setaffinity(0, mine)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            here.send_bytes(b"1")
            here.recv_bytes()
            count += 1
    finally:
        os.sched_setaffinity(0, allowed)
        here.send_bytes(b"")
        other.join()
    return count / seconds


def _echo(pipe: Connection, cores: Sequence[int]) -> None:
    os.sched_setaffinity(0, cores)
    while got := pipe.recv_bytes():
        pipe.send_bytes(got)


def judged(ran: Mapping[str, Campaign], printed_of: str, system: str) -> Iterator[dict[str, Any]]:
    """Yield what one core says of each claim in a server's report, where two cores show if it is true of `system`."""
    report = _report(ran["both"], printed_of)
    known = ledger.Ledger(report="r", claims=claims_of(report))
    two, one = (Evidence(_frames(campaign.records(), system), [system]) for campaign in ran.values())
    truth, _ = judge.compare(known, SystemFigures(report, two, system))
    busy = [cell for cell in judge.busy_cells(ran["one"]) if cell.system == system]
    busy = [replace(cell, levels={"threads": cell.levels["threads"]}) for cell in busy]
    found = judge.judge(known, report, one, judge.JudgedSystem(system), busy=busy, published_cores=2)
    for claim in found:
        true = _known(truth[claim.id])
        if true is not None:
            false = "fails" if true else "holds"
            wrong = {"wrong": claim.verdict == false, "wrong here": claim.here == false}
            yield {"claim": claim.hypothesis, "true": true, "here": claim.here, "speaks": claim.speaks,
                   "verdict": claim.verdict, **wrong}  # fmt: skip


def _known(contrasts: Sequence[Contrast]) -> bool | None:
    """Whether a claim is true by the 95% intervals of its contrasts; None where these leave it open."""
    limits = [(each, *each.interval(0.05)) for each in contrasts]
    if all(each.low < low and high < each.high for each, low, high in limits):
        return True
    return False if any(high < each.low or low > each.high for each, low, high in limits) else None


def claims_of(report: Published) -> list[Hypothesis]:
    """Return what a report would say of its tables: rises and times along the threads, and tables beside each other."""
    said: list[dict[str, Any]] = []
    for name, metric in ((name, metric) for name in report.tables for metric in ("tps", "ms")):
        figures = report.tables[name].frame.set_index("threads")[metric]
        base = {"table": name, "metric": metric, "factor": "threads"}
        for low, high in ((1, 2), (2, 4), (1, 4)):
            rise = figures[high] / figures[low]
            levels = {"levels": [low, high]}
            said += [
                {"hypothesis": "increases", "at_least": max(1.0, float(rise / by)), **base, **levels} for by in BESIDE
            ]
            said += [{"hypothesis": "flat", "tolerance": 0.2, **base, **levels}]
            said += [{"hypothesis": "decreases", **base, **levels}]
    one, other = TABLES
    for at in THREADS:
        ordered = [{"table": table, "metric": "tps", "rows": {"threads": at}} for table in (one, other)]
        ratio = report.tables[one].frame["tps"] / report.tables[other].frame["tps"]
        said += [
            {"hypothesis": "order", "figures": ordered, "at_least": max(1.0, float(ratio[THREADS.index(at)] / by))}
            for by in BESIDE
        ]
    claims = [{"id": f"c{number}", "statement": "-", "where": "-", **each} for number, each in enumerate(said)]
    known = ledger.read({"report": "r", "claims": claims})
    return [c for c in known.claims if all(one.inside(one.mean) for one in ledger.as_printed(c, report))]


def _report(campaign: Campaign, system: str) -> Published:
    frames = _frames(campaign.records(), system)
    means = {name: frame.groupby("threads", as_index=False)[["tps", "ms"]].mean() for name, frame in frames.items()}
    return simulation.printed(means)


def _frames(records: Sequence[Record], system: str) -> dict[str, pd.DataFrame]:
    rows = pd.DataFrame(
        [
            {"table": r.table, "system": r.system, "repetition": r.repetition, "threads": int(r.levels["threads"]),
             "tps": r.summary["tps"].value, "ms": r.summary["latency_mean_ms"].value}
            for r in records
        ]
    )  # fmt: skip
    mine = rows[rows["system"] == system]
    return {str(name): part.drop(columns="table").reset_index(drop=True) for name, part in mine.groupby("table")}


def _seen(campaign: Campaign) -> list[dict[str, Any]]:
    """Return of every cell its rate, how busy its cores were, and what others took of the machine."""
    busy = {(c.table, c.system, c.levels["threads"]): c.machines for c in judge.busy_cells(campaign)}
    rows = []
    for (table, system, threads), machines in sorted(busy.items()):
        mine = [r for r in campaign.records() if (r.table, r.system, r.levels["threads"]) == (table, system, threads)]
        rows.append(
            {"table": table, "system": system, "threads": threads,
             "1/s": round(fmean(r.summary["tps"].value for r in mine)),
             "busy": max((m.share for m in machines), default=0.0),
             "others": fmean(float(r.proof.get("others", 0.0)) for r in mine)}
        )  # fmt: skip
    return rows


def _measured(inventory_name: str, console: Console) -> Campaign:
    """Run a campaign in the lab of this inventory."""
    parameters = LoadParameters(
        inventory=inventory_name, profile="short", systems=list(SYSTEMS), workloads=TABLES, threads=THREADS
    )
    report, kind, inventory = published.load(REPORT), LoadKind(), load_inventory(inventory_name)
    request = RunRequest(kind, report, parameters, load_profile("short"), inventory)
    asked = request.asked()
    trials = design.plan(kind.cells(report, parameters), REPETITIONS, seed=1, asked=asked)
    campaign = store.start_or_continue(REPORT, asked, trials, seed=1)
    with lab.up_while_used(inventory, console.print):
        run.run(campaign, request.experiment(), lambda progress: None, tries=1)
    return campaign


@contextmanager
def _project(cores: Sequence[int]) -> Iterator[None]:
    """A project folder of its own, with a lab on all of these cores and one on the first; both end with the block."""
    brought, before = paths.home(), os.environ.get(paths.HOME)
    folder = Path(tempfile.mkdtemp(prefix="benchbook-fewer-cores-"))
    # The account that runs a lab has to pass.
    folder.chmod(0o711)
    try:
        for part in ("env/hosts", "env/profiles", "notebooks", "data/published"):
            (folder / part).mkdir(parents=True)
        shutil.copytree(brought / "data" / "published" / REPORT, folder / "data" / "published" / REPORT)
        (folder / "env" / "systems").symlink_to(brought / "env" / "systems")
        (folder / "env" / "profiles" / "short.yaml").write_text(yaml.safe_dump(PROFILE))
        for name, cpus, net in (("both", list(cores), "127.0.97"), ("one", list(cores[:1]), "127.0.98")):
            (folder / "env" / "hosts" / f"{name}.yaml").write_text(yaml.safe_dump(_inventory(net, cpus)))
        os.environ[paths.HOME] = str(folder)
        yield
    finally:
        os.environ.pop(paths.HOME, None)
        if before is not None:
            os.environ[paths.HOME] = before
        shutil.rmtree(folder)


def _inventory(net: str, cpus: Sequence[int]) -> dict[str, Any]:
    pool = {"thread_handling": "pool-of-threads", "thread_pool_size": 1}
    return {
        "lab": True,
        "ssh": {"port": 2222, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts"},
        "hosts": {
            "executor": {"address": f"{net}.1", "roles": ["client"], "cpus": list(cpus), "tune": ["idle", "memory"]},
            "db1": {"address": f"{net}.11", "roles": ["mysql"], "cpus": list(cpus)},
        },
        "systems": {
            "mariadb": {"port": 3306, "password_file": ".lab/secrets/database"},
            "mariadb:pool": {"settings": pool},
        },
    }
