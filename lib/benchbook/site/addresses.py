"""Where the pages of a report stand on the site, and which of its campaigns is the one in front.

site/<report>/<campaign>/index.html   every campaign that was published, for good: page, results.json, downloads
site/<report>.html, <report>.json     the latest one that is complete; until there is one, the latest of all
site/<report>.svg, <report>.xml       its badge, and an Atom feed of the report's campaigns
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchbook.analysis import results
from benchbook.analysis.results import Results
from benchbook.errors import BadInput
from benchbook.paths import RESULTS
from benchbook.site.downloads import Download

PAGE = "index.html"
COMPARISON, HISTORY = "compare_", "history_"


@dataclass(frozen=True)
class PagePlace:
    """Where a page stands: `root` leads to the site's folder, `own` to that of its campaign, where its files are.

    `left_out`: which of them are too large to be there, in a sentence.
    """

    root: str = ""
    own: str = ""
    files: Sequence[Download] = ()
    left_out: str = ""


@dataclass(frozen=True)
class Edition:
    """A published campaign; `folder` stands below the site, `href` leads to its page from there."""

    folder: Path
    found: Results

    @property
    def href(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}/{PAGE}"


def folder_of(site: Path, found: Results) -> Path:
    """Return the folder of a campaign; a run that broke off before it had one stands under the time of its start."""
    name = found.campaign if found.campaign not in ("", "unknown") else f"{found.started:%Y%m%dT%H%M%S}-failed"
    return site / found.report / name


def editions(site: Path, report: str) -> list[Edition]:
    """All published campaigns of a report, the latest first; a folder whose results cannot be read is left out."""
    found = []
    for file in (site / report).glob(f"*/{RESULTS}"):
        try:
            found.append(Edition(file.parent, results.read(file)))
        except BadInput:
            continue
    return sorted(found, key=lambda edition: (edition.found.started, edition.folder.name), reverse=True)


def is_complete(found: Results) -> bool:
    """Return whether every trial that was planned is there, more than one of them, and the run came to its end."""
    trials = found.trials
    return not found.failed and trials.done >= trials.planned and trials.planned > 1


def becomes_front_page(found: Results, standing: Results | None) -> bool:
    """Return whether a campaign becomes the page that stands under the report's own name.

    A complete one takes the place of one that is not, never the other way round; of two complete ones, one that is no
    smoke run before one that is, one that measured at least as many tables, and then the later one.
    """
    if standing is None or found.campaign == standing.campaign:
        return True
    if not (is_complete(found) and is_complete(standing)):
        return is_complete(found) or (not is_complete(standing) and found.started >= standing.started)
    if (found.profile == "smoke") != (standing.profile == "smoke"):
        return standing.profile == "smoke"
    return _breadth(found) >= _breadth(standing) and found.started >= standing.started


def _breadth(found: Results) -> int:
    return len({row["table"] for row in found.cells if "measured" in row})


def front_page(site: Path, report: str) -> Results | None:
    """Return the results in front, if there are any that can be read."""
    try:
        return results.read(site / f"{report}.json")
    except BadInput:
        return None


def of_several(report: str) -> bool:
    """Return whether a page of this name is of several campaigns, a comparison or a history, and not of a report."""
    return report.startswith((COMPARISON, HISTORY))


def front_pages(site: Path) -> tuple[list[Results], list[str]]:
    """Return what every page in front says of itself, and the names of those whose file is broken.

    A file that cannot be read is named on the standard error, once.
    """
    known: list[Results] = []
    unread: list[str] = []
    for file in sorted(site.glob("*.json")):
        if not file.with_suffix(".html").exists():
            continue
        try:
            known.append(results.read(file))
        except BadInput as problem:
            unread.append(file.stem)
            _leave_out(file, problem.problem, problem.key)
    return known, unread


@cache
def _leave_out(file: Path, problem: str, key: str | None) -> None:
    again = "make the comparison again" if file.stem.startswith(COMPARISON) else f"`benchbook site {file.stem}`"
    said = BadInput(f"the index cannot show it: {problem}", file=file, key=key, fix=f"{again}, or remove the file")
    print(f"left out: {said}", file=sys.stderr)


def comparisons(site: Path, campaigns: list[str]) -> list[str]:
    """Pages of comparisons with one of these campaigns, by name."""
    return [
        path.name for path in sorted(site.glob(f"{COMPARISON}*.html")) if any(each in path.name for each in campaigns)
    ]


def history(site: Path, report: str) -> list[str]:
    """Return the page of the report's history by name, if there is one."""
    name = f"{HISTORY}{report}.html"
    return [name] if (site / name).exists() else []
