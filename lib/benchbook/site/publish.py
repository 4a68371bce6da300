"""The published site: a self-contained page per campaign with its downloads, one of them in front, and an index.

A page loads nothing: style and script are inline, pictures are data, and a content security policy makes the browser
refuse whatever a notebook's output might still ask for.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbformat import NotebookNode

from benchbook.analysis import results
from benchbook.analysis.results import Results, Trials
from benchbook.campaign.origin import of_this_checkout
from benchbook.campaign.progress import duration
from benchbook.campaign.store import Campaign
from benchbook.claims import section
from benchbook.errors import BadInput, BenchbookError, writing
from benchbook.paths import RESULTS
from benchbook.site import addresses, downloads, other_runs, page, summary
from benchbook.site.addresses import PagePlace
from benchbook.user_input.atomic_file import folder_lock, replace_text

LIMIT, MOST = 3_000_000, 8_000_000
"""What a page should weigh at most, in bytes: what a phone on a train still opens; and what it may weigh at all."""


class PageTooLarge(BenchbookError):
    """A page exceeds MOST; names the outputs that weigh most."""


def publish(report: str, executed_notebook: Path, results_path: Path | None, site: Path) -> Path:
    """Put one campaign's page, results and downloads on the site, and rebuild the index; returns the page's path.

    It stands at `<report>/<campaign>/`, and at `<report>.html` too where it is the one in front (`addresses`): then
    that path is returned. `results_path` is None, or names no file, when the run broke off before it had results: then
    the page shows how it failed, beside minimal results. Raise PageTooLarge, or BadInput for results that do not fit.
    """
    notebook = page.load(executed_notebook)
    folder = results_path.parent if results_path else None
    recorded = Campaign(folder) if folder and (folder / "plan.json").is_file() else None
    known = results.read(results_path) if results_path and results_path.exists() else None
    built = page.build(notebook, other_runs.beside(known, addresses.editions(site, report)) if known else "")
    found = known or _without_results(report, executed_notebook, notebook, built, results_path)
    found = found.model_copy(update={"failed": built.failure.text if built.failure else None})
    if recorded:
        # A run that broke off before it had results does not know its campaign, nor what that has measured.
        so_far = {"profile": recorded.profile, "inventory": recorded.inventory, "trials": results.counted(recorded)}
        found = found.model_copy(update={"campaign": recorded.id, **({} if known else so_far)})
    with _alone(site):
        if addresses.of_several(report):
            target = _write_page(notebook, built, found, site / f"{report}.html")
            results.write(found, site / f"{report}.json")
        else:
            downloads.write(recorded, found, executed_notebook, addresses.folder_of(site, found))
            target = _write_editions(notebook, built, found, site)
        write_index(site)
    return target


@contextmanager
def _alone(site: Path) -> Iterator[None]:
    """Runs come to their ends side by side: what stands in front, and the index, is changed by one at a time."""
    with writing(site):
        site.mkdir(parents=True, exist_ok=True)
    with folder_lock(site):
        yield


def _write_editions(notebook: NotebookNode, built: page.Page, found: Results, site: Path) -> Path:
    """Write the campaign's page, and the same under the report's own name unless one that is worth more stands there.

    Return the path of the one in front.
    """
    folder = addresses.folder_of(site, found)
    results.write(found, folder / RESULTS)
    files, left_out = downloads.there(folder), downloads.left_out(folder)
    place = PagePlace(root="../../", files=files, left_out=left_out)
    target = _write_page(notebook, built, found, folder / addresses.PAGE, place)
    if addresses.becomes_front_page(found, addresses.front_page(site, found.report)):
        place = PagePlace(own=f"{folder.relative_to(site)}/", files=files, left_out=left_out)
        target = _write_page(notebook, built, found, site / f"{found.report}.html", place)
        results.write(found, site / f"{found.report}.json")
    return target


def write_index(site: Path) -> Path:
    """Write `index.html` over every report of the site that has its JSON and its page, by name; and the glossary.

    A report has a badge (<report>.svg) and a feed of its campaigns (<report>.xml).

    A report whose JSON cannot be read costs no other one: the index leads to its page, and it is named.
    """
    fronts, unread = addresses.front_pages(site)
    reports = [found for found in fronts if not addresses.of_several(found.report)]
    others = {found.report: _others(site, found) for found in reports}
    template = _environment().get_template("index.html.j2")
    listed = {href for links in others.values() for href, _ in links}
    html = template.render(
        reports=reports,
        unread=unread,
        others=others,
        # Every page is reached from the index, that of a comparison too whose report has no page here.
        several=[found for found in fronts if found not in reports and f"{found.report}.html" not in listed],
        now=datetime.now(UTC),
    )
    replace_text(site / "glossary.html", rendered("glossary.html.j2"))
    for front in reports:
        campaigns = [each.found for each in addresses.editions(site, front.report)]
        said, look = summary.in_a_badge(front), summary.badge(front).look
        replace_text(site / f"{front.report}.svg", rendered("badge.svg.j2", said=said, look=look))
        replace_text(site / f"{front.report}.xml", rendered("feed.xml.j2", front=front, editions=campaigns))
    return replace_text(site / "index.html", html)


def _others(site: Path, front: Results) -> list[tuple[str, str]]:
    """(address, words) of the report's other campaigns, the latest first, of comparisons with any, of its history."""
    known = addresses.editions(site, front.report)
    runs = [(each.href, each.found) for each in known if each.found.campaign != front.campaign]
    said = [(href, f"{_day(r.started)}, {r.profile}: {summary.badge(r).text}") for href, r in runs]
    compared = addresses.comparisons(site, [each.found.campaign for each in known])
    over_time = addresses.history(site, front.report)
    return [
        *said,
        *((name, "a comparison of two runs") for name in compared),
        *((name, "its runs over time") for name in over_time),
    ]


def rendered(template: str, **values: object) -> str:
    """Return a page of the site from one of its templates, in its style."""
    return _environment().get_template(template).render(**values)


def _write_page(
    notebook: NotebookNode, built: page.Page, found: Results, out: Path, place: PagePlace | None = None
) -> Path:
    html = _page_html(built, found, place)
    if (size := len(html.encode())) <= LIMIT:
        return replace_text(out, html)
    outputs = [
        (len(json.dumps(cell.get("outputs", []))), f"cell [{cell.get('execution_count') or ' '}] `{_last_line(cell)}`")
        for cell in notebook.cells
    ]
    heaviest = [f"{weight / 1e6:.2f} MB of {cell}" for weight, cell in sorted(outputs, reverse=True)[:3]]
    biggest = f"Its biggest outputs: {'; '.join(heaviest)}."
    if size > MOST:
        raise PageTooLarge(
            f"{out.name} would be {size / 1e6:.1f} MB, over the {MOST / 1e6:.1f} MB that a page may have. {biggest}"
        )
    print(f"benchbook: {out.name} is {size / 1e6:.1f} MB, which takes long to open on a phone. {biggest}")
    return replace_text(out, html)


def _last_line(cell: NotebookNode) -> str:
    return str(cell.source).strip().rpartition("\n")[2][:60]


def _page_html(built: page.Page, found: Results, place: PagePlace | None) -> str:
    template = _environment().get_template("page.html.j2")
    # Files stand in the campaign's own folder, wherever the page does.
    own = place.own if place else ""
    root, runs = place.root if place else "", f"{found.report}/"
    body = built.body.replace('href="figures/', f'href="{own}figures/')
    body = body.replace(f'href="./{runs}', f'href="{root}{runs}')
    built = replace(built, body=body)
    alone = place is None
    run_on = found.started.date().isoformat()
    cited = results.bibtex(found.report, found.title, found.campaign, found.trials.done, run_on, found.setting)
    return template.render(
        page=built, results=found, place=place or PagePlace(), alone=alone, origin=of_this_checkout(), bibtex=cited
    )


def _without_results(
    report: str, path: Path, notebook: NotebookNode, built: page.Page, results_path: Path | None
) -> Results:
    """Return what is known of a run that broke off early: papermill's own notes on its parameters and times.

    Raise BadInput for a run that ended well.
    """
    if built.failure is None:
        fix = f"let its last cell write {results_path or 'the results'}"
        raise BadInput("the notebook ran to its end but left no results", file=path, fix=fix)
    noted = notebook.metadata.get("papermill", {})
    given = noted.get("parameters", {})
    now = datetime.now(UTC).isoformat()
    return results.parse(
        {
            "report": report,
            "title": built.title or report,
            **{key: str(given.get(key) or "unknown") for key in ("profile", "inventory", "campaign")},
            "started": noted.get("start_time") or now,
            "finished": noted.get("end_time") or now,
            "trials": Trials(planned=0, done=0, failed=0),
        }
    )


@cache
def _environment() -> Environment:
    """Kept: a template that is compiled anew for each page takes longer than to fill it in."""
    environment = Environment(
        loader=FileSystemLoader(page.TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(day=_day, clock=_clock, spent=_spent)
    environment.globals.update(asset=_asset, policy=_policy, states=_states)
    said = (summary.headline, summary.badge, summary.trust)
    environment.globals.update({each.__name__: each for each in said})
    return environment


def _asset(name: str) -> str:
    return (page.TEMPLATES / name).read_text(encoding="utf-8")


def _policy() -> str:
    """A content security policy under which the page's own style and script work and nothing can be requested."""
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M} UTC"


def _spent(found: Results) -> str:
    """Wall time of the run, in words; empty while it is not known.

    From the first trial to the last, without what prepares them, where no more is recorded.
    """
    if found.machine_time and found.machine_time.wall_s:
        return duration(found.machine_time.wall_s)
    return duration((found.finished - found.started).total_seconds()) if found.finished else ""


def _states(found: Results) -> list[tuple[str, int, str]]:
    """Return (what the claims in a state do, how many, look), for a bar."""
    known = Counter(claim.verdict for claim in found.claims)
    return [
        (state if known[state] == 1 else section.PLURAL.get(state, state), known[state], section.LOOKS[state][1])
        for state in section.STATES
        if state in known
    ]
