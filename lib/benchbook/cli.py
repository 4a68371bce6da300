"""`python -m benchbook`: everything that the Makefile's targets do.

What is more than a plain module of ours is imported by the command that needs it: only that one waits for it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from benchbook import __version__, paths
from benchbook.errors import BadInput, counted, one_line
from benchbook.given import guard
from benchbook.given.named import one_of
from benchbook.given.whole_file import replace_text

app = typer.Typer(
    help="Restage published database benchmark reports. With --debug, an error shows its stack.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
lab_app = typer.Typer(help="The local lab: one real sshd per host of an inventory, on loopback.", no_args_is_help=True)
app.add_typer(lab_app, name="lab")
import_app = typer.Typer(help="Take in what was measured elsewhere: campaigns, or logs.", no_args_is_help=True)
app.add_typer(import_app, name="import")
console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def _known_reports() -> list[str]:
    """What a shell completes a report's name from."""
    from benchbook import published

    return published.known_reports()


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Raise BadInput that says which extra brings a package that is not installed."""
    try:
        yield
    except ModuleNotFoundError as problem:
        fix = f"pip install 'benchbook[{name}]'"
        raise BadInput("this needs a package that is not installed", key=str(problem.name), fix=fix) from problem


Names = Annotated[list[str] | None, typer.Argument(help="Which; without a name, all there are.")]
Reports = Annotated[
    list[str] | None, typer.Argument(help="Which; without a name, all there are.", autocompletion=_known_reports)
]


def _version(asked: bool) -> None:
    if asked:
        console.print(f"benchbook {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it, and end.")
    ] = False,
) -> None:
    """Restage published database benchmark reports. With --debug, an error shows its stack."""


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make; the current one if not given.")] = Path(),
) -> None:
    """Lay down a project folder: notebooks, hosts and profiles to edit, a Makefile.

    Example: benchbook init bench && cd bench && benchbook report tidb_v7_1_3_sysbench
    """
    from benchbook import project

    project.lay_down(folder)
    console.print(f"{folder.absolute()} is a project folder. Next: cd {folder} && benchbook list", markup=False)


@app.command("try")
def try_(
    folder: Annotated[Path, typer.Argument(help="The project folder to make for it.")] = Path("benchbook-try"),
) -> None:
    """See in a minute what Benchbook does: audit a document, open a recorded campaign as a page. No host, no build.

    Example: benchbook try && open benchbook-try/site/index.html
    """
    from benchbook import pipeline, project
    from benchbook.audit import documents

    if not paths.is_project(folder):
        project.lay_down(folder)
    os.environ[paths.HOME] = str(folder.absolute())
    report = project.record_sample()
    console.print("[bold]1. A document is audited as it is:[/] benchbook audit example-report.md")
    documents.show(
        [audit for _, audit in documents.audit_files([str(paths.find("data", "sample", "example-report.md"))])], console
    )
    console.print("[bold]2. A recorded campaign becomes a page:[/] benchbook site")
    status = pipeline.replay_all([report], "", console)
    console.print(f"Open {paths.site_dir() / 'index.html'}", markup=False)
    console.print(f"[bold]3. Explore it:[/] cd {folder} && jupyter lab notebooks/explore.ipynb")
    raise typer.Exit(status)


@app.command("list")
def list_() -> None:
    """List reports, systems, load generators, inventories and profiles."""
    from benchbook.overview import catalogue

    catalogue.print_all(console)


@app.command()
def runs(names: Reports = None) -> None:
    """List the campaigns that were run here, the latest first."""
    from benchbook.overview import run_list

    _check_names(names or [])
    run_list.print_runs(names or [], console)


@app.command()
def doctor() -> None:
    """Say what is missing on this machine, and what it has. Exit status: 1 when something is missing."""
    from benchbook.overview import doctor as examination

    raise typer.Exit(examination.print_all(console))


@app.command()
def report(
    names: Reports = None,
    profile: Annotated[str, typer.Option(help="How big and how long: a name in env/profiles, or a file.")] = "smoke",
    inventory: Annotated[str, typer.Option(help="Where: a name in env/hosts, or a file.")] = "",
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="A notebook parameter, NAME=VALUE (YAML); repeatable.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="A workload or option of a report that its load generator does not know; repeatable."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for hosts that another driver uses; else refuse.")] = False,
) -> None:
    """Run reports from building to their pages in site/. Exit status: 0 well, 1 failed trials, 2 bad input."""
    from benchbook.pipeline import check_asked, reports, run_report

    _check_names(names or [])
    said: dict[str, object] = {"profile": profile, **({"inventory": inventory} if inventory else {})}
    said.update({"allow": allow} if allow else {})
    said.update(_parameters(parameter or []))
    early: dict[str, int] = {}
    if len(chosen := names or reports()) > 1:
        # What cannot run is said before the others take their minutes.
        early.update(zip(chosen, _each(chosen, lambda name: check_asked(name, said)), strict=True))
    raise typer.Exit(max(_each(chosen, lambda name: early.get(name) or run_report(name, said, console, wait=wait))))


@app.command()
def plan(
    name: Annotated[str, typer.Argument(help="Which report.", autocompletion=_known_reports)],
    inventory: Annotated[str, typer.Option(help="Where: a name in env/hosts, or a file.")] = "",
    profile: Annotated[str, typer.Option(help="How big and how long: a name in env/profiles, or a file.")] = "smoke",
    budget: Annotated[str, typer.Option(help="Wall time to spend, as 30min or 2h: which claims it decides best.")] = "",
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="A notebook parameter, NAME=VALUE (YAML); repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON.")] = False,
) -> None:
    """Say before a run what these hosts can say of each claim, what deciding it takes, and how long the run is.

    Hosts are asked for their cores; nothing runs on them. Example: benchbook plan tidb_v7_1_3_sysbench --budget 30min
    """
    from benchbook.overview import plan_list

    _check_names([name])
    said: dict[str, object] = {"profile": profile, **({"inventory": inventory} if inventory else {})}
    made = plan_list.forecast(name, {**said, **_parameters(parameter or [])}, budget)
    if as_json:
        print(made.model_dump_json(indent=1))
    else:
        plan_list.show(name, made, console)


@app.command()
def batch(
    plan: Annotated[str, typer.Argument(help="A YAML file: reports, inventories, profiles, parameters, exclude.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells with their forecast machine time, and end.")
    ] = False,
    scheduler: Annotated[
        str,
        typer.Option(
            help="Where workers run: ssh://INVENTORY (on each of its hosts), slurm://PARTITION (jobs of Slurm), or "
            "tcp://HOST:8786 (a Dask cluster that is there); without, processes of this machine."
        ),
    ] = "",
    workers: Annotated[
        int,
        typer.Option(min=0, help="Processes of this machine, or jobs of Slurm; 0: one for each inventory of the plan."),
    ] = 0,
) -> None:
    """Run many reports on many hosts, one at a time on an inventory. Exit status: the worst of all, 130 for Ctrl-C."""
    with _extra("batch"):
        from benchbook.batch import command

    raise typer.Exit(command.run(plan, console, dry=dry_run, scheduler=scheduler, workers=workers))


@app.command()
def site(
    names: Reports = None,
    campaign: Annotated[str, typer.Option(help="An address as for `compare`; without, the latest.")] = "",
) -> None:
    """Rebuild pages and figures from data/runs, side by side; no host is needed."""
    from benchbook.pipeline import replay_all

    raise typer.Exit(replay_all(*_recorded(names, campaign), console))


@app.command()
def publish(
    campaign: Annotated[
        str,
        typer.Argument(help="REPORT, REPORT~1 (the one before), an id; without, the latest campaign of every report."),
    ] = "",
) -> None:
    """Put measured campaigns into public/, which the Pages workflow deploys; nothing is run again."""
    from benchbook.pipeline import publish_campaigns

    raise typer.Exit(publish_campaigns(campaign, console))


@import_app.command("campaign")
def import_campaign(
    source: Annotated[str, typer.Argument(help="A campaign's folder, data/runs, a checkout; or HOST:PATH.")],
    inventory: Annotated[str, typer.Option(help="The inventory that HOST is in: a name in env/hosts, or a file.")] = "",
) -> None:
    """Take campaigns of another machine or checkout into data/runs, checked. Exit status: 2 when one is refused."""
    from benchbook.importing import import_command

    raise typer.Exit(import_command.run(source, inventory, console))


@import_app.command("logs")
def import_logs(
    paths_: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, or folders with all below them.")],
    levels: Annotated[
        str,
        typer.Option(
            help="Where levels stand in a path, as '{workload}/{threads}-{repetition}.txt' (* for the rest); "
            "or a CSV with a column `file` and one per level."
        ),
    ] = "",
    system: Annotated[
        str, typer.Option(help="What was measured, NAME:VERSION; {system} in --levels goes before.")
    ] = "",
    name: Annotated[str, typer.Option(help="Of the report that they become; without, logs_ and the folder's.")] = "",
) -> None:
    """Take what load generators printed, as a campaign: sysbench, pgbench, go-tpc, YCSB, redis-benchmark, wrk, fio, ...

    They are told by what is in them. Exit status: 2 when one was left out.

    Example: benchbook import logs results/ --levels '{workload}/{threads}-{repetition}.txt' --system mysql:8.0.36
    """
    from benchbook.importing import logs

    raise typer.Exit(logs.run(paths_, levels, system, name, console))


@app.command()
def cite(
    files: Annotated[list[Path], typer.Argument(help="Markdown, HTML, LaTeX: any text with bound figures.")],
    check_: Annotated[
        bool, typer.Option("--check", help="Only check, which is what it does without --update.")
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was measured where something else stands.")
    ] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was cited, of which records, as JSON.")] = None,
    badge: Annotated[Path | None, typer.Option(help="Write a badge as SVG.")] = None,
) -> None:
    """Hold figures in documents against the campaigns that they are bound to. Exit status: 1 when one differs.

    A figure: <!-- bb: REPORT@CAMPAIGN cell tps workload=oltp_insert threads=100 -->9,101<!-- /bb -->

    Example: benchbook cite README.md docs/*.md --check
    """
    from benchbook import cite as citing

    if check_ and update:
        raise BadInput("both at once", key="--check", value="--update", fix="give one of them")
    raise typer.Exit(citing.run(files, console, update=update, receipt=receipt, badge=badge))


@app.command()
def build(names: Names = None) -> None:
    """Build systems from source into the cache, once per version."""
    from benchbook.build import artefacts

    for name in names or artefacts.names():
        artefacts.provide(name, console.print)


@app.command()
def check(
    names: Reports = None,
) -> None:
    """Check published tables, claims and your probes: shape, types, units, that every declaration is used.

    A report that is restaged must also name a kind, workloads and options that the kit knows. Exit status: 2 when one
    is refused; the others are checked all the same.
    """
    from benchbook import published
    from benchbook.probes import probe_file

    reports = {name: partial(_check_report, name) for name in names or published.known_reports()}
    probes = {name: partial(_check_probe, name) for name in probe_file.own()}
    raise typer.Exit(
        max((_guarded(name, step) for each in (reports, probes) for name, step in each.items()), default=0)
    )


def _check_report(name: str) -> int:
    from benchbook import draft, published
    from benchbook.audit.dead_declarations import refuse_dead
    from benchbook.claims import ledger
    from benchbook.reports import runnable

    found = published.validate(name)
    refuse_dead(found)
    runnable.check(found, ledger.load(found))
    rows = sum(len(table.frame) for table in found.tables.values())
    console.print(f"{name}: {counted(len(found.tables), 'table')}, {counted(rows, 'row')}, valid")
    for file, lines in runnable.placeholders(name).items():
        console.print(f"{name}: {counted(lines, 'line')} of {file} still {'says' if lines == 1 else 'say'} PLACEHOLDER")
    guesses = draft.unconfirmed(name)
    if guesses:
        console.print(f"{name}: {counted(len(guesses), 'guess', 'guesses')} not confirmed, the least sure first:")
    for guess in guesses:
        said = f"  {guess.sure:4.0%}  {guess.file} {guess.key}: {guess.guess}, from line {guess.line}"
        console.print(
            said + (f" “{guess.printed[:80]}”" if guess.printed else ""), markup=False, highlight=False, soft_wrap=True
        )
    return 0


def _check_probe(name: str) -> int:
    from benchbook.probes import probe_file

    console.print(f"probe {name}: {counted(len(probe_file.find(name).metrics), 'metric')}, valid")
    return 0


@app.command()
def audit(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, addresses, - for standard input; or names of reports."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Of named reports: exit with 1 if anything was found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Of a document: print findings as SARIF, for code hosts.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Of a document: write it with its findings in the margin, as HTML.")
    ] = None,
) -> None:
    """Find what contradicts itself in a document, or in a published report, with the arithmetic.

    A document is read as it is: Markdown, HTML, text, PDF, CSV, XLSX. Its exit status: 0 nothing found, 1 findings,
    2 not readable.
    """
    from benchbook.audit import audit_terminal, document_page, documents

    if not sources or all(re.fullmatch(r"\w+", source) and not Path(source).exists() for source in sources):
        found = audit_terminal.audits(sources)
        (audit_terminal.show_json if as_json else audit_terminal.show)(found, console)
        raise typer.Exit(1 if strict and any(one.findings for one in found) else 0)
    status, read = 0, []
    for source in sources:
        try:
            read += documents.audit_files([source])
        except BadInput as error:
            print(error, file=sys.stderr)
            status = error.exit_status
    audits = [one for _, one in read]
    if page:
        replace_text(page, "\n".join(document_page.page(*one) for one in read))
    if as_json or as_sarif:
        print(documents.as_sarif(audits) if as_sarif else documents.as_json(audits))
    else:
        documents.show(audits, console)
    raise typer.Exit(status or int(any(one.wrong for one in audits)))


@app.command()
def claims(
    names: Reports = None,
    campaign: Annotated[str, typer.Option(help="An address as for `compare`; without, the latest.")] = "",
) -> None:
    """Say claim by claim whether what was published holds, from data/runs; no host is needed."""
    from benchbook.pipeline import judge_claims

    chosen, which = _recorded(names, campaign)
    raise typer.Exit(max(_each(chosen, lambda name: judge_claims(name, which, console))))


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Of your report: small letters, digits, underscores.")],
    kind: Annotated[
        str, typer.Option(help="sysbench, or versions: two versions of a system side by side.")
    ] = "sysbench",
    source: Annotated[
        str,
        typer.Option(
            "--from", help="A document: Markdown, HTML, PDF, CSV ...; tables, design and claims are read from it."
        ),
    ] = "",
) -> None:
    """Lay down a report of your own: of placeholder numbers, or read from a document. It runs at once in the lab.

    What was read from a document is guessed; `benchbook check NAME` lists what nobody has confirmed.
    """
    from benchbook import draft, paths
    from benchbook.new import lay_down

    written = lay_down(name, kind, source)
    for path in written:
        console.print(f"wrote {path}", markup=False)
    runs = paths.notebook(name) in written
    if source:
        console.print(f"{counted(len(draft.unconfirmed(name)), 'guess', 'guesses')} to confirm: benchbook check {name}")
    if runs:
        console.print(
            f"run it: make report REPORT={name}" + ("" if source else "    then replace what says PLACEHOLDER")
        )
    else:
        console.print(
            "nothing here can run it yet: no command of sysbench, pgbench or go-tpc was found for a table of "
            "threads and throughput. Give report.yaml a `design` and `restaged_by`; until then it is there to be read "
            f"and audited: benchbook audit {name}"
        )


@app.command()
def compare(  # noqa: PLR0913, PLR0917 - an option each
    a: Annotated[str, typer.Argument(help="The baseline: REPORT, REPORT~1 (one before its latest), an id, a folder.")],
    b: Annotated[
        str,
        typer.Argument(
            help="What is held against it; without, the two latest of the report A, or the systems of campaign A."
        ),
    ] = "",
    accept: Annotated[list[str] | None, typer.Option(help="A difference to accept, or `all`; repeatable.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="A difference that is the point, as system.version; repeatable.")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="Systems of two names, as tidb=mariadb; repeatable.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Without, the metrics of the published tables; repeatable.")
    ] = None,
    margin: Annotated[float, typer.Option(help="The share within which a difference does not matter.")] = 0.05,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    page: Annotated[bool, typer.Option(help="Make its page in site/, too.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Only list the campaigns that repeat A, and what they differ by.")
    ] = False,
    without: Annotated[list[str] | None, typer.Option(help="A campaign that is no history; repeatable.")] = None,
) -> None:
    """Hold one campaign against another.

    Exit status: 0 no regression, 1 regression, 2 bad input, 3 refused, 4 undecided, or slower without a history that
    tells it from what campaigns differ by anyway.
    """
    from benchbook.compare import command
    from benchbook.compare.request import CompareParameters

    asked = CompareParameters(
        a=a,
        b=b,
        accept=accept or [],
        subject=subject or [],
        mapping=mapping or [],
        metric=metric or [],
        margin=margin,
        without=without or [],
    )
    if history:
        raise typer.Exit(command.list_history(asked, console, as_json=json_))
    raise typer.Exit(command.run(asked, console, as_json=json_, page=page))


@app.command()
def archive(
    campaign: Annotated[str, typer.Argument(help="REPORT (its latest), REPORT~1 (the one before), an id, a folder.")],
    out: Annotated[str, typer.Option(help="The zip; without, crate.zip beside the campaign's page in site/.")] = "",
    license: Annotated[str, typer.Option(help="The address of the licence of your data; else the kit's own.")] = "",
) -> None:
    """Pack a campaign for a deposit: records, tables and notebook as one zip, described as an RO-Crate."""
    with _extra("archive"):
        from benchbook.deposit import archive_command

    archive_command.run(campaign, out, license or archive_command.LICENSE, console)


@app.command()
def history(
    report: Annotated[str, typer.Argument(help="Whose campaigns.", autocompletion=_known_reports)],
    inventory: Annotated[str, typer.Option(help="Where they ran; without, where the latest did.")] = "",
    profile: Annotated[str, typer.Option(help="How big and how long; without, as the latest.")] = "",
    metric: Annotated[
        list[str] | None, typer.Option(help="Without, the metrics of the published tables; repeatable.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    page: Annotated[bool, typer.Option(help="Make its page in site/, too.")] = False,
) -> None:
    """Say where the level of a report's cells changed from campaign to campaign, and what had changed there."""
    from benchbook.compare import history_command
    from benchbook.compare.report_history import HistoryParameters

    asked = HistoryParameters(report=report, inventory=inventory, profile=profile, metric=metric or [])
    raise typer.Exit(history_command.run(asked, console, as_json=json_, page=page))


@lab_app.command("up")
def lab_up(names: Names = None) -> None:
    """Start the lab's hosts; they stay until `lab down`."""
    from benchbook.hosts import lab
    from benchbook.hosts.inventory import load_inventory

    for name in names or _labs():
        inventory = load_inventory(name)
        for host in lab.up(inventory, by_hand=True, own_network=True):
            console.print(f"{name}: {host.name} listens at {host.address}:{host.port}")


@lab_app.command("down")
def lab_down(names: Names = None) -> None:
    """Stop the lab's hosts and all that runs on them."""
    from benchbook.hosts import lab
    from benchbook.hosts.inventory import load_inventory

    for name in names or _labs():
        console.print(f"{name}: stopped {counted(lab.down(load_inventory(name)), 'host')}")


@lab_app.command("status")
def lab_status(names: Names = None) -> None:
    """Say which of the lab's hosts run."""
    from benchbook.hosts import lab
    from benchbook.hosts.inventory import load_inventory

    for name in names or _labs():
        for host in lab.lab_hosts(load_inventory(name)):
            state = "runs" if host.pid else "is down"
            inside = f"; to look inside: {shlex.join(way)} sh" if (way := host.enter()) else ""
            console.print(f"{name}: {host.name} {state} at {host.address}:{host.port}{inside}")


def _labs() -> list[str]:
    from benchbook.hosts.inventory import known_inventories, load_inventory

    found = []
    for name in known_inventories():
        # One that somebody is still writing keeps no lab from being stopped.
        try:
            found += [name] if load_inventory(name).lab else []
        except BadInput as problem:
            _say("left out: ", str(problem))
    return found


def _recorded(names: list[str] | None, campaign: str) -> tuple[list[str], str]:
    """The reports that are named, else the one of this campaign, else all that have records; and the campaign's id.

    `campaign` is an address as `compare` takes it, and so may be a name that stands alone. Raises BadInput.
    """
    from benchbook.compare import address
    from benchbook.pipeline import has_records, reports

    if names and len(names) == 1 and not campaign and _is_address(names[0]):
        campaign, names = names[0], None
    _check_names(names or [])
    if campaign:
        meant = address.find(campaign)
        return names or [meant.report], meant.id
    found = names or [name for name in reports() if has_records(name)]
    if not found:
        raise BadInput("nothing has been recorded yet", file="data/runs", fix="run `make report` first")
    return found, ""


def _is_address(name: str) -> bool:
    """Whether a name is `REPORT~1`, a campaign's id or its folder, and not a report's."""
    return "~" in name or "/" in name or name[:8].isdigit()


def _check_names(names: list[str]) -> None:
    """Raises BadInput for the first name that is no report: before the first report begins, not after it."""
    from benchbook.pipeline import begun_reports, reports

    known = reports()
    # One that is there by half is refused for what it lacks, which says more.
    passed = {*known, *begun_reports()}
    for name in names:
        if name not in passed:
            one_of(name, known, "report", problem="unknown report")


def _each(names: list[str] | None, step: Callable[[str], int]) -> list[int]:
    """Every report is tried: one that cannot run must not keep the others from it."""
    from benchbook.pipeline import reports

    found = names or reports()
    if not found:
        fix = "run it in a checkout, or let BENCHBOOK_HOME name one"
        raise BadInput("there is no report here", file="data/published", key="report", value=found, fix=fix)
    return [_guarded(name, partial(step, name)) for name in found]


def _guarded(name: str, step: Callable[[], int]) -> int:
    return guard.status_of(step, partial(_say, f"{one_line(name[:100])}: "))


def _parameters(pairs: list[str]) -> dict[str, object]:
    said: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise BadInput("a parameter needs a name and a value", key="-p", value=pair, fix="write NAME=VALUE")
        if name in said:
            raise BadInput("it is given twice", key=f"-p {name}", value=value, fix="give it once")
        said[name] = _value(name, value)
    return said


def _value(name: str, text: str) -> object:
    from benchbook.given.document import yaml_text

    key, fix = f"-p {name}", "quote it, or write a list as [a, b]"
    value = yaml_text(text, key=key, fix=fix)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise BadInput("not a value for a notebook", key=key, value=text, fix=fix) from problem
    return "" if value is None else value


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(head: str, text: str) -> None:
    errors.print(f"{head}{text}", style="red", markup=False)


def main() -> None:
    """The console script: an error is one paragraph and its exit status, an interrupt is 130, a reader gone is 141."""
    say = partial(_say, "")
    guard.begin(say)
    # papermill cleans up after Ctrl-C only; a terminated run must end the same way.
    signal.signal(signal.SIGTERM, _interrupt)
    # Figures go to pages; one that matplotlib does not know would stop its import.
    os.environ.pop("MPLBACKEND", None)
    if named := os.environ.get(paths.HOME):
        # Kernels and workers stand in a folder of their own.
        os.environ[paths.HOME] = str(Path(named).absolute())
    try:
        sys.exit(guard.status_of(partial(app, prog_name="benchbook"), say))
    except SystemExit as done:
        if done.code == guard.INTERRUPTED:
            errors.print("interrupted; what was recorded stays, and the next run goes on from there")
        if guard.reader_gone(done):
            sys.exit(guard.READER_GONE)
        raise
