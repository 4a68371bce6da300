"""An executed notebook as one clean piece of HTML: asks for nothing from anywhere, and reads well on a phone.

nbconvert turns cells into HTML (templates/benchbook); the functions of `_STEPS` then work on the tree,
one concern each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from traitlets.config import Config

from benchbook.site.executed_notebook import NotebookError, failure
from benchbook.site.page_pictures import mark_tall, slim, smaller

TEMPLATES = Path(__file__).parent / "templates"

# Elements that load, run or send something; whatever they say, a published page has no use for them.
_BANNED = ["script", "style", "link", "meta", "base", "iframe", "frame", "object", "embed", "applet"]
_BANNED += [
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "audio",
    "video",
    "source",
    "track",
    "template",
    "noscript",
]
_LOADING = {"src", "srcset", "href", "xlink:href", "poster", "data", "background", "action", "formaction", "ping"}
_INERT = re.compile(r"^\s*(data:image/|#)", re.IGNORECASE)
_LINK = re.compile(r"^\s*(https?:|mailto:|#|[\w./-]+(#.*)?$)", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:[-+−]?[\d,.]+(e[-+]?\d+)?%?(\s?\[[^\]]*\])?|nan|–|-|inf)?$", re.IGNORECASE)
# `url(#name)` points into the page itself; a backslash could spell any of the other words.
_URL = re.compile(r"url\s*\((?![\s'\"]*#)", re.IGNORECASE)
_CSS_LOAD = re.compile(rf"{_URL.pattern}|@import|image-set|expression\s*\(|\\", re.IGNORECASE)
# Tags of a cell become a class of its section.
BEST = ".tag-best-figure"
_PROSE = {"alt", "title", "aria-label"}


@dataclass(frozen=True)
class Heading:
    """An entry of the contents: level 2 or 3, the anchor in the page, the text."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """The notebook as HTML, its headings in order, its title (first level-1 heading) and what ended it, if anything.

    `best` is the figure that stands at the top: of the cell with the tag `best-figure`, else the first one of the body.
    """

    body: str
    headings: list[Heading]
    title: str | None
    failure: NotebookError | None
    best: str = ""


def build(notebook: NotebookNode) -> Page:
    """Turn an executed notebook into a page body that has no script, no style sheet and loads nothing."""
    soup = BeautifulSoup(_export(notebook), "html.parser")
    title = _take_title(soup)
    for step in _STEPS:
        step(soup)
    best = _take_best(soup)
    headings = _headings(soup)  # before the tree becomes text: it sets the anchors
    return Page(str(soup), headings, title, failure(notebook), best)


def with_pictures_at(page: Page, share: float) -> Page:
    """The page with its pictures at this share of their size."""
    if share == 1.0:
        return page
    return replace(page, body=smaller(page.body, share), best=smaller(page.best, share))


def _export(notebook: NotebookNode) -> str:
    html, _ = _exporter().from_notebook_node(notebook)
    return str(html)


@cache
def _exporter() -> HTMLExporter:
    """Kept, with its templates: compiled anew for each notebook they take a quarter of what its page takes."""
    # papermill marks a failed notebook with red banners of its own; the page has a better place for both.
    dropped = {"papermill-error-cell-tag", "remove-cell"}
    tag_remover = {"enabled": True, "remove_cell_tags": dropped, "remove_input_tags": {"remove-input"}}
    exporter = HTMLExporter(
        config=Config(TagRemovePreprocessor=tag_remover, CoalesceStreamsPreprocessor={"enabled": True}),
        extra_template_basedirs=[str(TEMPLATES)],
        template_name="benchbook",
        exclude_anchor_links=True,
        embed_images=True,
    )
    # Widgets need a script each; every widget also leaves its text, which is what a page can show.
    pictures = ["image/svg+xml", "image/png", "image/jpeg"]
    exporter.config.NbConvertBase.display_data_priority = ["text/html", "text/markdown", *pictures, "text/plain"]
    return exporter


def _take_title(soup: BeautifulSoup) -> str | None:
    """Remove the notebook's title, which the page's header shows, and return its text."""
    first = soup.find("h1")
    if first is None:
        return None
    text = _text(first)
    first.decompose()
    return text


def _join_captions(soup: BeautifulSoup) -> None:
    """A picture's caption, which a notebook holds as an output after it, becomes part of its figure."""
    for caption in soup.select("figure.picture + .rich > .bb-caption:first-child"):
        output = caption.parent
        figure = output.find_previous_sibling("figure") if output else None
        if output is None or figure is None:
            continue
        caption.name, caption.attrs = "figcaption", {}
        figure.append(caption.extract())
        if not output.find(True):
            output.decompose()


def _take_best(soup: BeautifulSoup) -> str:
    """Take the report's main figure out of the body, where a link to it stays; empty where there is no figure."""
    figure = soup.select_one(f"{BEST} :is(figure.bb-figure, .picture)") or soup.select_one("figure.bb-figure, .picture")
    if figure is None:
        return ""
    link = soup.new_tag("p", attrs={"class": "note moved"})
    link.append(soup.new_tag("a", string="This figure stands at the top of the page.", attrs={"href": "#best"}))
    figure.replace_with(link)
    figure["id"] = "best"
    return str(figure)


def _drop_claims(soup: BeautifulSoup) -> None:
    """The page shows every claim at its top; the notebook's own view of the same would be a second one."""
    for view in soup.select(".bb-claims"):
        link = soup.new_tag("p", attrs={"class": "note moved"})
        link.append(
            soup.new_tag("a", string="The claims stand at the top of the page.", attrs={"href": "#claims-title"})
        )
        view.replace_with(link)


def _drop_banned(soup: BeautifulSoup) -> None:
    for element in soup.find_all(_BANNED):
        element.decompose()


def _drop_loading(soup: BeautifulSoup) -> None:
    """Unset every attribute that would fetch or run something; an image without its source leaves its description."""
    for element in soup.find_all(True):
        for name in list(element.attrs):
            if _fetches(element, name):
                del element[name]
        if element.name in ("img", "image") and not (element.get("src") or element.get("href")):
            element.replace_with(f"[image not included: {element.get('alt') or 'no description'}]")


def _fetches(element: Tag, name: str) -> bool:
    value = str(element[name])
    if name.lower().startswith("on"):
        return True
    if name == "style":
        return bool(_CSS_LOAD.search(value))
    if name not in _PROSE and _URL.search(value):
        return True
    if element.name == "a" and name == "href":
        return not _LINK.match(value)
    return name.lower() in _LOADING and not _INERT.match(value)


def _lower_headings(soup: BeautifulSoup) -> None:
    """The page has one level-1 heading, its title; a notebook with more of them gets them as sections."""
    for heading in soup.find_all("h1"):
        heading.name = "h2"


def _frame_tables(soup: BeautifulSoup) -> None:
    """Let a wide table scroll inside its own frame; its title and notes stay in sight above and below."""
    unnamed = 0
    for table in soup.find_all("table"):
        _plain_table(table)
        frame = soup.new_tag("figure", attrs={"class": "table"})
        _outermost(table).replace_with(frame)
        title = _title_of(table, soup)
        unnamed += title is None
        # Two regions of one name cannot be told apart by who hears them.
        label = _text(title) if title else f"Table {unnamed} without a title"
        scroll = soup.new_tag("div", attrs={"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label})
        scroll.append(table)
        frame.extend([part for part in (title, scroll, *_notes_of(table)) if part])


def _outermost(table: Tag) -> Tag:
    """The table, or the div around it that holds nothing else (great_tables and pandas both write one)."""
    parent = table.parent
    alone = parent is not None and parent.name == "div" and "rich" not in parent.get_attribute_list("class")
    return parent if alone and parent and _text(parent) == _text(table) else table


def _plain_table(table: Tag) -> None:
    """Drop what a generator numbers per table (its ids repeat within a page) and give every header cell its scope."""
    for element in [table, *table.find_all(True)]:
        for name in ("id", "headers", "border", "aria-labelledby", "aria-describedby"):
            element.attrs.pop(name, None)
    for row in table.find_all("tr"):
        row.attrs.pop("style", None)
        in_head = row.find_parent("thead") is not None
        for cell in row.find_all("th"):
            cell.attrs.setdefault("scope", "col" if in_head else "row")
            if in_head and not _text(cell):
                cell.name = "td"  # an empty header announces nothing
                del cell["scope"]


def _align_numbers(soup: BeautifulSoup) -> None:
    """Set the numbers of a pandas table flush right, heads included, and leave its words on the left.

    Columns are counted from the right: on the left, a row has no cells of levels that it shares with the row above.
    """
    for table in soup.select("table.dataframe"):
        rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
        for column in zip_longest(*map(reversed, rows)):
            cells = [cell for cell in column if cell is not None]
            values = [cell for cell in cells if cell.find_parent("tbody")]
            if values and all(_NUMBER.match(_text(cell)) for cell in values):
                for cell in cells:
                    cell["class"] = "number"


def _title_of(table: Tag, soup: BeautifulSoup) -> Tag | None:
    lines = [row.extract() for row in table.select("tr.gt_heading, caption")]
    texts = [_text(line) for line in lines if _text(line)]
    if not texts:
        return None
    caption = soup.new_tag("figcaption")
    for name, text in zip(("strong", "span", "span"), texts, strict=False):
        caption.append(soup.new_tag(name, string=text))
        caption.append(" ")
    return caption


def _notes_of(table: Tag) -> list[Tag]:
    notes = []
    for cell in table.select("tfoot .gt_sourcenote, tfoot .gt_footnote"):
        note = cell.extract()
        note.name, note.attrs = "p", {"class": "note"}
        notes.append(note)
    for foot in table.find_all("tfoot"):
        if not _text(foot):
            foot.decompose()
    return notes


def _headings(soup: BeautifulSoup) -> list[Heading]:
    """Give every section heading an anchor of its own and list them."""
    taken: dict[str, int] = {}
    found = []
    for heading in soup.select(".prose h2, .prose h3"):
        slug = re.sub(r"[^\w]+", "-", _text(heading).lower()).strip("-") or "section"
        taken[slug] = taken.get(slug, 0) + 1
        anchor = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
        heading["id"] = anchor
        found.append(Heading(int(heading.name[1]), anchor, _text(heading)))
    return found


def _text(element: Tag) -> str:
    return " ".join(element.get_text(" ").split())


_STEPS = (
    _drop_banned, _drop_loading, _join_captions, mark_tall, slim, _drop_claims, _lower_headings, _frame_tables,
    _align_numbers,
)  # fmt: skip
