"""Arrows between folders point one way: a room imports from its own layer and from those below it."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

from kit import ROOT

PACKAGE = ROOT / "lib" / "benchbook"
NAME = "benchbook"

# Lowest first; a room imports from its own layer and from those below it. A module at the top is a room of its own.
LAYERS: list[tuple[str, set[str]]] = [
    ("Words that everything is said in: errors, paths, how a file is read, how things are grouped.",
     {"errors", "user_input", "paths", "grouping", "plugins", "temporary"}),
    ("What a user asks for: profiles and a notebook's parameters.", {"profiles", "parameters"}),
    ("Arithmetic on numbers and frames; it knows no report and no campaign.", {"stats"}),
    ("Files of load generators: what each prints, and how it is run.", {"generators"}),
    ("A document as it was published, read and audited as it is; units of what is printed.", {"documents"}),
    ("What was published, as data.", {"published"}),
    ("What the published figures say of each other.", {"audit"}),
    ("Programs of their own: systems built from source.", {"build"}),
    ("Hosts: who they are, how they are reached, what runs on them for long.", {"hosts"}),
    ("Design, plan, run, record; of hosts it knows only what was found out about them.", {"campaign"}),
    ("What is sampled on a host.", {"probes"}),
    ("Systems under test, by their verbs.", {"systems"}),
    ("Published beside measured, checks, machine time.", {"analysis"}),
    ("Load generators: a command, its parser, and what its records must answer for.", {"workloads"}),
    ("Frames as figures; results as HTML.", {"plots", "display"}),
    ("Hypotheses to verdicts.", {"claims"}),
    ("Pages of the site, and a notebook executed for one.", {"site", "notebook_run"}),
    ("Two campaigns behind a gate; what changed from one to the next; all campaigns as tables.", {"compare"}),
    ("What one kind of report needs and no other.", {"reports"}),
    ("What a user starts: a report in a notebook, the commands behind the command line.",
     {"report", "pipeline", "confirm", "drafting", "new", "overview", "importing", "crate", "cite"}),
    ("What a user imports.", {"__init__", "api"}),
    ("Many reports on many hosts, each a command of its own.", {"batch"}),
    ("The command line.", {"cli", "__main__"}),
]  # fmt: skip

# Reading records needs no host: these rooms import nothing that opens a connection.
OFFLINE = {
    "claims",
    "analysis",
    "compare",
    "documents",
    "published",
    "audit",
    "plots",
    "display",
    "site",
    "stats",
}
CONNECTING = {"fabric", "paramiko", "invoke"}


@cache
def modules() -> dict[str, Path]:
    """Return every module of the kit; programs that are copied to hosts (`remote/`) import nothing of it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if "remote" not in parts:
            found[".".join([NAME, *(part for part in parts if part != "__init__")])] = path
    return found


def names_imported(module: str) -> set[str]:
    """Return the modules that a module names, those for type checking and those inside functions among them."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= {name for name in inside if name in modules()} or {node.module}
    return named


@cache
def imports(module: str) -> frozenset[str]:
    return frozenset(names_imported(module) & modules().keys() - {module})


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def level(module: str) -> int:
    return next(i for i, (_, rooms) in enumerate(LAYERS) if room(module) in rooms)


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


def test_rooms_that_read_records_open_no_connection() -> None:
    connecting = [
        one
        for one in modules()
        if room(one) in OFFLINE
        for name in names_imported(one)
        if name.split(".")[0] in CONNECTING
    ]
    assert connecting == []
