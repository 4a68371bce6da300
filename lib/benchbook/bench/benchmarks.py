"""What the kit itself costs: `make bench`. Every figure is a ratio or a share, taken within one run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchbook import paths, published
from benchbook.analysis.measured import paired_ratio
from benchbook.bench import (
    analysis_bench,
    big_campaign_bench,
    fanout_bench,
    gate_bench,
    history_bench,
    knee_bench,
    memory_bench,
    null_comparisons_bench,
    planted_errors_bench,
    repetitions_bench,
    site_bench,
    starts_bench,
    stopping_bench,
    stopping_series,
    transfer_bench,
    verdicts_bench,
)
from benchbook.bench.stopping_bench import LongLoad
from benchbook.build import artefacts
from benchbook.campaign import design, store
from benchbook.campaign import run as campaign_run
from benchbook.campaign.progress import Progress
from benchbook.errors import BenchbookError
from benchbook.given.named import one_of
from benchbook.given.whole_file import replace_text
from benchbook.hosts import lab
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.login_shell import quote
from benchbook.overview.terminal_table import show
from benchbook.paths import resolve
from benchbook.profiles import load_profile
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.stats.estimates import Array
from benchbook.workloads import sysbench_output

REPORT = "tidb_v7_1_3_sysbench"
TRIAL_S = 10
# A machine's own rate wanders within minutes: two short loads, one right after the other, differ least by it, and many
# such pairs are what tells 1%.
PAIRS, PAIR_S = 300, 2
LOADS_PER_SERIES = 200
# By name, as a load prints them.
Figures = dict[str, float]
FIGURES = ("tps", "p95_ms")


def print_all(console: Console) -> None:
    """A line for each benchmark: what it measures, and when it last did."""
    kept = _kept()
    rows = [(name, _measures(name), kept.get(name, {}).get("at", "never")) for name in BENCHMARKS]
    show(console, ("benchmark", "measures", "last run"), rows)
    console.print("run one: make bench BENCH=NAME    all, for more than an hour: benchbook bench --all", markup=False)


def run(names: Collection[str], console: Console) -> None:
    """Run the named benchmarks; prints each result and keeps them in data/runs/bench.json."""
    for name in names:
        one_of(name, BENCHMARKS, "benchmark", problem="unknown benchmark", key="bench")
    path, kept = results_file(), _kept()
    for name in names:
        console.print(f"[bold]{name}[/]: {_measures(name)}")
        found = BENCHMARKS[name](console)
        if short := {key: value for key, value in found.items() if not isinstance(value, list)}:
            console.print(f"  {short}")
        kept[name] = {**found, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        replace_text(path, json.dumps(kept, indent=1))


def results_file() -> Path:
    """Where the results of the latest benchmarks stand."""
    return paths.home() / "data" / "runs" / "bench.json"


def _kept() -> dict[str, Any]:
    path = results_file()
    return json.loads(path.read_text()) if path.exists() else {}


def _measures(name: str) -> str:
    return " ".join((BENCHMARKS[name].__doc__ or "").split())


@contextmanager
def _lab(parameters: LoadParameters) -> Iterator[LoadTrials]:
    inventory = load_inventory(parameters.inventory)
    for name in LoadKind().builds(published.load(REPORT), parameters):
        artefacts.provide(name)
    with lab.up_while_used(inventory, lambda said: None):
        yield LoadKind().experiment(published.load(REPORT), parameters, load_profile("smoke"), inventory)


def _plan(parameters: LoadParameters) -> tuple[dict[str, Any], list[design.Trial]]:
    report = published.load(REPORT)
    asked = LoadKind().asked(report, parameters, load_profile("smoke"), load_inventory(parameters.inventory))
    cells = LoadKind().cells(report, parameters)
    trials = design.plan(cells, parameters.repetitions, seed=1, asked={**asked, "bench": time.time()})
    return {**asked, "bench": True}, trials


def tps_ratio(console: Console) -> dict[str, Any]:
    """tps of a trial run by the kit over tps of the same command typed over plain ssh, in alternating pairs; and p95"""
    parameters = LoadParameters(
        inventory="lab_tidb",
        system="mariadb",
        workloads=["oltp_point_select"],
        threads=[50],
        time_s=PAIR_S,
        repetitions=1,
    )
    _, trials = _plan(parameters)
    pairs: list[tuple[Figures, Figures]] = []
    with _lab(parameters) as experiment, experiment.running():
        experiment.begin(trials, lambda step: None)
        for number in range(1, PAIRS + 1):
            pairs.append(_pair(experiment, trials[0], kit_first=number % 2 == 0))
            if number % 5 == 0:
                said = ", ".join(f"{each} {_in_words(_ratio_of(each, pairs))}" for each in FIGURES)
                console.print(f"  {number}/{PAIRS} pairs: {said}", markup=False)
    return {**_ratio_of("tps", pairs), "trial_s": PAIR_S, "p95_ms": _ratio_of("p95_ms", pairs)}


def _ratio_of(figure: str, pairs: Sequence[tuple[Figures, Figures]]) -> dict[str, Any]:
    return ratio([(ours[figure], theirs[figure]) for ours, theirs in pairs])


def ratio(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """The geometric mean of first over second, with its 95% interval (Student's, of the logarithms)."""
    found = paired_ratio(pairs)
    return {"ratio": found.value, "low": found.low, "high": found.high, "pairs": found.n}


def _in_words(found: dict[str, Any]) -> str:
    return f"{found['ratio']:.4f} [{found['low']:.4f}, {found['high']:.4f}]"


def _pair(experiment: LoadTrials, trial: design.Trial, *, kit_first: bool) -> tuple[Figures, Figures]:
    """The figures by the kit and over plain ssh, each as its sysbench printed it."""

    def by_kit() -> Figures:
        found = experiment.measure(trial, lambda into, rate: None).summary
        return {each: found[each].value for each in FIGURES}

    def by_ssh() -> Figures:
        found = sysbench_output.parse(_typed(experiment, trial)).summary
        return {each: found[each] for each in FIGURES}

    steps: dict[str, Callable[[], Figures]] = {"kit": by_kit, "ssh": by_ssh}
    found = {name: steps[name]() for name in (("kit", "ssh") if kit_first else ("ssh", "kit"))}
    return found["kit"], found["ssh"]


def _typed(experiment: LoadTrials, trial: design.Trial) -> str:
    """What the same sysbench command prints through the system's own ssh client, as typed at a terminal."""
    ((client, command),) = experiment.commands(trial)
    folder = client.path("typed")
    client.mkdir(folder)
    for name, content in command.secrets.items():
        client.write(f"{folder}/{name}", content)
    ssh = experiment.inventory.ssh
    options = ["-F", "none", "-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={resolve(ssh.known_hosts)}"]
    typed = quote([str(word).replace("{job}", folder) for word in command.argv])
    done = subprocess.run(
        ["ssh", *options, "-i", str(resolve(ssh.key or "")), "-p", str(ssh.port), client.address, typed],
        check=False,
        capture_output=True,
        text=True,
        timeout=PAIR_S + 60,
        env={"PATH": os.environ["PATH"]},
    )
    if done.returncode:
        raise BenchbookError(f"plain ssh: {sysbench_output.failure(done.stdout) or done.stderr}")
    return done.stdout


def load_share(console: Console) -> dict[str, Any]:
    """the share of a campaign's wall time in which load runs: 15 cells, 10-s trials, prepared data"""
    parameters = LoadParameters(inventory="lab_tidb", system="tidb", time_s=TRIAL_S, repetitions=1)
    with _lab(parameters) as experiment:
        with experiment.running():
            # The dataset is made once for all campaigns: it is no part of this one.
            experiment.begin(_plan(parameters)[1][:1], lambda step: None)
        asked, trials = _plan(parameters)
        made = store.start_or_continue(f"bench_{REPORT}", asked, trials, seed=1)
        try:
            began = time.monotonic()
            campaign_run.run(made, experiment, lambda progress: _news(console, progress))
            wall, records = time.monotonic() - began, made.records()
        finally:
            # It measured the kit: among the campaigns of reports it would be one that no notebook knows.
            shutil.rmtree(made.folder.parent)
    load = sum(record.ended - record.started for record in records)
    return {"share": load / wall, "wall_s": wall, "load_s": load, "trials": len(records), "of": len(trials)}


def probe_cpu(console: Console) -> dict[str, Any]:
    """CPU that each probe uses, in shares of one core, over a 30-s trial under load"""
    parameters = LoadParameters(
        inventory="lab_tidb",
        systems=["mariadb", "tidb"],
        workloads=["oltp_insert"],
        threads=[16],
        time_s=30,
        repetitions=1,
    )
    _, trials = _plan(parameters)
    cores: dict[str, float] = {}
    with _lab(parameters) as experiment, experiment.running():
        for trial in trials:
            experiment.begin([trial], lambda step: None)
            proof = experiment.measure(trial, lambda into, rate: None).proof
            cores.update({f"{trial.cell.system}: {name}": value for name, value in proof["probe_cores"].items()})
    return {"cores": {name: round(value, 5) for name, value in cores.items()}, "highest": max(cores.values())}


def stopping(console: Console) -> dict[str, Any]:
    """the stopping rule on 48 min of real loads: how often its interval holds the truth, and the time it takes"""
    found: dict[str, Any] = {}
    for load in stopping_bench.LOADS:
        console.print(f"  {load.in_words()}", markup=False)
        lasted = published.load(REPORT).duration_s(load.workload)
        rows = stopping_bench.on_series(
            _rates(load), offered=load.rate, minimum_s=15, longest_s=120, published_s=lasted
        )
        console.print(stopping_bench.in_words(rows), markup=False)
        found[load.in_words()] = rows
    return found


def stopping_on_series(console: Console) -> dict[str, Any]:
    """the stopping rule on seven kinds of simulated series, before and after periods are known; no host is needed"""
    found = {
        f"noise {noise:.0%}": stopping_series.on_seven(loads=LOADS_PER_SERIES, noise=noise) for noise in (0.02, 0.08)
    }
    for noise, rows in found.items():
        console.print(f"  {noise}\n{stopping_bench.in_words(rows)}", markup=False)
    return found


def _rates(load: LongLoad) -> Array:
    """The load, on MariaDB; transactions/s, a value per second."""
    parameters = LoadParameters(
        inventory="lab_tidb",
        system="mariadb",
        workloads=[load.workload],
        threads=[load.threads],
        time_s=load.seconds,
        rate=load.rate,
        repetitions=1,
    )
    with _lab(parameters) as experiment, experiment.running():
        trial = _plan(parameters)[1][0]
        experiment.begin([trial], lambda step: None)
        series = experiment.measure(trial, lambda into, rate: None).series
    return np.asarray(series[(series.source == "sysbench") & (series.metric == "tps")].value, dtype=float)


def _news(console: Console, progress: Progress) -> None:
    if progress.news:
        console.print(f"  {progress.line()}", markup=False)


BENCHMARKS: dict[str, Callable[[Console], dict[str, Any]]] = {
    "tps_ratio": tps_ratio,
    "load_share": load_share,
    "probe_cpu": probe_cpu,
    "transfer": transfer_bench.transfer,
    "stopping": stopping,
    "stopping_series": stopping_on_series,
    "repetitions": repetitions_bench.repetitions,
    "site": site_bench.site,
    "analysis": analysis_bench.analysis,
    "big_campaign": big_campaign_bench.big_campaign,
    "planted_errors": planted_errors_bench.planted_errors,
    "verdicts": verdicts_bench.verdicts,
    "gate": gate_bench.gate,
    "null_comparisons": null_comparisons_bench.null_comparisons,
    "history": history_bench.history,
    "memory": memory_bench.memory,
    "knee": knee_bench.knee,
    "knee_coverage": knee_bench.knee_coverage,
    "starts": starts_bench.starts,
    "fanout": fanout_bench.fanout,
}
