"""Rates and latencies of a load that the kit runs, beside those of the same command typed over plain ssh."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import Any

from rich.console import Console

from benchbook.campaign.design import Trial
from benchbook.errors import BenchbookError
from benchbook.paths import resolve
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.workloads import sysbench_output
from benchmarks import lab

# A machine's own rate wanders within minutes: two short loads, one right after the other, differ least by it, and many
# such pairs are what tells 1%.
PAIRS, LOAD_S = 300, 2
METRICS = ("tps", "p95_ms")


def measure(console: Console) -> dict[str, Any]:
    """tps and p95 of a trial over those of the same command typed over plain ssh, in alternating pairs"""
    parameters = LoadParameters(
        inventory="lab_tidb",
        system="mariadb",
        workloads=["oltp_point_select"],
        threads=[50],
        time_s=LOAD_S,
        repetitions=1,
    )
    _, (trial, *_) = lab.plan(parameters)
    pairs: list[dict[str, dict[str, float]]] = []
    with lab.started(parameters) as experiment, experiment.running():
        experiment.begin([trial], lambda step: None)
        for number in range(1, PAIRS + 1):
            steps = {"kit": by_kit, "ssh": by_ssh}
            order = ("kit", "ssh") if number % 2 else ("ssh", "kit")
            pairs.append({name: steps[name](experiment, trial) for name in order})
            if number % 25 == 0:
                console.print(f"  {number}/{PAIRS} pairs: {ratios(pairs)}", markup=False)
    return {"load_s": LOAD_S, **ratios(pairs)}


def ratios(pairs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return kit / ssh per metric."""
    return {name: lab.ratio([(pair["kit"][name], pair["ssh"][name]) for pair in pairs]) for name in METRICS}


def by_kit(experiment: LoadTrials, trial: Trial) -> dict[str, float]:
    summary = experiment.measure(trial, lambda into, rate: None).summary
    return {name: summary[name].value for name in METRICS}


def by_ssh(experiment: LoadTrials, trial: Trial) -> dict[str, float]:
    """Return what the same sysbench prints through the system's own ssh client, as typed at a terminal."""
    ((client, command),) = experiment.commands(trial)
    folder = client.path("typed")
    client.mkdir(folder)
    for name, content in command.secrets.items():
        client.write(f"{folder}/{name}", content)
    ssh = experiment.inventory.ssh
    options = ["-F", "none", "-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={resolve(ssh.known_hosts)}"]
    typed = shlex.join(str(word).replace("{job}", folder) for word in command.argv)
    done = subprocess.run(
        ["ssh", *options, "-i", str(resolve(ssh.key or "")), "-p", str(ssh.port), client.address, typed],
        check=False,
        capture_output=True,
        text=True,
        timeout=LOAD_S + 60,
        env={"PATH": os.environ["PATH"]},
    )
    if done.returncode:
        raise BenchbookError(f"plain ssh: {experiment.generator.failure(done.stdout) or done.stderr}")
    summary = sysbench_output.parse(done.stdout).summary
    return {name: summary[name] for name in METRICS}
