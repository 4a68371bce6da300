"""A package outside the tree brings a system, a load generator and a probe by entry points only; a report runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from forked import forked
from kit import LAB_SSH, PATIENCE_S, PROFILE, ROOT, Home, paragraph

from benchbook.analysis import results
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import of_load

PACKAGE = Path(__file__).parent / "plugin_package"
GUIDE = ROOT / "docs" / "extending.md"
PROBES = PACKAGE.parent / "own_probes"
NAME = "redis_points"
# A probe of a server: it asks for the address, and says by an error when it is not answered as expected.
ASKS_THE_SERVER = """
import socket

METRICS = {"said": ("level", "B")}


def sample(address, port, password):
    if password:
        raise ValueError("this server has no password")
    with socket.create_connection((address, port), timeout=5) as link:
        link.sendall(b"PING\\r\\n")
        return {"said": len(link.recv(64))}
"""
# Enough for a few seconds of load: the probes look once a second.
KEYS, REQUESTS = 500, 150_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built and installed: a wheel of pure Python is installed by unpacking it."""
    folder = tmp_path_factory.mktemp("plugin")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PACKAGE, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def installed(site: Path) -> dict[str, str]:
    """What makes a child process see the package."""
    return {"PYTHONPATH": f"{site}:{ROOT / 'lib'}"}


def report_of_redis(home: Home, net: str, site: Path) -> None:
    """`benchbook new`, of the system and the load generator of the package; nothing of it is changed."""
    status, said = home.run("new", NAME, "--system", "my_redis", "--load", "my_redis_benchmark", **installed(site))
    assert status == 0, said
    hosts = {"a": {"address": f"{net}.61", "roles": ["client"]}, "b": {"address": f"{net}.62", "roles": ["my_redis"]}}
    home.write("env/hosts/lab_redis.yaml", {"lab": True, "ssh": LAB_SSH, "hosts": hosts})
    size = {"keys": KEYS, "requests": REQUESTS, "time_s": 2}
    profile = {**PROFILE, "reset": "restore", "loads": {"my_redis_benchmark": size}, "probes": ["sockets", "replies"]}
    home.write("env/profiles/tiny.yaml", profile)
    home.write("env/probes/sockets.py", (PROBES / "sockets.py").read_text())
    home.write("env/probes/replies.py", ASKS_THE_SERVER)


WORDS = ["report", NAME, "--profile", "tiny", "--inventory", "lab_redis", "-p", "threads=[2]"]


@pytest.fixture(scope="module")
def restaged(tmp_path_factory: pytest.TempPathFactory, net: str, site: Path) -> tuple[Home, int, str]:
    """The report of Redis, run from one command in a lab of its own: (folder, exit status, what was said)."""
    home = Home.make(tmp_path_factory.mktemp("redis") / "home", net)
    report_of_redis(home, net, site)
    return home, *home.run(*WORDS, **installed(site))


def campaign(home: Home) -> Campaign:
    (plan,) = (home.path / "data" / "runs" / NAME).glob("*/plan.json")
    return Campaign(plan.parent)


@pytest.mark.real
@pytest.mark.slow
def test_every_trial_is_measured_by_the_package_s_load_generator(restaged: tuple[Home, int, str]) -> None:
    home, status, said = restaged
    assert status == 0, said
    made = campaign(home)
    assert (len(made.trials), len(made.records()), made.failures()) == (4, 4, [])
    for record in made.records():
        assert record.summary["events"].value == REQUESTS
        assert sum(count for _, count in record.histogram) == REQUESTS
        assert record.summary["tps"].unit == "1/s"
        assert (record.asked["load"], record.asked["keys"]) == ("my_redis_benchmark", KEYS)
        assert f"-t {record.levels['workload']} -c 2" in record.command
    about = made.environment().model_dump()
    assert about["load_generator"].startswith("redis-benchmark ")
    assert about["systems"]["my_redis"]["dataset"] == {"keys": KEYS, "value_bytes": 16}
    assert about["systems"]["my_redis"]["config"]["variables"]["save"] == "3600 1"


@pytest.mark.real
@pytest.mark.slow
def test_its_servers_are_watched_by_the_kit_s_probe_and_by_its_own(restaged: tuple[Home, int, str]) -> None:
    made = campaign(restaged[0])
    for record in made.records():
        series = made.series(record.id)
        assert {"host", "redis", "my_redis", "my_redis_benchmark"} <= set(series.source)
        units, of_kit = ({(row.metric, row.unit) for row in series[series.source == name].itertuples()}
                         for name in ("my_redis", "redis"))  # fmt: skip
        assert {("keyspace_hits", "1/s"), ("keyspace_misses", "1/s")} <= units
        assert {("used_memory", "B"), ("total_commands_processed", "1/s"), ("used_cpu_user", "cores")} <= of_kit
        assert set(series[series.source.isin(["my_redis", "redis"])].host) == {"b"}
        # A rate is of the second before: of the first one the load before this may have had a part.
        loaded = of_load(series[series.source == "my_redis"], record.started, record.ended)
        hits = loaded[loaded.metric == "keyspace_hits"].value.max()
        # Every key that is asked for is there; a load of SET asks for none.
        assert hits > record.summary["events"].value / 100 if record.levels["workload"] == "get" else hits == 0
        assert {"my_redis@b", "redis@b"} <= record.proof["probe_cores"].keys()


@pytest.mark.real
@pytest.mark.slow
def test_a_probe_of_one_file_watches_every_machine_or_every_server(restaged: tuple[Home, int, str]) -> None:
    """Both stand in env/probes and are named in the profile; nothing else knows of them."""
    made = campaign(restaged[0])
    for record in made.records():
        series = made.series(record.id)
        # Beside what a probe samples, its loop says how punctual it was.
        sampled = series[~series.metric.isin(["heartbeat.late_s", "clock.step_s"])]
        sockets, replies = (sampled[sampled.source == name] for name in ("sockets", "replies"))
        assert set(zip(sockets.host, sockets.metric, sockets.unit, strict=True)) == {
            (host, *said) for host in "ab" for said in (("tcp.inuse", "sockets"), ("resets", "1/s"))
        }
        # The two connections of the load at their both ends, and the server's own sockets.
        assert sockets[sockets.metric == "tcp.inuse"].value.max() >= 2
        assert set(zip(replies.host, replies.unit, replies.value, strict=True)) == {("b", "B", len("+PONG\r\n"))}
        assert {"sockets@a", "sockets@b", "replies@b"} <= record.proof["probe_cores"].keys()
        assert "failed_probes" not in record.proof


@pytest.mark.real
@pytest.mark.slow
def test_its_page_and_json_are_made_and_its_checks_passed(restaged: tuple[Home, int, str]) -> None:
    home, _, _ = restaged
    found = results.read(home.path / "site" / f"{NAME}.json")
    assert {row["n"] for row in found.cells if "measured" in row} == {2}
    assert {system.title for system in found.systems} == {"Redis"}
    assert f"{REQUESTS} of {REQUESTS}" in (home.path / "site" / f"{NAME}.html").read_text()


def test_without_the_package_its_names_are_unknown_and_the_known_ones_are_said(home: Home, site: Path) -> None:
    report_of_redis(home, "127.0.90", site)
    status, said = home.told(*WORDS)
    assert status == 2
    assert "report.yaml: design.*.load: there is no such load generator (got 'my_redis_benchmark')" in paragraph(said)
    assert "my_redis_benchmark" in said


def _in_child(site: Path, home: Home, code: str) -> Any:
    """What `code` prints as JSON in a process that has the package."""
    status, said = forked([], {**home.environment, **installed(site)}, home.path, within_s=PATIENCE_S, code=code)
    assert status == 0, said
    return json.loads(said)


def test_an_inventory_knows_the_ports_and_roles_of_the_package_s_system(home: Home, site: Path) -> None:
    host = {"address": "127.0.90.1", "roles": ["client", "my_redis", "mysql"]}
    good = {"lab": True, "hosts": {"a": host}, "systems": {"my_redis": {}, "mariadb": {}}}
    home.write("good.yaml", good)
    home.write("bad.yaml", {**good, "systems": {"my_redis": {}, "mariadb": {"port": 6379}}})
    code = f"""
import json
from benchbook import systems
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
good = load_inventory({str(home.path / "good.yaml")!r})
try:
    load_inventory({str(home.path / "bad.yaml")!r})
    said = ""
except BadInput as problem:
    said = str(problem)
try:
    systems.check_protocols(["my_redis"], good, "sysbench", ["mysql"])
except BadInput as problem:
    mute = str(problem)
print(json.dumps([good.port("my_redis"), systems.check_names(["my_redis"], good), said, mute]))
"""
    port, hosts, said, mute = _in_child(site, home, code)
    assert (port, hosts) == (6379, ["a"])
    assert "two systems on one port of host a: my_redis and mariadb" in said
    assert "sysbench cannot drive this system, which speaks my_redis" in mute


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ({}, "loads.my_redis_benchmark: the profile has no size for this load generator"),
        ({"my_redis_benchmark": {"keys": 0, "requests": 1, "time_s": 1}}, "line 14, loads.my_redis_benchmark.keys: "),
        (
            {"my_redis_benchmark": {"kyes": 1, "keys": 1, "requests": 1, "time_s": 1}},
            "line 14, loads.my_redis_benchmark.kyes: ",
        ),
    ],
)
def test_a_profile_s_section_for_the_generator_is_checked_by_its_own_model(
    home: Home, site: Path, loads: dict[str, Any], said: str
) -> None:
    home.write("env/profiles/tiny.yaml", {**PROFILE, "loads": loads})
    code = """
import json
from benchbook.errors import BadInput
from benchbook.profiles import load_profile
from benchbook.workloads import generator
try:
    generator("my_redis_benchmark").size_in(load_profile("tiny"))
except BadInput as problem:
    print(json.dumps(str(problem)))
"""
    assert f"tiny.yaml: {said}" in _in_child(site, home, code)


BASES = {
    "systems": "benchbook.systems.base.System",
    "workloads": "benchbook.workloads.base.LoadGenerator",
    "kinds": "benchbook.reports.kind.Kind",
    "hypotheses": "benchbook.claims.hypothesis.Hypothesis",
}


@pytest.mark.parametrize("group", BASES)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nclass Part(:\n", "cannot be loaded: SyntaxError: invalid syntax (line 2 of {file})"),
        ("Part = no_such\n", "cannot be loaded: NameError: name 'no_such' is not defined (line 1 of {file})"),
        ("class Part:\n    pass\n", "does not derive from {base}"),
        ("Part = {}\n", "does not derive from {base}"),
        ("from {module} import {name}\n\nclass Part({name}):\n    pass\n", ", which {base} asks for"),
    ],
)
def test_a_part_of_a_package_that_is_broken_is_named_and_costs_no_other(
    home: Home, tmp_path: Path, group: str, text: str, said: str
) -> None:
    """Every step of the guide done wrong: it was called a defect of the kit, and `list` ended at it."""
    about, file = tmp_path / "mine-1.dist-info", tmp_path / "mine_part.py"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[benchbook.{group}]\nmine = mine_part:Part\n")
    module, _, name = BASES[group].rpartition(".")
    file.write_text(text.replace("{module}", module).replace("{name}", name))
    code = f"""
import json
from benchbook import plugins
from benchbook.errors import BadInput
others = [name for name in plugins.names({group!r}) if name != "mine"]
try:
    plugins.load({group!r}, "mine", key="it")
except BadInput as problem:
    said = str(problem)
print(json.dumps([said, [plugins.load({group!r}, name, key="it") is None for name in others]]))
"""
    told, others = _in_child(tmp_path, home, code)
    assert told.startswith("it: mine_part:Part ")
    assert said.format(file=file, base=BASES[group]) in told
    assert told.endswith("Fix: mend or reinstall the package that brings it")
    assert not any(others)


@pytest.mark.parametrize("folder", [".", "site-packages"])
def test_an_error_in_a_package_s_code_is_called_its_own_and_no_defect_of_the_kit(
    home: Home, tmp_path: Path, folder: str
) -> None:
    """Also where it is installed as any library, and where what it called is Python's own."""
    root = tmp_path / folder
    about, file = root / "mine-1.dist-info", root / "mine_part.py"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[benchbook.hypotheses]\nmine = mine_part:Part\n")
    file.write_text("import json\ndef parts():\n    return {}['x']\ndef reads():\n    return json.loads('no')\n")
    code = """
import json
import mine_part
from benchbook import plugins
from benchbook.user_input import guard
told = []
for fails in (mine_part.parts, mine_part.reads, lambda: {}["x"], lambda: json.loads("no")):
    try:
        fails()
    except (KeyError, ValueError) as problem:
        told.append([guard.in_words(problem).partition(" This is a defect of ")[2], plugins.told(problem)])
print(json.dumps(told))
"""
    package, reads, own, library = _in_child(root, home, code)
    assert package[0] == f"mine_part, in line 3 of {file}; --debug shows its stack."
    assert package[1] == f"KeyError: 'x' (line 3 of {file})"
    assert reads[0] == f"mine_part, in line 5 of {file}; --debug shows its stack."
    assert reads[1].endswith(f" (line 5 of {file})")
    assert own[0] == library[0] == "the kit; --debug shows where."


def test_a_part_is_called_as_its_entry_point_says(home: Home, tmp_path: Path) -> None:
    """Its campaign was measured, and could not be opened: records name the generator, and nothing had that name."""
    about = tmp_path / "mine-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[benchbook.workloads]\nbench = mine_part:Bench\n")
    text = "from benchbook.workloads.sysbench import Sysbench\n\n\nclass Bench(Sysbench):\n    name = 'bensh'\n"
    (tmp_path / "mine_part.py").write_text(text)
    code = """
import json
from benchbook.errors import BadInput
from benchbook.workloads import generator
try:
    generator("bench")
except BadInput as problem:
    print(json.dumps(str(problem)))
"""
    said = "mine_part:Bench has the name 'bensh', which is not that of its entry point (got 'bench')"
    assert said in _in_child(tmp_path, home, code)


def test_the_guide_shows_every_file_of_the_package() -> None:
    shown = re.findall(r"^```\{literalinclude\} \.\./(.+)$", GUIDE.read_text(), re.MULTILINE)
    own = [*PROBES.glob("*.py"), *(PACKAGE.parent / "own_workloads").glob("*.yaml")]
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.toml"), *own]
    assert set(shown) == {str(path.relative_to(ROOT)) for path in files if path.name != "__init__.py"}
