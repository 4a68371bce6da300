"""What is laid down for you to edit: a project folder (`benchbook init`), a report of your own (`benchbook new`)."""

from __future__ import annotations

import json
import keyword
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchbook import paths, plugins, systems, workloads
from benchbook.documents.tables import reading
from benchbook.drafting.draft import draft
from benchbook.drafting.guesses import GUESSES, SYSTEM, Guess
from benchbook.errors import BadInput, NotWritten, writing
from benchbook.hosts.inventory import known_inventories
from benchbook.profiles import load_profile
from benchbook.reports.kind import known
from benchbook.site.addresses import COMPARISON, HISTORY
from benchbook.site.page import TEMPLATES
from benchbook.user_input import user_file
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.choices import one_of
from benchbook.user_input.strict_yaml import as_yaml

# What a user edits is copied; the rest of what the kit brings is read where it is.
_COPIED = ("notebooks", "env/hosts", "env/profiles")
# In a checkout the kit brings nothing but the checkout itself: a folder of its own needs all of it.
_OF_A_CHECKOUT = ("data/published", "data/sample", "env/systems", "env/debian-packages.txt")

_MAKEFILE = """\
# The project's commands; `benchbook --help` lists all.
REPORT ?=
PROFILE ?= smoke

report: ## run REPORT (or ALL=1) with PROFILE, from its systems to the page in site/
\tbenchbook report $(or $(REPORT),$(ALL:%=--all)) --profile $(PROFILE)

site: ## make every page anew from data/runs, with no host in reach
\tbenchbook site

jupyter: ## open the notebooks
\tbenchbook jupyter

.PHONY: report site jupyter
"""
_GITIGNORE = ".lab/\ndata/runs/\nsite/\n.ipynb_checkpoints/\n"


def create_project(folder: Path) -> list[Path]:
    """Write a project into `folder`; return what was written. Raise BadInput where there is a project, NotWritten."""
    if paths.is_project(folder):
        fix = "work in it as it is, or name another folder"
        raise BadInput("there is a project already", file=folder, key="DIR", value=str(folder), fix=fix)
    made = {folder / "Makefile": _MAKEFILE, folder / ".gitignore": _GITIGNORE}
    for path in made:
        if path.exists():
            fix = "name another folder, or move it away"
            raise BadInput("it is there already, and is not overwritten", file=path, key="DIR", fix=fix)
    brought = paths.SHARE if paths.SHARE.is_dir() else paths.CHECKOUT
    copied = _COPIED if brought == paths.SHARE else (*_COPIED, *_OF_A_CHECKOUT)
    ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    with writing(folder):
        for name in copied:
            source, target = brought / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
            elif source.is_file():
                shutil.copyfile(source, target)
        for path, text in made.items():
            path.write_text(text)
    return [folder / name for name in copied] + list(made)


def record_sample() -> str:
    """Copy the sample campaigns to data/runs, where pages are made of them; return their report. Raise NotWritten."""
    [sample] = [folder for folder in paths.find("data", "sample").iterdir() if folder.is_dir()]
    target = paths.runs_dir(sample.name)
    if not target.exists():
        with writing(target):
            shutil.copytree(sample, target)
    return sample.name


TABLES = ("oltp_point_select", "oltp_update_non_index")
_OPTIONS = ["--db-driver=mysql", "--mysql-ignore-errors=1213,1205", "--auto-inc=false"]


# What a kind of new report has in its own folder of templates; the rest stands in `new`.
LAYOUTS = {"load": "new", "versions": "new_versions"}
_NAME = re.compile(r"[a-z][a-z0-9_]{1,59}")
# A report's page is site/NAME.html, its records are in data/runs/NAME: these are taken.
_PAGES = ("index", "glossary", "faults", "batches")
# Loopback networks for labs: 127.0.100.x and on; the inventories of the kit and its tests are below.
_NETS = range(100, 255)


def create_report(name: str, kind: str = "", source: str = "", system: str = "", load: str = "") -> list[Path]:
    """Write the files of a new report of this kind, or as the document `source` says; return them.

    Raise BadInput for a bad name, a kind, system or load generator that is unknown or does not fit, or if any file
    exists already; NotWritten, and then there is none.
    """
    _check_name(name)
    for option, value in (("--kind", kind), ("--system", system), ("--load", load)):
        if value and source:
            said, fix = "it is read from the document's tables and commands", f"leave out {option}, or --from"
            raise BadInput(said, key=option, value=value, fix=fix)
        if value and kind == "versions" and option != "--kind":
            said, fix = "--kind versions is laid down for MySQL, driven by sysbench", f"leave out {option}, or --kind"
            raise BadInput(said, key=option, value=value, fix=fix)
    kind = one_of(kind or "load", LAYOUTS, "kind", key="--kind")
    contents = _drafted(name, source) if source else _contents(name, _values(name, kind, load or "sysbench", system))
    for path in contents:
        if path.exists():
            fix = "choose another name, or remove what there is by hand"
            raise BadInput("there is something of this name already", file=path, key="name", value=name, fix=fix)
    try:
        return [replace_text(path, text) for path, text in contents.items()]
    except NotWritten:
        # The next try finds nothing of this one in its way.
        for path in contents:
            with suppress(OSError):
                path.unlink()
        raise


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        fix = "use 2 to 60 lower-case letters, digits and underscores, a letter first"
        raise BadInput("not a name for a report", key="name", value=name, fix=fix)
    if name in _PAGES or name.startswith((COMPARISON, HISTORY)):
        said, fix = "the site has a page or a folder of its own of this name", "choose another name"
        raise BadInput(said, key="name", value=name, fix=fix)


def _contents(name: str, values: dict[str, Any]) -> dict[Path, str]:
    """Return every file with its text."""
    published, layout = paths.published_dir(name), LAYOUTS[values["kind"]]
    return _of_a_run(name, values) | {
        **{
            published / f: _rendered(layout, f"{f}.j2", values)
            for f in ("datapackage.json", "report.yaml", "claims.yaml")
        },
        **{
            published / f"{table}.csv": _rendered(layout, f"{like}.csv", values)
            for table, like in zip(values["tables"], TABLES, strict=False)
        },
    }


def _of_a_run(name: str, values: dict[str, Any]) -> dict[Path, str]:
    """Return the files with their text that run a report: notebook, lab and profile."""
    layout, env = LAYOUTS[values["kind"]], paths.env_dir()
    return {
        paths.notebook(name): _rendered(layout, "notebook.ipynb.j2", values),
        env / "hosts" / f"lab_{name}.yaml": _rendered(layout, "inventory.yaml.j2", values),
        env / "profiles" / f"{name}.yaml": _rendered(layout, "profile.yaml.j2", values),
    }


def _values(name: str, kind: str, load: str, system: str) -> dict[str, Any]:
    """Return what the templates name. Raise BadInput for a load generator that is unknown, or cannot drive the system."""
    of_sysbench, generator, driven = load == "sysbench", workloads.generator(load), _driven_by(load)
    system = system or _DRIVES.get(load) or next(iter(driven), "")
    server = plugins.load(systems.GROUP, base := system.partition(":")[0], key="--system")
    if base not in driven:
        fix = f"name one that speaks {' or '.join(generator.protocols)}, or another --load"
        raise BadInput(f"{load} cannot drive it", key="--system", value=system, fix=fix)
    return {
        "name": name,
        "kind": kind,
        "versions": kind == "versions",
        "net": _free_net(),
        "kinds": ", ".join(known()),
        "source": "PLACEHOLDER. Say here which report this is, what it measured and on what, how long and how often, in a few lines.",
        "caveat": f"PLACEHOLDER numbers: the tables were laid down by `benchbook new` and belong to no report. Replace the CSV files in `data/published/{name}`, describe them in `datapackage.json` and the rest in `report.yaml`, then run `benchbook check {name}`.",
        "system": system,
        "roles": ", ".join(dict.fromkeys(["mysql", "tidb", "postgresql", "pgbouncer", *server.roles()])),
        "load": load,
        "size": json.dumps(load_profile("lab").loads.get(load, "")).replace('"', ""),
        "tables": TABLES if of_sysbench else sorted(generator.workloads)[:2],
        "fixed": json.dumps({"tables": 16, "table_size": 1_000_000, "time_s": 300} if of_sysbench else {"time_s": 300}),
        "options": json.dumps(_OPTIONS if of_sysbench else []),
        "systems": json.dumps(json.dumps(_SIDE_BY_SIDE["sysbench"][:2]))[1:-1],
    }


def _driven_by(load: str) -> list[str]:
    """Return the systems that speak a protocol of this load generator."""
    protocols = workloads.generator(load).protocols
    found = {name: plugins.load(systems.GROUP, name, key="--system") for name in plugins.names(systems.GROUP)}
    return [name for name, server in found.items() if getattr(server, "protocol", "") in protocols]


def _rendered(layout: str, template: str, values: dict[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader([TEMPLATES / layout, TEMPLATES / "new"]),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


# The system that a load generator drives in a drafted report, unless it can drive the product of the document.
_DRIVES = {"sysbench": "mariadb", "pgbench": "postgresql", "go_tpc": "tidb"}
# Those that can take the places of the versions that stand side by side, by load generator.
_SIDE_BY_SIDE = {
    "sysbench": ["mysql57", "mysql8", "mariadb"],
    "pgbench": ["postgresql", "pgbouncer"],
    "go_tpc": ["tidb"],
}
_PRODUCTS = {"mariadb": "MariaDB", "postgresql": "PostgreSQL", "tidb": "TiDB"}


def _drafted(name: str, source: str) -> dict[Path, str]:
    """Return every file with its text, as a document says; those of a run only where a generator of ours can run it."""
    read = reading(source)
    made = draft(read, name)
    if not made.tables:
        fix = f"see what is read of it: benchbook audit {source}; or start from placeholders: benchbook new {name}"
        raise BadInput("no table of measurements was found in it", file=source, fix=fix)
    published = paths.published_dir(name)
    product = str(made.report["document"]["product"])
    ours = next((name for name, called in _PRODUCTS.items() if called == product), "")
    system = ours if made.load and ours in _driven_by(made.load) else _DRIVES.get(made.load, "")
    stand_in = ""
    if system not in {"", ours} and product != "not printed":
        stand_in = f" {_PRODUCTS[system]} stands in for {product}."
        line = read.text.count("\n", 0, max(read.text.find(product), 0)) + 1
        made.guesses.append(
            Guess(file=f"notebooks/{name}.ipynb", key=SYSTEM, guess=system, line=line, sure=0.3, printed=product)
        )
    beside = _SIDE_BY_SIDE.get("pgbench" if system == "postgresql" else made.load, [])[: made.versions]
    runs = bool(made.load) and len(beside) == made.versions
    if made.load and not runs:
        words = f"not run: it compares {made.versions}; {', '.join(beside)} could take their places, and no other"
        made.guesses.append(Guess(file="report.yaml", key="restaged_by", guess=words, line=1, sure=0.3))
    guesses = [guess.model_dump() for guess in sorted(made.guesses, key=lambda one: one.sure)]
    head = f"# Read from {Path(source).name} by `benchbook new`. Each guess stands in {GUESSES}, with its line.\n"
    contents = {
        published / "datapackage.json": _as_json(made.package),
        published / "report.yaml": head + as_yaml(made.report),
        **({published / "claims.yaml": head + as_yaml({"report": name, "claims": made.claims})} if made.claims else {}),
        published
        / GUESSES: "# Take a guess out once you have held it against the document; `benchbook check` lists those that are left.\n"
        + as_yaml({"guesses": guesses}),
        **{published / file: text for file, text in made.tables.items()},
    }
    if not runs:
        return contents  # its tables and claims are read and audited
    # The title goes into a cell of Markdown, inside JSON.
    title = json.dumps(re.sub(r"[<>`\[\]]", "", made.report["title"]), ensure_ascii=False)[1:-1]
    return contents | _of_a_run(
        name,
        _values(name, "versions" if made.versions else "load", made.load, system)
        | {
            "source": f"Source: {title} (read from a document).",
            "caveat": f"Tables, design and claims were read from the document; `benchbook check {name}` lists what nobody has confirmed.{stand_in}",
            "systems": json.dumps(json.dumps(beside))[1:-1],
        },
    )


def _free_net() -> str:
    """Return a loopback network that no inventory names, so that its lab may run beside theirs."""
    texts = [user_file.text(paths.env_dir() / "hosts" / f"{name}.yaml") for name in known_inventories()]
    taken = {int(net) for text in texts for net in re.findall(r"\b127\.0\.(\d+)\.\d+", text)}
    free = next((net for net in _NETS if net not in taken), None)
    if free is None:
        fix = "remove inventories that nobody needs"
        raise BadInput("no loopback network is left for another lab", file=paths.env_dir() / "hosts", fix=fix)
    return f"127.0.{free}"


def _as_json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
