"""A real Redis and redis-benchmark, which is run as its file says, in a lab of their own."""

from __future__ import annotations

from collections.abc import Callable

import psutil
import pytest
from kit import Home

from benchbook import workloads
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.experiment import Measurement
from benchbook.errors import WorkloadFailed
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.systems import redis

pytestmark = [pytest.mark.real, pytest.mark.slow]
KEYS, REQUESTS = 300, 100_000
PASSWORD = 'with "quotes" and blanks'


@pytest.fixture
def redis_lab(start_lab: Callable[..., Inventory], lab_home: Home, net: str) -> Inventory:
    hosts = {
        "server": {"address": f"{net}.71", "roles": ["redis"]},
        "client": {"address": f"{net}.79", "roles": ["client"]},
    }
    lab_home.write("password", PASSWORD).chmod(0o600)
    systems = {"redis": {"password_file": "password", "settings": {"appendonly": True}}}
    return start_lab("lab_redis", hosts, systems=systems)


def trial(workload: str, **levels: str | int | float) -> Trial:
    cell = Cell(table="t", system="redis", levels={"workload": workload, "threads": 4, **levels})
    return Trial(id=workload, identity="x", cell=cell, repetition=1, order=0)


def test_loads_of_redis_answer_for_their_work(redis_lab: Inventory) -> None:
    load = workloads.generator("redis_benchmark")
    generator = load(load.Size.model_validate({"keys": KEYS, "requests": REQUESTS, "time_s": 2}), [], 1)
    trials = LoadTrials(redis_lab, load_profile("tiny"), ["redis"], generator, time_s=2, rate=0)
    with trials.running() as environment:
        assert environment.load_generator.startswith("redis-benchmark ")
        about = trials.begin([trial("get")], lambda said: None)["redis"]
        assert about.version.count(".") == 2
        assert (about.config["variables"]["appendonly"], about.dataset) == ("yes", {})
        server = trials._systems["redis"]
        client = trials._driver.clients[0]
        end = server.endpoints()[0]
        seen: list[str] = []

        def look(second: float, rate: float) -> None:
            seen.extend(" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))

        found = trials.measure(trial("get", value_bytes=64), look)
        is_whole(found)
        assert (
            found.proof["answers"]["keys_found"]
            == f"`keys_found` grew by {REQUESTS:,} (requests {REQUESTS:,} to {REQUESTS + 1:,})"
        )
        assert found.proof["answers"]["keys_present"] == f"`keys_present` is {KEYS} (keys {KEYS})"
        assert redis.ask(client, end, "STRLEN", "key:000000000299") == "64"
        is_secret(PASSWORD, about.config, found, seen)
        is_secret(end.password, about.config, found, [])
        stored = trials.measure(trial("set", value_bytes=8, pipeline=16), lambda second, rate: None)
        is_whole(stored)
        assert "-d 8 -P 16" in stored.command
        one_more_is_told_apart(trials)
        # Nobody gets in without the account of this run, or the inventory's password.
        assert client.run(["redis-cli", "-h", end.address, "-p", end.port, "PING"]).stdout.startswith("NOAUTH")


def is_whole(found: Measurement) -> None:
    assert found.summary["events"].value == sum(count for _, count in found.histogram) == REQUESTS
    assert found.summary["p50_ms"].value <= found.summary["p99_ms"].value <= found.summary["latency_max_ms"].value
    assert found.summary["tps"].value == pytest.approx(REQUESTS / found.summary["total_time_s"].value, rel=0.1)
    assert {"host", "redis"} <= set(found.series.source)
    commands = found.series[found.series.metric == "total_commands_processed"]
    assert set(commands.host) == {"server"}
    assert "failed_probes" not in found.proof
    assert {"events", "calls", "failed_calls"} <= found.proof["answers"].keys()


def is_secret(password: str, config: object, found: Measurement, seen: list[str]) -> None:
    assert password not in f"{config} {found.command} {found.output} {found.proof}"
    assert not [line for line in seen if password in line]


def one_more_is_told_apart(trials: LoadTrials) -> None:
    """Somebody else asks for two keys while the load runs: the trial is not one of this load alone."""
    (end,), client = trials._systems["redis"].endpoints(), trials._driver.clients[0]

    def disturb(second: float, rate: float) -> None:
        redis.ask(client, end, "GET", "key:000000000001")

    with pytest.raises(
        WorkloadFailed, match=r"after this load of redis_benchmark `calls` grew by 100,0\d\d, not by requests"
    ):
        trials.measure(trial("get"), disturb)
