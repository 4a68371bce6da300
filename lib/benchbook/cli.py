"""The command line: `benchbook`, or `python -m benchbook`.

A command imports itself what brings pandas along, half a second and more: `--help` and a shell's completion wait for
none.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from benchbook import __version__, paths
from benchbook.build import artefacts
from benchbook.drafting.guesses import SYSTEM, unconfirmed
from benchbook.errors import BadInput, counted, installing, one_line
from benchbook.hosts import lab
from benchbook.hosts.inventory import known_inventories, load_inventory
from benchbook.profiles import known_profiles
from benchbook.user_input import guard
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.choices import one_of
from benchbook.user_input.strict_yaml import yaml_text

# Groups of commands, in the order of `--help`.
START, OWN, RUN, RESULTS = "Start here", "Documents, and reports of your own", "Run", "Results"
_HELP: dict[str, object] = {"help_option_names": ["-h", "--help"]}


def _bare_flags(params: list[Any]) -> list[Any]:
    """Leave out, in `--help`, the type of an option that takes no value."""
    for each in params:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _bare_flags(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _bare_flags(super().get_params(ctx))


app = typer.Typer(cls=_Group, context_settings=_HELP, pretty_exceptions_enable=False)
lab_app = typer.Typer(
    cls=_Group,
    help="Start and stop the local lab: one real sshd per host of an inventory, on loopback.",
    epilog="Example: benchbook lab up lab_tidb",
    no_args_is_help=True,
)
import_app = typer.Typer(
    cls=_Group,
    help="Import what was measured elsewhere: campaigns, or logs.",
    epilog="Example: benchbook import logs results/ --system mysql:8.0.36",
    no_args_is_help=True,
)
console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

# A terminal that is closed sends SIGHUP.
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
Command = TypeVar("Command", bound=Callable[..., None])


def _command(panel: str, example: str, name: str | None = None) -> Callable[[Command], Command]:
    """Add a command to its group, with an example below its `--help`."""
    return app.command(name, cls=_Command, rich_help_panel=panel, epilog=f"Example: {escape(example)}")


# -- what a shell completes ---------------------------------------------------------------------------------------


def _known_reports() -> list[str]:
    from benchbook import published

    return published.known_reports()


def _known_lists() -> list[str]:
    from benchbook.overview import lists

    return list(lists.LISTS)


def _known_campaigns() -> list[str]:
    from benchbook.campaign import store

    folders = store.recorded()
    return [*dict.fromkeys(folder.parent.name for folder in folders), *(folder.name for folder in reversed(folders))]


def _known_parameters(ctx: typer.Context) -> list[str]:
    from benchbook.reports.kind import kind_of

    # While a shell completes, click has the report's name among the arguments that it has not parsed.
    named = [word for word in ctx.args if word in _known_reports()]
    return list(dict.fromkeys(f"{name}=" for report in named for name in kind_of(report).Parameters.model_fields))


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Raise BadInput that says which extra brings a package that is not installed."""
    try:
        yield
    except ModuleNotFoundError as problem:
        said = "this needs a package that is not installed"
        raise BadInput(said, key=str(problem.name), fix=installing(name)) from problem


ReportName = Annotated[str, typer.Argument(metavar="REPORT", help="Name of the report.", autocompletion=_known_reports)]
Reports = Annotated[
    list[str] | None,
    typer.Argument(metavar="REPORT", help="Reports (default: all).", autocompletion=_known_reports),
]
Labs = Annotated[
    list[str] | None,
    typer.Argument(metavar="INVENTORY", help="Inventories of labs (default: all).", autocompletion=known_inventories),
]
Profile = Annotated[
    str, typer.Option(help="Profile, or a file: how much data, how long, how often.", autocompletion=known_profiles)
]
Inventory = Annotated[str, typer.Option(help="Inventory, or a file: which hosts.", autocompletion=known_inventories)]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="Set a parameter of the notebook, as YAML; repeatable.",
        autocompletion=_known_parameters,
    ),
]
_ADDRESS = "REPORT (its latest), REPORT~1 (the one before), an id or a folder"
CampaignName = Annotated[str, typer.Argument(metavar="CAMPAIGN", help=f"{_ADDRESS}.", autocompletion=_known_campaigns)]
Recorded = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REPORT",
        help="Reports, or one campaign: REPORT~1 or an id (default: all).",
        autocompletion=_known_campaigns,
    ),
]
Metrics = Annotated[list[str] | None, typer.Option(help="Metric to show; repeatable (default: the published ones).")]
Budget = Annotated[str, typer.Option(help="Wall time, such as 30min or 2h.")]
Levels = Annotated[
    str,
    typer.Option(
        help="Pattern that finds levels in a path, such as '{workload}/{threads}-{repetition}.txt' (* for the rest), "
        "or a CSV with a column `file` and one per level."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsPage = Annotated[bool, typer.Option("--page", help="Also write a page in site/.")]


def _version(asked: bool) -> None:
    if asked:
        console.print(f"benchbook {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog="Example: benchbook try",
)
def _options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option(guard.OPTION, help="Show the traceback of an error; allowed anywhere on the line.")
    ] = False,
) -> None:
    """Restage published database benchmark reports."""
    if ctx.invoked_subcommand is None:
        console.print(ctx.get_help(), end="")


@_command(START, "benchbook init bench && cd bench && benchbook report tidb_v7_1_3_sysbench")
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to create (default: this one).")] = Path(),
) -> None:
    """Create a project folder: notebooks, hosts and profiles to edit, a Makefile."""
    from benchbook.new import create_project

    create_project(folder)
    console.print(f"{folder.absolute()} is a project folder. Next: cd {folder} && benchbook list", markup=False)


@_command(START, "benchbook try && open benchbook-try/site/index.html", "try")
def try_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Project folder to create for it.")] = Path(
        "benchbook-try"
    ),
) -> None:
    """See in a minute what Benchbook does, with no host and no build.

    Audits a sample document, and makes a page of a recorded campaign.
    """
    from benchbook import new, pipeline
    from benchbook.documents import audit as documents
    from benchbook.documents.tables import reading

    if not paths.is_project(folder):
        new.create_project(folder)
    os.environ[paths.HOME] = str(folder.absolute())
    report = new.record_sample()
    console.print("[bold]1. A document is audited as it is:[/] benchbook audit example-report.md")
    example = reading(str(paths.find("data", "sample", "example-report.md")))
    documents.show([documents.audit_document(example)], console)
    console.print("[bold]2. A recorded campaign becomes a page:[/] benchbook site")
    status = pipeline.replay(report, "", console)
    console.print(f"Open {paths.site_dir() / 'index.html'}", markup=False)
    console.print(f"[bold]3. Explore it:[/] cd {folder} && benchbook jupyter")
    raise typer.Exit(status)


@_command(START, "benchbook jupyter")
def jupyter() -> None:
    """Open the project's notebooks in JupyterLab, `explore.ipynb` first."""
    # Root may run it too: JupyterLab listens on this machine alone, and asks for the token of the address it prints.
    words = [
        "--allow-root",
        f"--ServerApp.root_dir={paths.home()}",
        "--LabApp.default_url=/lab/tree/notebooks/explore.ipynb",
    ]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *words])


@_command(START, "benchbook list reports --json", "list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="reports, systems, generators, inventories, profiles or probes (default: all of them).",
            autocompletion=_known_lists,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List reports, systems, load generators, inventories, profiles and probes."""
    from benchbook.overview import lists

    lists.print_lists(what, console, as_json=as_json)


@_command(START, "benchbook doctor --inventory mine")
def doctor(inventory: Inventory = "", as_json: AsJson = False) -> None:
    """Check this machine, and the hosts of an inventory: what is missing, and how to get it.

    Exit status: 0 ready, 1 something that a run needs is missing.
    """
    from benchbook.overview import doctor as examination

    raise typer.Exit(examination.print_all(inventory, console, as_json=as_json))


@_command(RUN, "benchbook report tidb_v7_1_3_sysbench --profile lab -p 'workloads=[oltp_insert]'")
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REPORT", help="Reports to run (default: only list them).", autocompletion=_known_reports
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all reports, one after another.")] = False,
    profile: Profile = "smoke",
    inventory: Inventory = "",
    parameter: Pairs = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Allow a workload or option that the load generator does not list; repeatable."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for hosts that another driver uses.")] = False,
) -> None:
    """Run reports: build, measure, and make their pages in site/. Without an inventory, in the report's local lab.

    Exit status: 0 all measured, 1 failed trials, 2 bad input.
    """
    from benchbook.overview import lists
    from benchbook.pipeline import check_asked, run_report

    chosen = _checked(names)
    if not chosen or not (names or every):
        lists.print_lists("reports", console)
        fix = "name one or more of them, or give --all (with make: REPORT=NAME or ALL=1)"
        raise BadInput("no report is named", key="REPORT", fix=fix)
    said = _asked(profile, inventory, parameter) | ({"allow": allow} if allow else {})
    early: dict[str, int] = {}
    if len(chosen) > 1:
        # What cannot run is said before the others take their minutes.
        early.update(zip(chosen, _each(chosen, lambda name: check_asked(name, said)), strict=True))
    raise typer.Exit(max(_each(chosen, lambda name: early.get(name) or run_report(name, said, console, wait=wait))))


@_command(RUN, "benchbook plan tidb_v7_1_3_sysbench --inventory mine --profile paper --budget 2h")
def plan(
    name: ReportName,
    inventory: Inventory = "",
    profile: Profile = "smoke",
    budget: Budget = "",
    parameter: Pairs = None,
    as_json: AsJson = False,
) -> None:
    """Forecast a run: what these hosts can show of each claim, what would decide it, and how long it takes.

    With a budget, also which claims to spend it on. Asks the hosts for their cores; runs no load.
    """
    from benchbook.overview import lists

    _checked([name])
    made = lists.planned_run(name, _asked(profile, inventory, parameter), budget)
    if as_json:
        print(made.model_dump_json(indent=1))
    else:
        lists.print_plan(name, made, console)


@_command(RUN, "benchbook batch plan.yaml --dry-run")
def batch(
    plan: Annotated[
        str, typer.Argument(metavar="PLAN", help="YAML file with reports, inventories, profiles, parameters, exclude.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs and their trials, and exit.")] = False,
    scheduler: Annotated[
        str,
        typer.Option(
            help="Where workers run: ssh://INVENTORY (on each of its hosts), slurm://PARTITION (Slurm jobs), or "
            "tcp://HOST:8786 (a running Dask cluster); default: processes on this machine."
        ),
    ] = "",
) -> None:
    """Run many reports on many hosts, one at a time per inventory.

    Exit status: the worst of all runs; 130 after Ctrl-C.
    """
    with _extra("batch"):
        from benchbook.batch import command

    raise typer.Exit(command.run(plan, console, dry=dry_run, scheduler=scheduler))


@_command(RESULTS, "benchbook runs tidb_v7_1_3_sysbench --json")
def runs(names: Reports = None, as_json: AsJson = False) -> None:
    """List recorded campaigns, the latest first."""
    from benchbook.overview import lists

    _checked(names)
    lists.print_runs(names or [], console, as_json=as_json)


@_command(RESULTS, "benchbook site tidb_v7_1_3_sysbench~1")
def site(names: Recorded = None) -> None:
    """Rebuild pages and figures from data/runs; needs no host."""
    from benchbook.pipeline import replay

    found, which = _recorded(names)
    raise typer.Exit(max(_each(found, lambda name: replay(name, which, console))))


@_command(RESULTS, "benchbook publish tidb_v7_1_3_sysbench")
def publish(campaign: CampaignName = "") -> None:
    """Copy measured campaigns to public/, which the Pages workflow deploys; runs nothing again.

    Without a CAMPAIGN, the latest of every report.
    """
    from benchbook.pipeline import publish_campaigns

    raise typer.Exit(publish_campaigns(campaign, console))


app.add_typer(import_app, name="import", rich_help_panel=RESULTS)


@import_app.command(
    "campaign", cls=_Command, epilog="Example: benchbook import campaign db1:bench/data/runs --inventory mine"
)
def import_campaign(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Folder of a campaign, data/runs or a checkout, here or as HOST:PATH."),
    ],
    inventory: Inventory = "",
) -> None:
    """Copy campaigns of another machine or checkout to data/runs, and check them.

    The inventory names HOST. Exit status: 2 if a campaign is refused.
    """
    from benchbook.importing import import_command

    raise typer.Exit(import_command.run(source, inventory, console))


@import_app.command("logs", cls=_Command, epilog="Example: benchbook import logs results/ --system mysql:8.0.36")
def import_logs(
    paths_: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, or folders with everything below them.")],
    levels: Levels = "",
    system: Annotated[
        str, typer.Option(help="Measured system, as NAME:VERSION; a {system} in --levels takes precedence.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the report (default: logs_FOLDER).")] = "",
) -> None:
    """Import outputs of load generators as a campaign: sysbench, pgbench, go-tpc, YCSB, redis-benchmark, wrk, fio, ...

    The generator of a file is recognised by its content. Exit status: 2 if a file was left out.
    """
    from benchbook.importing import logs

    raise typer.Exit(logs.run(paths_, levels, system, name, console))


@_command(OWN, "benchbook cite README.md docs/*.md --check")
def cite(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Markdown, HTML, LaTeX or notebooks with bound figures.")
    ],
    check_: Annotated[bool, typer.Option("--check", help="Only check (the default).")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Replace each figure that differs with what was measured.")
    ] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write which figures come from which records, as JSON.")] = None,
    badge: Annotated[Path | None, typer.Option(help="Write a badge as SVG.")] = None,
) -> None:
    """Check the figures in your documents against the campaigns that they come from. Exit status: 1 if one differs.

    A bound figure: <!-- bb: REPORT@CAMPAIGN cell tps workload=oltp_insert threads=100 -->9,101<!-- /bb -->
    """
    from benchbook import cite as citing

    if check_ and update:
        raise BadInput(
            "--check and --update exclude each other", key="--check", value="--update", fix="give one of them"
        )
    raise typer.Exit(citing.run(files, console, update=update, receipt=receipt, badge=badge))


@_command(RUN, "benchbook build tidb")
def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="SYSTEM", help="Systems to build (default: all).", autocompletion=artefacts.names),
    ] = None,
) -> None:
    """Build or fetch systems into the cache, once per version; one that fails does not stop the others."""

    def provide(name: str) -> None:
        artefacts.provide(name, console.print)

    raise typer.Exit(max(_each(names or artefacts.names(), provide)))


@_command(OWN, "benchbook check my_report")
def check(names: Reports = None) -> None:
    """Check published tables, claims and your probes: shape, types, units, unused declarations.

    A report that can be run must also name a kind, workloads and options that Benchbook knows. Lists words that
    disagree with the numbers beside them, and the audit's findings (only their number if you name no report). Exit
    status: 2 if a report is refused; the others are still checked.
    """
    from benchbook import published
    from benchbook.probes import probe_file

    reports = _each(names or published.known_reports(), lambda name: _check_report(name, listed=bool(names)))
    if not find_spec("frictionless"):
        said = "Not checked by Frictionless, the reference implementation of data packages, which is not installed"
        console.print(f"{said}: {installing('check')}", markup=False)
    raise typer.Exit(max([*reports, *_each(probe_file.own(), _check_probe)], default=0))


def _check_report(name: str, *, listed: bool) -> None:
    from benchbook import published
    from benchbook.audit import report_audit
    from benchbook.audit.unused_checks import refuse_dead
    from benchbook.claims import ledger, transcription
    from benchbook.reports import planning

    if find_spec("frictionless"):
        from benchbook.published import data_package

        found = data_package.validate(name)
    else:
        found = published.load(name)
    refuse_dead(found)
    known = ledger.load(found)
    planning.check(found, known)
    rows = sum(len(table.frame) for table in found.tables.values())
    console.print(f"{name}: {counted(len(found.tables), 'table')}, {counted(rows, 'row')}, valid")
    _print_doubts(f"{name}: look again:", transcription.slips(found, known))
    audited = [one.sentence for one in report_audit.audit(found).findings if one.severity != "note"]
    said = f"{counted(len(audited), 'finding')} of the audit, misprints or slips of yours: benchbook audit {name}"
    _print_doubts(f"{name}: {said}", audited, most=10 if listed else 0)
    for file, lines in planning.placeholders(name).items():
        console.print(f"{name}: {counted(lines, 'line')} of {file} still {'says' if lines == 1 else 'say'} PLACEHOLDER")
    guesses = [
        f"{one.sure:4.0%}  {one.file} {one.key}: {one.guess}, from line {one.line}"
        + (f" “{one.printed[:80]}”" if one.printed else "")
        for one in unconfirmed(name)
    ]
    said = f"{counted(len(guesses), 'guess', 'guesses')} not confirmed, the least sure first:"
    _print_doubts(f"{name}: {said}", guesses, most=len(guesses))


def _print_doubts(said: str, doubts: Sequence[str], most: int = 10) -> None:
    more = [f"and {len(doubts) - most} more"] if len(doubts) > most > 0 else []
    for line in [said, *(f"  {doubt}" for doubt in [*doubts[:most], *more])] if doubts else []:
        console.print(line, markup=False)


def _check_probe(name: str) -> None:
    from benchbook.probes import probe_file

    console.print(f"probe {name}: {counted(len(probe_file.find(name).metrics), 'metric')}, valid")


@_command(OWN, "benchbook audit report.md --page findings.html")
def audit(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="Files, folders, URLs or - (standard input); or reports (default: all reports).",
            autocompletion=_known_reports,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Reports: exit with 1 if anything was found.")] = False,
    as_json: AsJson = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Documents: print findings as SARIF, for code scanning.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Documents: write them as HTML, with the findings in the margin."),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Documents: compare their figures with these outputs of load generators, whose paths --levels reads.",
        ),
    ] = None,
    levels: Levels = "",
) -> None:
    """Find contradictions in a document or a published report, with the arithmetic.

    Reads Markdown, HTML, text, PDF, CSV and XLSX as they are. Exit status for documents: 0 nothing found, 1 findings,
    2 not readable.
    """
    if logs:
        if page or as_sarif:
            said, fix = "--logs prints text or, with --json, JSON", "leave out --page and --sarif"
            raise BadInput(said, key="audit --logs", fix=fix)
        raise typer.Exit(_against_logs(sources or [], logs, levels, as_json=as_json))

    if not sources or all(re.fullmatch(r"\w+", source) and not Path(source).exists() for source in sources):
        from benchbook.audit import report_audit

        found = report_audit.audits(sources)
        (report_audit.show_json if as_json else report_audit.show)(found, console)
        raise typer.Exit(int(strict and any(one.findings for one in found)))
    raise typer.Exit(_audit_documents(sources, page, as_json=as_json, as_sarif=as_sarif))


def _audit_documents(sources: list[str], page: Path | None, *, as_json: bool, as_sarif: bool) -> int:
    from benchbook.documents import audit as documents
    from benchbook.documents.page import page as page_of
    from benchbook.documents.tables import reading

    status, read = 0, []
    for file in documents.files_of(sources):
        try:
            one = reading(file)
            read.append((one, documents.audit_document(one)))
        except BadInput as error:
            print(error.in_lines(), file=sys.stderr)
            status = error.exit_status
    audits = [one for _, one in read]
    if page:
        replace_text(page, "\n".join(page_of(*one) for one in read))
    if as_json or as_sarif:
        print(documents.as_sarif(audits) if as_sarif else documents.as_json(audits))
    else:
        documents.show(audits, console)
    return status or int(any(one.wrong for one in audits))


def _against_logs(documents: list[str], logs: list[str], levels: str, *, as_json: bool) -> int:
    from benchbook.documents.tables import reading
    from benchbook.importing import against_logs
    from benchbook.importing.logs import read

    if not documents:
        raise BadInput("no document is named", key="audit --logs", fix="benchbook audit REPORT.md --logs PATH")
    runs, _ = read(logs, levels, "", errors, [], shown=5)
    found = [(document, against_logs.against(reading(document), runs)) for document in documents]
    if as_json:
        print(against_logs.as_json(found))
    for document, figures in [] if as_json else found:
        against_logs.show(document, figures, console)
    return int(any(one.wrong for _, figures in found for one in figures))


@_command(RESULTS, "benchbook claims tidb_v7_1_3_sysbench --json")
def claims(names: Recorded = None, as_json: AsJson = False) -> None:
    """Judge each claim of a report from data/runs: holds, fails, open, needs a bigger machine, not run."""
    from benchbook.pipeline import judge_claims

    chosen, which = _recorded(names)
    judged: list[dict[str, object]] | None = [] if as_json else None
    status = max(_each(chosen, lambda name: judge_claims(name, which, console, judged)))
    if as_json:
        print(json.dumps(judged, indent=1, ensure_ascii=False))
    raise typer.Exit(status)


@_command(OWN, "benchbook new my_report && benchbook report my_report")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and underscores.")],
    kind: Annotated[
        str, typer.Option(help="load (the default), or versions: two versions side by side (not with --from).")
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Document (Markdown, HTML, PDF, CSV ...) to read tables, design and claims from.",
        ),
    ] = "",
    system: Annotated[str, typer.Option(help="The system that is measured (default: one that the load drives).")] = "",
    load: Annotated[str, typer.Option(help="The load generator that drives it (default: sysbench).")] = "",
) -> None:
    """Create a report of your own, with placeholder numbers or read from a document.

    With placeholders, it runs at once in the lab. What it reads from a document are guesses; `benchbook check NAME`
    lists those that you have not confirmed.
    """
    from benchbook.new import create_report

    written = create_report(name, kind, source, system, load)
    for path in written:
        console.print(f"wrote {path}", markup=False)
    guesses = unconfirmed(name) if source else []
    for guess in guesses:
        if guess.key == SYSTEM:
            said = f"{guess.guess} stands in for {guess.printed} (line {guess.line}): benchbook list shows what else"
            console.print(f"{said} there is; write it as `system` in {guess.file}", markup=False)
    if source:
        console.print(f"{counted(len(guesses), 'guess', 'guesses')} to confirm: benchbook check {name}")
    if paths.notebook(name) in written:
        console.print(f"run it: benchbook report {name}" + ("" if source else "    then replace what says PLACEHOLDER"))
    else:
        console.print("nothing here can run it yet:", markup=False)
        for guess in guesses:
            if guess.guess.startswith("not run: "):
                console.print(
                    f"  {guess.key}: {guess.guess.removeprefix('not run: ')} (line {guess.line})", markup=False
                )
        console.print(
            "give report.yaml a `design` and `restaged_by`; until then it is there to be read and audited: "
            f"benchbook audit {name}",
            markup=False,
        )


@_command(RESULTS, "benchbook compare tidb_v7_1_3_sysbench~1 tidb_v7_1_3_sysbench --subject system.version")
def compare(  # noqa: PLR0913, PLR0917 - an option each
    a: Annotated[str, typer.Argument(metavar="A", help=f"Baseline: {_ADDRESS}.", autocompletion=_known_campaigns)],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="Compared with A (default: the two latest of report A, or the systems of campaign A).",
            autocompletion=_known_campaigns,
        ),
    ] = "",
    accept: Annotated[list[str] | None, typer.Option(help="Accept this difference, or `all`; repeatable.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="Difference whose effect you compare, such as system.version; repeatable.")
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", help="Compare systems of different names, such as tidb=mariadb; repeatable."),
    ] = None,
    metric: Metrics = None,
    margin: Annotated[float, typer.Option(help="Relative difference that does not matter.")] = 0.05,
    as_json: AsJson = False,
    page: AsPage = False,
    history: Annotated[
        bool, typer.Option("--history", help="Only list the campaigns that repeat A, and how they differ.")
    ] = False,
    without: Annotated[list[str] | None, typer.Option(help="Campaign to leave out of the history; repeatable.")] = None,
    campaign_effect: Annotated[
        float,
        typer.Option(help="Relative difference assumed between campaigns of one system, until a history shows it."),
    ] = 0.02,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Run both again, in turns on the same hosts, until decided or over budget."),
    ] = False,
    budget: Budget = "30min",
) -> None:
    """Compare two campaigns.

    Exit status: 0 no regression; 1 regression; 2 bad input, or --confirm could not run them; 3 refused; 4 undecided, or
    slower while no history shows how much campaigns differ anyway.
    """
    from benchbook.compare import command
    from benchbook.compare.pair import CompareParameters

    asked = CompareParameters(
        a=a,
        b=b,
        accept=accept or [],
        subject=subject or [],
        mapping=mapping or [],
        metric=metric or [],
        margin=margin,
        without=without or [],
        campaign_effect=campaign_effect,
    )
    if history:
        raise typer.Exit(command.list_history(asked, console, as_json=as_json))
    if confirm:
        from benchbook import confirm as again
        from benchbook.campaign.run import RunInterrupted
        from benchbook.overview.lists import budget_s

        try:
            asked = again.confirm(asked, budget_s(budget), Console(stderr=True) if as_json else console)
        except RunInterrupted:
            # Its own status is that of a regression here.
            raise KeyboardInterrupt from None
    raise typer.Exit(command.run(asked, console, as_json=as_json, page=page))


@_command(RESULTS, "benchbook archive tidb_v7_1_3_sysbench --out crate.zip")
def archive(
    campaign: CampaignName,
    out: Annotated[str, typer.Option(help="Zip file to write (default: crate.zip beside the campaign's page).")] = "",
    license: Annotated[str, typer.Option(help="URL of your data's licence (default: the kit's).")] = "",
) -> None:
    """Pack a campaign for a deposit: records, tables and notebook in one zip, described as an RO-Crate."""
    with _extra("archive"):
        from benchbook import crate

    crate.archive(campaign, out, license or crate.LICENSE, console)


@_command(RESULTS, "benchbook history tidb_v7_1_3_sysbench --page")
def history(
    report: ReportName,
    inventory: Inventory = "",
    profile: Profile = "",
    metric: Metrics = None,
    as_json: AsJson = False,
    page: AsPage = False,
) -> None:
    """Show where a report's results changed from campaign to campaign, and what else changed there.

    Without options: on the inventory and with the profile of its latest campaign.
    """
    from benchbook.compare import command
    from benchbook.compare.report_history import HistoryParameters

    asked = HistoryParameters(report=report, inventory=inventory, profile=profile, metric=metric or [])
    raise typer.Exit(command.run_history(asked, console, as_json=as_json, page=page))


app.add_typer(lab_app, name="lab", rich_help_panel=RUN)


@lab_app.command("up", cls=_Command, epilog="Example: benchbook lab up lab_tidb")
def lab_up(names: Labs = None) -> None:
    """Start the hosts of labs; they run until `lab down`."""
    for name in names or _labs():
        hosts = lab.up(load_inventory(name), by_hand=True, own_network=True)
        for host in hosts:
            console.print(f"{name}: {host.name} listens at {host.address}:{host.port}")
        if any(host.enter() for host in hosts):
            console.print(
                f"{name}: it has a network of its own, which runs of this inventory reach; "
                f"`benchbook lab status {name}` prints the command that takes you inside"
            )


@lab_app.command("down", cls=_Command, epilog="Example: benchbook lab down")
def lab_down(names: Labs = None) -> None:
    """Stop the hosts of labs, and everything that runs on them."""
    for name in names or _labs():
        console.print(f"{name}: stopped {counted(lab.down(load_inventory(name)), 'host')}")


@lab_app.command("status", cls=_Command, epilog="Example: benchbook lab status lab_tidb --json")
def lab_status(names: Labs = None, as_json: AsJson = False) -> None:
    """Show which labs run, with every host of each lab that runs or that you name."""
    found = [(name, host) for name in names or _labs() for host in lab.lab_hosts(load_inventory(name))]
    if as_json:
        rows = [
            {"inventory": name, "host": host.name, "address": host.address, "port": host.port, "runs": bool(host.pid)}
            for name, host in found
        ]
        print(json.dumps(rows, indent=1))
        return
    up = {name for name, host in found if host.pid}
    for name, host in found:
        if name not in up and not names:
            continue
        state = "runs" if host.pid else "is down"
        inside = f"; to look inside: {shlex.join(way)} sh" if (way := host.enter()) else ""
        console.print(f"{name}: {host.name} {state} at {host.address}:{host.port}{inside}")
    if not names and (down := [name for name in dict.fromkeys(name for name, _ in found) if name not in up]):
        console.print(f"down: {', '.join(down)}")


def _labs() -> list[str]:
    found = []
    for name in known_inventories():
        # An inventory that is still being written keeps no other lab from being stopped.
        try:
            found += [name] if load_inventory(name).lab else []
        except BadInput as problem:
            _say("left out: ", str(problem))
    return found


def _recorded(names: list[str] | None) -> tuple[list[str], str]:
    """Return these reports, or all with records; of a campaign's address alone, its report and its id.

    Raise BadInput.
    """
    from benchbook.campaign import store
    from benchbook.compare import address
    from benchbook.pipeline import has_records

    if names and len(names) == 1 and _is_address(names[0]):
        meant = address.find(names[0])
        return [meant.report], meant.id
    known = _checked(names)
    found = names or [name for name in known if has_records(name)]
    if not found:
        sample = sorted({folder.parent.name for folder in store.recorded()})
        shown = f"; for the sample that the kit brings, name its report: {', '.join(sample)}" if sample else ""
        raise BadInput("nothing has been recorded yet", file="data/runs", fix=f"run one: benchbook report NAME{shown}")
    return found, ""


def _is_address(name: str) -> bool:
    """Return whether a name is `REPORT~1`, a campaign's id or its folder, and not a report's."""
    return "~" in name or "/" in name or name[:8].isdigit()


def _checked(names: list[str] | None) -> list[str]:
    """Return these reports, or all. Raise BadInput for the first name that is none, before any report begins."""
    from benchbook.pipeline import begun_reports, reports

    known = reports()
    # One that is there by half is refused for what it lacks, which says more.
    passed = {*known, *begun_reports()}
    for name in names or ():
        if name not in passed:
            one_of(name, known, "report", problem="unknown report")
    return names or known


def _each(names: Iterable[str], step: Callable[[str], int | None]) -> list[int]:
    """Return the exit status of each: one that is refused does not keep the others from it."""
    return [
        guard.status_of(partial(step, name), partial(_say, f"{one_line(name[:100])}: "), guard.in_lines)
        for name in names
    ]


def _asked(profile: str, inventory: str, pairs: list[str] | None) -> dict[str, object]:
    """Return what a run is asked for, by the parameters' names."""
    given: dict[str, object] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise BadInput("a parameter needs a name and a value", key="-p", value=pair, fix="write NAME=VALUE")
        if name in given:
            raise BadInput("it is given twice", key=f"-p {name}", value=value, fix="give it once")
        given[name] = _value(name, value)
    return {"profile": profile, **({"inventory": inventory} if inventory else {}), **given}


def _value(name: str, text: str) -> object:
    key, fix = f"-p {name}", "quote it, or write a list as [a, b]"
    value = yaml_text(text, key=key, fix=fix)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise BadInput(
            "not a value for a notebook", key=key, value=text, fix="write a number, a text or a list"
        ) from problem
    return "" if value is None else value


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C, whose clearing up no other of these signals breaks off: they often come together."""
    for ending in _ENDINGS:
        # Were it ignored, Python would print an error of one that has come already. What `nohup` has ignored stays so.
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda *_: None)
    for stream in (1, 2):
        # What is still to be said to a terminal that has gone goes nowhere: to write there fails. Or it is closed.
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    raise KeyboardInterrupt


def _say(head: str, text: str) -> None:
    errors.print(f"{head}{text}", style="red", markup=False)


def main() -> None:
    """The console script: an error is a message and its exit status, an interrupt is 130, a reader gone is 141."""
    say = partial(_say, "")
    guard.begin(say)
    # papermill cleans up after Ctrl-C only; a terminated run, and one whose terminal was closed, must end the same way.
    for ending in _ENDINGS:
        # `nohup` has a run stay when its terminal goes.
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, _interrupt)
    # Figures go to pages; one that matplotlib does not know would stop its import.
    os.environ.pop("MPLBACKEND", None)
    if named := os.environ.get(paths.HOME):
        # Kernels and workers stand in a folder of their own.
        os.environ[paths.HOME] = str(Path(named).absolute())
    try:
        command = partial(app, prog_name="benchbook")
        sys.exit(guard.status_of(partial(guard.writing_all, command), say, guard.in_lines))
    except SystemExit as done:
        if done.code == guard.INTERRUPTED:
            errors.print("interrupted; what was recorded stays, and the next run goes on from there")
        if guard.reader_gone(done):
            sys.exit(guard.READER_GONE)
        raise
