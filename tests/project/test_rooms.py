"""The rooms of the kit: who may import whom, how deep it goes, and that no name stands for two things."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from kit import ROOT

PACKAGE = ROOT / "lib" / "benchbook"
NAME = "benchbook"
LONGEST_CHAIN, MOST_AT_THE_TOP = 13, 12

# Lowest first; a room imports from its own layer and from those below it. A module at the top is a room of its own.
LAYERS: list[tuple[str, set[str]]] = [
    ("Words that everything is said in: errors, paths, how a file is read, how things are grouped.",
     {"__init__", "errors", "given", "paths", "grouping", "plugins", "yamlfile"}),
    ("What a user asks for: profiles and a notebook's parameters.", {"profiles", "parameters"}),
    ("Arithmetic on numbers and frames; it knows no report and no campaign.", {"stats"}),
    ("A search that is told what was measured, and says what to measure next.", {"knee"}),
    ("What was published, as data.", {"published"}),
    ("What the published figures say of each other.", {"audit"}),
    ("Programs of their own: systems built from source, documents moved.", {"build", "transfer"}),
    ("Hosts: who they are, how they are reached, what runs on them for long.", {"hosts"}),
    ("Design, plan, run, record; of hosts it knows only what was found out about them.", {"campaign"}),
    ("What is sampled on a host.", {"probes"}),
    ("Systems under test, by their verbs.", {"systems"}),
    ("Published beside measured, checks, machine time.", {"analysis"}),
    ("A campaign as tidy frames, for who asks questions of their own.", {"frames"}),
    ("Load generators: a command, its parser, and what its records must answer for.", {"workloads"}),
    ("Frames as figures; results as HTML.", {"plots", "display"}),
    ("Hypotheses to verdicts.", {"claims"}),
    ("Pages of the site, and a notebook executed for one.", {"site", "headless"}),
    ("Two campaigns, or many, behind a gate.", {"compare"}),
    ("All campaigns as one set of tables, and what changed from one to the next.", {"memory", "history"}),
    ("What one kind of report needs and no other.", {"reports"}),
    ("What a user starts: a notebook's book, the commands behind the command line.",
     {"book", "restage", "new", "overview", "importing", "deposit"}),
    ("Many reports on many hosts, each a command of its own.", {"batch"}),
    ("What the kit itself costs.", {"bench"}),
    ("What holds when something breaks in a real run.", {"faults"}),
    ("The command line.", {"cli", "__main__"}),
]  # fmt: skip

# Reading records needs no host. These rooms import nothing of the kit that opens a connection, nor what it is made of.
OFFLINE = (
    "claims",
    "analysis",
    "frames",
    "compare",
    "published",
    "audit",
    "plots",
    "display",
    "site",
    "stats",
    "memory",
    "history",
)
CONNECTING = ("fabric", "paramiko")
# What any room may know of hosts: models and the file that describes them.
DATA_OF_HOSTS = {"benchbook.hosts", "benchbook.hosts.about", "benchbook.hosts.inventory"}


@cache
def modules() -> dict[str, Path]:
    """Every module of the kit; programs that are copied to hosts (`remote/`) import nothing of it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if "remote" not in parts:
            found[".".join([NAME, *(part for part in parts if part != "__init__")])] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """The kit's modules that a module imports when it is itself imported: not inside functions, nor for types only."""
    found: set[str] = set()
    for node in _at_import(ast.parse(modules()[module].read_text()).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inside if name in modules()} or {node.module}
    return frozenset(found & modules().keys() - {module})


def _at_import(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that run on import, those of conditions among them."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.unparse(statement.test):
            found += _at_import([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            found += _at_import([*statement.body, *statement.orelse, *statement.finalbody])
    return found


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def level(module: str) -> int:
    return next(i for i, (_, rooms) in enumerate(LAYERS) if room(module) in rooms)


@cache
def depth(module: str) -> tuple[str, ...]:
    """The longest chain of imports that begins here."""
    below = [depth(name) for name in imports(module)]
    return (module, *max(below, key=len, default=()))


def circles() -> list[list[str]]:
    """Circles of modules; each as the way from a module back to itself."""
    done: set[str] = set()
    found: list[list[str]] = []

    def walk(module: str, way: list[str]) -> None:
        if module in way:
            found.append([*way[way.index(module) :], module])
        elif module not in done:
            for name in sorted(imports(module)):
                walk(name, [*way, module])
            done.add(module)

    for module in modules():
        walk(module, [])
    return found


def test_every_room_has_its_layer_and_every_layer_a_sentence() -> None:
    named = Counter(name for _, rooms in LAYERS for name in rooms)
    assert max(named.values()) == 1
    assert {room(module) for module in modules()} == set(named)
    assert all(sentence.endswith(".") for sentence, _ in LAYERS)


def test_no_arrow_points_upward() -> None:
    upward = [f"{one} -> {other}" for one in modules() for other in imports(one) if level(other) > level(one)]
    assert upward == []


def test_rooms_of_one_layer_do_not_go_in_circles() -> None:
    arrows = {(room(one), room(other)) for one in modules() for other in imports(one) if room(one) != room(other)}
    assert [(a, b) for a, b in sorted(arrows) if (b, a) in arrows] == []


def test_no_circle_of_modules() -> None:
    assert circles() == []


def test_a_campaign_and_what_reads_it_know_hosts_as_data_only() -> None:
    readers = {"campaign", *OFFLINE}
    reached = {other for one in modules() if room(one) in readers for other in imports(one) if room(other) == "hosts"}
    assert reached <= DATA_OF_HOSTS


def test_the_kinds_of_report_know_nothing_of_the_rooms_above_them() -> None:
    used = {room(other) for one in modules() if room(one) == "reports" for other in imports(one)}
    assert used.isdisjoint({"book", "restage", "new", "bench", "cli", "compare", "headless"})


def test_the_longest_chain_of_imports() -> None:
    longest = max(map(depth, modules()), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)


def test_few_modules_stand_at_the_top() -> None:
    top = [path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")]
    assert len(top) <= MOST_AT_THE_TOP, top


def test_one_name_one_module() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


def test_one_name_one_class() -> None:
    names: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        names.update(node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def test_no_connection_is_imported_for_reading() -> None:
    names = [module for module in modules() if room(module) in OFFLINE]
    assert {room(name) for name in names} == set(OFFLINE)
    # In one process, so that it costs one start; each module is named with what it was the first to bring in.
    script = f"""
import importlib, sys
for name in {names}:
    importlib.import_module(name)
    if found := set({CONNECTING}) & set(sys.modules):
        sys.exit(f"{{name}} imports {{found}}")
"""
    ran = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


# What takes long to import, and the modules that must do without it: who measures, refuses or lists does not draw.
HEAVY = {"scipy.stats", "scipy.signal", "seaborn", "matplotlib", "statsmodels", "ruptures", "papermill", "nbconvert"}
CONNECTS = {"fabric", "paramiko"}
STARTS = {
    "import benchbook": HEAVY | CONNECTS | {"pandas", "numpy", "pydantic", "yaml", "IPython"},
    "import benchbook.cli": HEAVY | CONNECTS | {"pandas", "numpy", "pydantic", "yaml", "IPython"},
    "import benchbook.claims.judge": HEAVY | CONNECTS | {"scipy.special"},
    # A refused host or a wrong parameter is told before a kernel is started.
    "import benchbook.restage": HEAVY | CONNECTS | {"IPython", "scipy.special"},
    "import benchbook.compare.command, benchbook.history.history_command": HEAVY | CONNECTS,
    # A notebook's kernel up to its first load; it connects when it has something to run.
    "from benchbook import book, plots; from benchbook.reports.kinds import kind_of": HEAVY | CONNECTS | {"duckdb"},
}


@pytest.mark.parametrize("script", STARTS)
def test_what_is_not_needed_yet_is_not_imported(script: str) -> None:
    assert all(importlib.util.find_spec(name) for name in STARTS[script])
    said = subprocess.check_output([sys.executable, "-c", f"{script}; import sys; print(*sys.modules)"], text=True)
    assert STARTS[script] & set(said.split()) == set()


def test_the_kinds_of_report_are_known_without_what_connects_and_draws() -> None:
    script = """
import sys
from benchbook import plugins
for name in plugins.names("kinds"):
    plugins.load("kinds", name, key="k")
print(*sys.modules)
"""
    said = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert (HEAVY | CONNECTS) & set(said.split()) == set()


def test_what_draws_is_asked_of_its_room() -> None:
    """Another room that imports a module of `plots` makes who starts there wait for seaborn."""
    from_outside = {one for one in modules() if room(one) != "plots" for other in imports(one) if "plots." in other}
    assert from_outside == set()


def test_seaborn_has_all_of_itself() -> None:
    """Its density curves and dendrograms come from scipy, which is not there yet when seaborn is imported."""
    script = """
import sys
from benchbook.plots.quick_seaborn import sns
assert not {"scipy.stats", "scipy.cluster", "scipy.spatial"} & sys.modules.keys()
drawn = sns.kdeplot([1.0, 2.0, 4.0], cumulative=True).lines[0].get_ydata()
assert "scipy.stats" in sys.modules and abs(drawn[-1] - 1) < 0.01, drawn
order = sns.clustermap([[0.0, 0.0], [9.0, 9.0], [0.0, 1.0]]).dendrogram_row.reordered_ind
assert "scipy.cluster" in sys.modules and order in ([0, 2, 1], [1, 0, 2]), order
"""
    ran = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
